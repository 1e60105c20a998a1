/**
 * Bounds label values that clients choose. An operator names its cluster, and each new name would be a new time series
 * forever. I4: the number of values is limited, and all further clusters share one.
 */

/** A shard serves some 2,000 clusters. */
export const CLUSTER_LABELS_MAX = 2_048;
/** Cannot be a cluster id, since Kubernetes names have no blanks. */
export const OTHER_CLUSTERS = '(other clusters)';

/** Counts by cluster, bounded. */
export class ClusterCounts {
  readonly #counts = new Map<string, number>();

  add(clusterId: string): void {
    const isKnown = this.#counts.has(clusterId) || this.#counts.size < CLUSTER_LABELS_MAX;
    const label = isKnown ? clusterId : OTHER_CLUSTERS;
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  get record(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}

/** The same bound for values that each scrape reads. */
export function* boundedByCluster(values: Iterable<readonly [clusterId: string, value: number]>) {
  let shown = 0;
  let rest = 0;
  for (const [cluster, value] of values) {
    if (value === 0) continue;
    if (shown < CLUSTER_LABELS_MAX) yield { labels: { cluster }, value };
    else rest += value;
    shown++;
  }
  if (rest > 0) yield { labels: { cluster: OTHER_CLUSTERS }, value: rest };
}
