/**
 * What fold groups ask of the free machines (A1), because their own do not hold all of their gangs: how many of mine would
 * you hold? Under churn many groups ask, in every cycle, and many the same: a question is a filter and a gang's
 * aggregate, and only if its answer moved is anybody who asked it looked at.
 */

import type { Filter } from '../supply/filters.ts';
import type { ClusterState } from './cluster-state.ts';

/** One group that asks. */
export interface FoldQuerier {
  readonly cluster: ClusterState;
  readonly group: number;
  readonly query: FoldQuery;
  /** For how many gangs, and how many of them the free machines held. */
  readonly wanted: number;
  readonly answer: number;
}

export interface FoldQuery {
  /** Null: rows of the group ask with several filters; always looked at. */
  readonly fit: Filter | null;
  readonly aggregate: number;
  readonly queriers: Set<FoldQuerier>;
  /** What was answered last: gangs on all free machines; NaN = askers were told different things. */
  gangs: number;
}

const AGGREGATES_MAX = 2 ** 26;

export class FoldQueries {
  /** By filter and aggregate. */
  readonly #queries = new Map<number, FoldQuery>();

  queries(): Iterable<FoldQuery> {
    return this.#queries.values();
  }

  /** The group asks this from now on, and was told that there is room for so many gangs. */
  ask(
    cluster: ClusterState,
    group: number,
    fit: Filter | null,
    aggregate: number,
    wanted: number,
    gangs: number,
  ): void {
    const before = cluster.openQueries.get(group);
    const key = (fit?.id ?? 0) * AGGREGATES_MAX + aggregate;
    let query = this.#queries.get(key);
    if (query === undefined) {
      query = { fit, aggregate, queriers: new Set(), gangs };
      this.#queries.set(key, query);
    } else if (query.gangs !== gangs) query.gangs = Number.NaN;
    const querier = { cluster, group, query, wanted, answer: Math.min(wanted, gangs) };
    query.queriers.add(querier);
    cluster.openQueries.set(group, querier);
    if (before !== undefined) this.#leave(before); // last: a question that goes on keeps its place while all are looked at
  }

  end(cluster: ClusterState, group: number): void {
    const querier = cluster.openQueries.get(group);
    if (querier === undefined) return;
    cluster.openQueries.delete(group);
    this.#leave(querier);
  }

  /** The cluster's groups are others from now on. */
  endAll(cluster: ClusterState): void {
    for (const querier of cluster.openQueries.values()) this.#leave(querier);
    cluster.openQueries.clear();
  }

  #leave(querier: FoldQuerier): void {
    const { query } = querier;
    query.queriers.delete(querier);
    if (query.queriers.size === 0)
      this.#queries.delete((query.fit?.id ?? 0) * AGGREGATES_MAX + query.aggregate);
  }
}
