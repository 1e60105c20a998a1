/**
 * Decided bindings that wait for room in the queue (X3). Without them every cycle of a backlog would decide the same tens of
 * thousands of actions again. The highest priority comes first; clusters of one priority take turns, and so do the providers of
 * one cluster.
 *
 * A withdrawn action stays in its line until the line reaches it: only `#bySlot` says which actions still wait. A line without
 * any goes at once, so that the turns of a cluster do not depend on what others have waiting.
 */
import type { Action } from './action.ts';

export type WaitingAction = Pick<Action, 'slot' | 'clusterId' | 'provider'> & {
  readonly assignment: Pick<Action['assignment'], 'priority'>;
};

/** The actions of one cluster, provider and priority, in order of their decisions. */
interface Line<T> {
  readonly actions: T[];
  /** The actions before this index are gone. */
  head: number;
  /** Actions that still wait. */
  count: number;
}

interface Level<T> {
  readonly priority: number;
  /** By cluster and provider, in order of turns: a cluster or provider whose action was taken goes to the end. */
  readonly lines: Map<string, Map<number, Line<T>>>;
}

/** Lines that are mostly gone are cut, so that a line under steady traffic does not grow. */
const GONE_MAX = 1_024;

export class WaitingActions<T extends WaitingAction = Action> {
  readonly #bySlot = new Map<number, T>();
  /** By provider: how many wait. */
  readonly #countAt = new Map<number, number>();
  /** By priority, the highest first. */
  readonly #levels: Level<T>[] = [];

  get count(): number {
    return this.#bySlot.size;
  }

  get(slot: number): T | undefined {
    return this.#bySlot.get(slot);
  }

  all(): Iterable<T> {
    return this.#bySlot.values();
  }

  add(action: T): void {
    const { clusterId, provider } = action;
    const { lines } = this.#levelOf(action.assignment.priority);
    const ofCluster = lines.get(clusterId) ?? new Map<number, Line<T>>();
    if (ofCluster.size === 0) lines.set(clusterId, ofCluster);
    const line = ofCluster.get(provider);
    if (line === undefined) ofCluster.set(provider, { actions: [action], head: 0, count: 1 });
    else {
      line.actions.push(action);
      line.count++;
    }
    this.#bySlot.set(action.slot, action);
    this.#countAt.set(provider, (this.#countAt.get(provider) ?? 0) + 1);
  }

  /** The machine's action no longer waits; undefined if it did not. */
  remove(slot: number): T | undefined {
    const action = this.#bySlot.get(slot);
    if (action === undefined) return undefined;
    this.#bySlot.delete(slot);
    this.#countAt.set(action.provider, this.#countAt.get(action.provider)! - 1);
    this.#leaveLine(action);
    return action;
  }

  /**
   * Takes the next action, of a cluster that is not `isFull` if there is one; never one for a provider that is `isBarred`.
   * Undefined if no such action waits.
   */
  take(isFull: (clusterId: string) => boolean, isBarred = (_provider: number) => false): T | undefined {
    if (![...this.#countAt].some(([provider, count]) => count > 0 && !isBarred(provider))) return undefined;
    const action = this.#takeFrom(isFull, isBarred) ?? this.#takeFrom(() => false, isBarred);
    if (action !== undefined) this.remove(action.slot);
    return action;
  }

  #takeFrom(isFull: (clusterId: string) => boolean, isBarred: (provider: number) => boolean): T | undefined {
    for (let index = 0; index < this.#levels.length; index++) {
      const { lines } = this.#levels[index]!;
      for (const [clusterId, ofCluster] of lines) {
        if (isFull(clusterId)) continue;
        const action = this.#takeOf(ofCluster, isBarred);
        if (action === undefined) continue;
        lines.delete(clusterId);
        lines.set(clusterId, ofCluster);
        return action;
      }
    }
    return undefined;
  }

  #takeOf(ofCluster: Map<number, Line<T>>, isBarred: (provider: number) => boolean): T | undefined {
    for (const [provider, line] of ofCluster) {
      if (isBarred(provider)) continue;
      ofCluster.delete(provider);
      ofCluster.set(provider, line);
      return this.#nextOf(line);
    }
    return undefined;
  }

  /** A line has an action that waits. */
  #nextOf(line: Line<T>): T {
    for (;;) {
      const action = line.actions[line.head++]!;
      if (line.head > GONE_MAX && line.head * 2 > line.actions.length) {
        line.actions.splice(0, line.head);
        line.head = 0;
      }
      if (this.#bySlot.get(action.slot) === action) return action;
    }
  }

  #leaveLine({ clusterId, provider, assignment }: T): void {
    const level = this.#levelOf(assignment.priority);
    const ofCluster = level.lines.get(clusterId)!;
    if (--ofCluster.get(provider)!.count > 0) return;
    ofCluster.delete(provider);
    if (ofCluster.size === 0) level.lines.delete(clusterId);
    if (level.lines.size === 0) this.#levels.splice(this.#levels.indexOf(level), 1);
  }

  #levelOf(priority: number): Level<T> {
    let low = 0;
    let high = this.#levels.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#levels[middle]!.priority > priority) low = middle + 1;
      else high = middle;
    }
    const known = this.#levels[low];
    if (known?.priority === priority) return known;
    const level: Level<T> = { priority, lines: new Map() };
    this.#levels.splice(low, 0, level);
    return level;
  }
}
