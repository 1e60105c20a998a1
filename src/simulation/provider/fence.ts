/**
 * The fence: per (shard, machine) the newest token seen. A shard process that was replaced may still have
 * calls on the way; whatever arrives with an older token is refused, so that it can break nothing.
 *
 * A token that passes advances the mark whatever becomes of its call. So marks also arise for machines
 * that do not exist; those are remembered up to a limit, oldest forgotten first, because ids can be
 * invented without end.
 */

/** bigint: both are int64 on the wire, and the fence compares all 64 bits. */
export interface Token {
  readonly shardId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

interface Mark {
  epoch: bigint;
  sequence: bigint;
}

/** 100,000 × about 150 bytes = 15 MB for ids that name nothing. */
const STRANGER_MARKS_MAX = 100_000;

export class Fence {
  readonly #marksByShard = new Map<string, Map<string, Mark>>();
  /** By shard and machine id as one text; insertion order is age. */
  readonly #strangerMarks = new Map<string, Mark>();

  /** True if the token may pass, and then it is the new mark. `exists`: whether the machine does. */
  admit(token: Token, machineId: string, exists: boolean): boolean {
    // No token at all: a person with a tool, not a shard.
    if (token.shardId === '' && token.epoch === 0n && token.sequence === 0n) return true;
    const mark = this.#find(token.shardId, machineId);
    if (mark === undefined) {
      this.#remember(token, machineId, exists);
      return true;
    }
    const isNewer =
      token.epoch > mark.epoch || (token.epoch === mark.epoch && token.sequence > mark.sequence);
    if (!isNewer) return false;
    mark.epoch = token.epoch;
    mark.sequence = token.sequence;
    return true;
  }

  /** The newest token seen, for the words of a refusal. */
  markOf(shardId: string, machineId: string): { epoch: bigint; sequence: bigint } | undefined {
    const mark = this.#find(shardId, machineId);
    return mark === undefined ? undefined : { ...mark };
  }

  #find(shardId: string, machineId: string): Mark | undefined {
    return (
      this.#marksByShard.get(shardId)?.get(machineId) ??
      this.#strangerMarks.get(strangerKey(shardId, machineId))
    );
  }

  #remember(token: Token, machineId: string, exists: boolean): void {
    const mark = { epoch: token.epoch, sequence: token.sequence };
    if (!exists) {
      this.#strangerMarks.set(strangerKey(token.shardId, machineId), mark);
      if (this.#strangerMarks.size > STRANGER_MARKS_MAX) {
        for (const oldest of this.#strangerMarks.keys()) {
          this.#strangerMarks.delete(oldest);
          break;
        }
      }
      return;
    }
    let marks = this.#marksByShard.get(token.shardId);
    if (marks === undefined) {
      marks = new Map();
      this.#marksByShard.set(token.shardId, marks);
    }
    marks.set(machineId, mark);
  }
}

/** The length keeps ('a', 'bc') and ('ab', 'c') apart. */
function strangerKey(shardId: string, machineId: string): string {
  return `${shardId.length}:${shardId}${machineId}`;
}
