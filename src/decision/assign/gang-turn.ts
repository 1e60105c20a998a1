/** The gang that is being evaluated, with what every step asks about it. */
import type { ClusterState } from '../cluster-state.ts';
import type { Domains } from '../supply/domains.ts';
import type { Filter } from '../supply/filters.ts';

export interface GangTurn {
  readonly cluster: ClusterState;
  /** Its place among the needs of the cluster. */
  readonly index: number;
  readonly need: number;
  readonly filter: Filter;
  readonly domains: Domains;
}
