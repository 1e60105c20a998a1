/** What a replica remembers over restarts: the highest epoch that it has seen, and how far the directory had come. */
import type { Position } from '../port.ts';

export interface SeenMarks {
  readonly epoch: number;
  readonly position: Position | null;
  /** Returns once it is on the disk. Never lowers it. */
  raiseEpoch(epoch: number): void;
  /** Comes with every answer; may be written late. */
  notePosition(position: Position): void;
}

/**
 * Notices a directory that went back in time: a restored backup has a lower revision, or is another cluster. Only answers of
 * linearizable calls count, and each against what was known when it was sent: answers overtake each other.
 */
export class Lineage {
  readonly #marks: SeenMarks;
  #highest: Position | null;

  constructor(marks: SeenMarks) {
    this.#marks = marks;
    this.#highest = marks.position;
  }

  /** Before a call is sent; pass the result to `answered`. */
  get highest(): Position | null {
    return this.#highest;
  }

  /** Returns whether the directory was restored since `before`. From then on its new history counts. */
  answered(before: Position | null, position: Position): boolean {
    const isOther = before !== null && before.clusterId !== position.clusterId;
    const isRestored = isOther || (before !== null && position.revision < before.revision);
    const highest = this.#highest;
    if (isRestored || highest === null || position.revision >= highest.revision) {
      this.#highest = position;
      this.#marks.notePosition(position);
    }
    return isRestored;
  }
}

export function restoredText(before: Position | null, { clusterId, revision }: Position): string {
  return `revision ${revision} of cluster ${clusterId}, after revision ${before?.revision} of cluster ${before?.clusterId}`;
}
