/**
 * Who answers for which machine. The fleet may be somebody's production, so the suite remembers how it
 * found every machine, which ones it has named in a call, and which ones it may delete: those that were
 * only offers before, and others only if it was told so.
 */
import { MachineState, STATE_COUNT } from '../machine/state.ts';
import type { MachineListView } from './machine-list-view.ts';

export class Custody {
  /** By machine id, as first listed. */
  readonly #originalStates = new Map<string, number>();
  readonly #touched = new Set<string>();
  readonly #unsettled = new Set<string>();
  readonly #mayDeleteFound: boolean;

  constructor(mayDeleteFound: boolean) {
    this.#mayDeleteFound = mayDeleteFound;
  }

  takeCensus({ ids, states }: MachineListView): void {
    for (const [row, id] of ids.entries()) this.#originalStates.set(id, states[row]!);
  }

  originalState(machineId: string): number | undefined {
    return this.#originalStates.get(machineId);
  }

  get machineCount(): number {
    return this.#originalStates.size;
  }

  /** How many machines were found in each state; unknown states under 0. */
  originalCounts(): Uint32Array {
    return countByState(this.#originalStates.values());
  }

  touch(machineId: string): void {
    if (!this.#originalStates.has(machineId)) return; // invented ids are nobody's
    this.#touched.add(machineId);
    this.#unsettled.add(machineId);
  }

  get touchedIds(): ReadonlySet<string> {
    return this.#touched;
  }

  /** Machines named in a call since the last time this was asked. */
  takeUnsettled(): string[] {
    const ids = [...this.#unsettled];
    this.#unsettled.clear();
    return ids;
  }

  /** A machine that was an offer when we came is whatever it is now by our doing. */
  mayDelete(machineId: string): boolean {
    const original = this.#originalStates.get(machineId);
    return this.#mayDeleteFound || original === undefined || original === MachineState.Speculative;
  }
}

export function countByState(states: Iterable<number>): Uint32Array {
  const counts = new Uint32Array(STATE_COUNT);
  for (const state of states) counts[state > 0 && state < STATE_COUNT ? state : 0]!++;
  return counts;
}
