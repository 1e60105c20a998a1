/**
 * The suite's record of the fleet, which may be in production use: the state in which each machine was
 * found, the machines that the suite has called, and those that it may delete. It may delete machines that
 * were SPECULATIVE at the start; others only with --allow-delete.
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
    if (!this.#originalStates.has(machineId)) return; // an id that the suite invented
    this.#touched.add(machineId);
    this.#unsettled.add(machineId);
  }

  get touchedIds(): ReadonlySet<string> {
    return this.#touched;
  }

  /** Machines called since the last time this was asked. */
  takeUnsettled(): string[] {
    const ids = [...this.#unsettled];
    this.#unsettled.clear();
    return ids;
  }

  /** A machine that was SPECULATIVE at the start was created by the suite, so the suite may delete it. */
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
