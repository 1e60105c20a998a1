/** Pages of clusters: session, demand and machines of each. */
import { compareBytewise } from '../../base/dimensions.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { ClustersPage, ClusterView, SessionView } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';
import type { UnmetRows } from './unmet-rows.ts';

export const CLUSTERS_PER_PAGE = 500;

/** Clusters with a session, demand or machines, by id; `prefix` narrows, `after` is an id. */
export function clustersPage(
  sources: ViewSources,
  unmet: UnmetRows,
  { prefix, unmetOnly, disconnectedOnly, after, limit }: ClustersQuery,
): ClustersPage {
  const { inventory, needs, clock } = sources;
  const { clusters } = inventory.tables;
  const sessions = new Map(sources.sessions().map((session) => [session.clusterId, session]));
  const refs = new Map<string, number>();
  // A disconnected cluster is shown for as long as it has demand or machines.
  for (const [id, { isConnected }] of sessions) if (isConnected) refs.set(id, clusters.find(id));
  for (const ref of needs.clusterRefs()) refs.set(clusters.get(ref), ref);
  for (let ref = 1; ref < clusters.refLimit; ref++) {
    if (ALL_STATES.some((state) => inventory.indexes.countOfCluster(ref, state) > 0))
      refs.set(clusters.get(ref), ref);
  }
  const matching = [...refs.keys()]
    .filter((id) => id.startsWith(prefix))
    .filter((id) => !disconnectedOnly || sessions.get(id)?.isConnected !== true)
    .filter((id) => !unmetOnly || (unmet.ofCluster(refs.get(id)!)?.length ?? 0) > 0)
    .sort(compareBytewise);
  const first = after === '' ? 0 : matching.findIndex((id) => compareBytewise(id, after) > 0);
  const page = first < 0 ? [] : matching.slice(first, first + limit);
  return {
    atMs: clock.nowMs(),
    clusters: page.map((id) => clusterView(sources, unmet, id, refs.get(id)!, sessions.get(id) ?? null)),
    matching: matching.length,
    total: refs.size,
    next: first >= 0 && first + limit < matching.length ? page.at(-1)! : '',
  };
}

export interface ClustersQuery {
  readonly prefix: string;
  readonly unmetOnly: boolean;
  readonly disconnectedOnly: boolean;
  readonly after: string;
  readonly limit: number;
}

function clusterView(
  { needs, inventory, suspension }: ViewSources,
  unmet: UnmetRows,
  clusterId: string,
  ref: number,
  session: SessionView | null,
): ClusterView {
  return {
    clusterId,
    session,
    hasReported: needs.hasReported(ref),
    needs: needs.sliceCount(ref),
    waitingNeeds: needs.waitingNeeds(ref),
    unmetNeeds: unmet.ofCluster(ref)?.length ?? 0,
    heldRollups: needs.quarantinedRollups(ref),
    rejectedRollups: needs.rejectedRollups(ref),
    suspension: suspension(ref),
    machines: [0, ...ALL_STATES.map((state) => inventory.indexes.countOfCluster(ref, state))],
  };
}
