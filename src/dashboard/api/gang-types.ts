/** Answers about gangs: needs whose machines must share a domain. */
import type { ApiNeed, ApiNeedExplanation } from './types.ts';

export interface ApiGangs {
  readonly cycle: number;
  readonly computedAtMs: number;
  /** Gangs of the cluster, or of all clusters, before other filters. */
  readonly total: number;
  readonly unmet: number;
  /** Those that no single machine can hold; the others are served in folds. */
  readonly spanning: number;
  readonly gangs: readonly ApiNeed[];
  readonly next: string;
}

export interface ApiGangInFull {
  readonly cycle: number;
  readonly clusterId: string;
  readonly group: string;
  /** One for each profile of this cluster and group, at most 20. */
  readonly gangs: readonly ApiNeedExplanation[];
}
