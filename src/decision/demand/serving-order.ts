/**
 * The orders in which the engine serves needs: N4 for credit (priority, arrival) and A3 for acquisition (priority,
 * penalties, then as N4). Both are total: cluster id, fingerprint and group settle every tie.
 */
import type { StringTable } from '../../base/string-table.ts';
import type { ProfileTable } from '../../needs/profiles.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable } from '../supply/assignments.ts';
import type { EngineNeeds } from './engine-needs.ts';

/** What order N4 compares within one cluster. */
export interface NeedKey {
  priority: number;
  arrivalMs: number;
  profile: number;
  group: number;
}

export function noKey(): NeedKey {
  return { priority: 0, arrivalMs: 0, profile: 0, group: 0 };
}

export class ServingOrder {
  readonly #needs: EngineNeeds;
  readonly #assignments: AssignmentTable;
  readonly #clusters: readonly (ClusterState | undefined)[];
  readonly #groups: StringTable;
  readonly #profiles: ProfileTable;
  #fingerprintRanks: Uint32Array = new Uint32Array(0);

  constructor({
    inventory,
    needTable,
    fleet,
    needs,
  }: Pick<EngineTables, 'inventory' | 'needTable' | 'fleet' | 'needs'>) {
    this.#needs = needs;
    this.#assignments = fleet.assignments;
    this.#clusters = fleet.clusters;
    this.#groups = inventory.tables.groups;
    this.#profiles = needTable.profiles;
  }

  /** Before the first comparison of a cycle: profiles may have changed. */
  refresh(): void {
    this.#fingerprintRanks = this.#profiles.fingerprintRanks();
  }

  /** N4: priority desc, arrival asc, cluster id asc, fingerprint, group. */
  readonly compare = (a: number, b: number): number => {
    const { priority } = this.#needs;
    if (priority[a] !== priority[b]) return priority[a]! > priority[b]! ? -1 : 1;
    return this.#byArrival(a, b);
  };

  /** N4 for two needs of one cluster that are not in the columns yet. */
  compareKeys(a: NeedKey, b: NeedKey): number {
    if (a.priority !== b.priority) return a.priority > b.priority ? -1 : 1;
    if (a.arrivalMs !== b.arrivalMs) return a.arrivalMs - b.arrivalMs;
    const rankA = this.#fingerprintRanks[a.profile]!;
    const rankB = this.#fingerprintRanks[b.profile]!;
    return rankA !== rankB ? rankA - rankB : this.#groups.compare(a.group, b.group);
  }

  /** The same between a need and the key of another of its cluster. */
  compareToKey(need: number, key: NeedKey): number {
    const { priority, arrivalMs, profile, assignment } = this.#needs;
    if (priority[need] !== key.priority) return priority[need]! > key.priority ? -1 : 1;
    if (arrivalMs[need] !== key.arrivalMs) return arrivalMs[need]! - key.arrivalMs;
    const rank = this.#fingerprintRanks[profile[need]!]!;
    const keyRank = this.#fingerprintRanks[key.profile]!;
    if (rank !== keyRank) return rank - keyRank;
    return this.#groups.compare(this.#assignments.group[assignment[need]!]!, key.group);
  }

  /** A3: priority desc, interruption bucket desc, reclamation bucket desc, then as N4. */
  readonly compareAcquire = (a: number, b: number): number => {
    const { priority, interruptionPenalty, reclamationPenalty } = this.#needs;
    if (priority[a] !== priority[b]) return priority[a]! > priority[b]! ? -1 : 1;
    if (interruptionPenalty[a] !== interruptionPenalty[b])
      return interruptionPenalty[b]! - interruptionPenalty[a]!;
    if (reclamationPenalty[a] !== reclamationPenalty[b])
      return reclamationPenalty[b]! - reclamationPenalty[a]!;
    return this.#byArrival(a, b);
  };

  #byArrival(a: number, b: number): number {
    const { arrivalMs, cluster, profile, assignment } = this.#needs;
    if (arrivalMs[a] !== arrivalMs[b]) return arrivalMs[a]! - arrivalMs[b]!;
    if (cluster[a] !== cluster[b])
      return this.#clusters[cluster[a]!]!.rank - this.#clusters[cluster[b]!]!.rank;
    const rankA = this.#fingerprintRanks[profile[a]!]!;
    const rankB = this.#fingerprintRanks[profile[b]!]!;
    if (rankA !== rankB) return rankA - rankB;
    const { group } = this.#assignments;
    return this.#groups.compare(group[assignment[a]!]!, group[assignment[b]!]!);
  }
}
