/** What a cycle must not do for a cluster or a need: N6 (reclaim too early), A7 (parked gangs), A9 (barred needs), T2 (suspended clusters), H3 (paused clusters). */
import type { NeedTable } from '../needs/need-table.ts';
import { type EngineNeeds, NeedKind } from './demand/engine-needs.ts';
import type { EngineOptions } from './engine.ts';
import type { CurrentCycle, EngineTables } from './engine-tables.ts';
import type { Fleet } from './supply/fleet.ts';

export const PARKED_FROM = 8;
const TRIED_EVERY = 32;

/** A7: a gang with eight fruitless cycles is parked; every 32nd ordinary cycle the engine tries it all the same. */
export function isParkedAt(parkCount: number, isOrdinary: boolean): boolean {
  return parkCount >= PARKED_FROM && !(isOrdinary && parkCount % TRIED_EVERY === 0);
}

type RestrictionOptions = Pick<EngineOptions, 'hasSession' | 'inBackoff' | 'isPaused' | 'isSuspended'>;

export class Restrictions {
  readonly #options: RestrictionOptions;
  readonly #cycle: CurrentCycle;
  readonly #needTable: NeedTable;
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;

  constructor(
    options: RestrictionOptions,
    { cycle, needTable, fleet, needs }: Pick<EngineTables, 'cycle' | 'needTable' | 'fleet' | 'needs'>,
  ) {
    this.#options = options;
    this.#cycle = cycle;
    this.#needTable = needTable;
    this.#fleet = fleet;
    this.#needs = needs;
  }

  /** N6: a cluster's unclaimed machines stay until it has reported since the start, and each row of its last roll-up had its turn (T7). */
  isPastGate(cluster: number): boolean {
    return this.#needTable.hasReported(cluster) && !this.#needTable.isTakingUp(cluster);
  }

  /** T2: the cluster keeps its machines and gets no others. */
  isSuspended(cluster: number): boolean {
    return this.#options.isSuspended?.(cluster) ?? false;
  }

  /** H3: an operator paused create or bind for the cluster. */
  isPaused(cluster: number): boolean {
    return this.#options.isPaused?.(cluster) ?? false;
  }

  /** A7: whether credit alone serves the gang in this cycle. */
  isParked(need: number): boolean {
    const { parkFor, parkCount } = this.#fleet.assignments;
    const assignment = this.#needs.assignment[need]!;
    if (parkFor[assignment] !== this.#cycle.number) return false;
    return isParkedAt(parkCount[assignment]!, this.#cycle.isOrdinary);
  }

  /** A9, T2: no acquisition and no preemption without an operator, for a suspended or paused cluster, or while the need, or a member of the fold, backs off. */
  isBarred(need: number): boolean {
    const ref = this.#needs.cluster[need]!;
    if (!this.#options.hasSession(ref)) return true;
    if (this.isSuspended(ref) || this.isPaused(ref)) return true;
    const { inBackoff } = this.#options;
    if (inBackoff === undefined) return false;
    const { fingerprint, group } = this.#fleet.assignments;
    const assignment = this.#needs.assignment[need]!;
    if (inBackoff(ref, fingerprint[assignment]!, group[assignment]!)) return true;
    if (this.#needs.kind[need] !== NeedKind.Fold) return false;
    const cluster = this.#fleet.clusterState(ref);
    const table = this.#needTable;
    const start = table.sliceStart(ref);
    for (let row = this.#needs.firstRow[need]!; row < cluster.rowCount; row++) {
      if (cluster.rowNeed[row] !== need) continue;
      const { fingerprintRef } = table.profiles.get(table.profile[start + row]!);
      if (inBackoff(ref, fingerprintRef, table.group[start + row]!)) return true;
    }
    return false;
  }
}
