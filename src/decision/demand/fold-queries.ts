/**
 * Fold groups whose own machines do not hold all of their gangs ask how many gangs the unassigned machines hold (A1: a gang
 * folds while a machine exists for it). Under churn many groups ask in every cycle, and many ask the same: a query is a
 * filter and a gang's aggregate, and its groups are decided again only when its answer changed.
 */

import type { ClusterState } from '../cluster-state.ts';
import type { Filter } from '../supply/filters.ts';

/** One group that asks a query. */
export interface FoldQuerier {
  readonly cluster: ClusterState;
  readonly group: number;
  readonly query: FoldQuery;
  /** For how many gangs it asked, and how many of them the unassigned machines held. */
  readonly wanted: number;
  readonly answer: number;
}

export interface FoldQuery {
  /** Null: rows of the group have several filters; the group is then always decided again. */
  readonly fit: Filter | null;
  readonly aggregate: number;
  readonly queriers: Set<FoldQuerier>;
  /** The last answer: gangs on all unassigned machines; NaN = its groups got different answers. */
  gangs: number;
}

const AGGREGATES_MAX = 2 ** 26;

export class FoldQueries {
  /** By filter and aggregate. */
  readonly #queries = new Map<number, FoldQuery>();

  queries(): Iterable<FoldQuery> {
    return this.#queries.values();
  }

  /** The group asks this from now on; the answer was that `gangs` gangs fit. */
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
    if (before !== undefined) this.#leave(before); // last, so that a query that continues keeps its place during an iteration
  }

  end(cluster: ClusterState, group: number): void {
    const querier = cluster.openQueries.get(group);
    if (querier === undefined) return;
    cluster.openQueries.delete(group);
    this.#leave(querier);
  }

  /** The cluster's groups are about to be replaced. */
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
