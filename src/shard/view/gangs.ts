/** How many gangs there are. Every need is looked at, so readers of one second share an answer. */
import type { GangCounts } from '../ports/view.ts';
import { NeedRows } from './need-filter.ts';
import type { ViewSources } from './sources.ts';
import type { UnmetRows } from './unmet-rows.ts';

const KEPT_FOR_MS = 1_000;
/** About eight milliseconds. */
const NEEDS_PER_TURN = 262_144;

export class GangSums {
  readonly #sources: ViewSources;
  readonly #unmet: UnmetRows;
  #last: { readonly atMs: number; readonly counts: GangCounts } | null = null;

  constructor(sources: ViewSources, unmet: UnmetRows) {
    this.#sources = sources;
    this.#unmet = unmet;
  }

  /** Of the cluster, or of all if the id is ''. A cluster whose demand has changed is counted as the last cycle knew it. */
  async read(clusterId: string): Promise<GangCounts> {
    const { needs, inventory, clock, nextTurn } = this.#sources;
    if (clusterId !== '') {
      const cluster = inventory.tables.clusters.find(clusterId);
      return cluster === 0 ? { total: 0, unmet: 0, spanning: 0 } : this.#of(cluster);
    }
    if (this.#last !== null && clock.nowMs() - this.#last.atMs < KEPT_FOR_MS) return this.#last.counts;
    let [total, unmet, spanning, looked] = [0, 0, 0, 0];
    for (const cluster of [...needs.clusterRefs()]) {
      const counts = this.#of(cluster);
      total += counts.total;
      unmet += counts.unmet;
      spanning += counts.spanning;
      looked += needs.sliceCount(cluster);
      if (looked < NEEDS_PER_TURN) continue;
      looked = 0;
      await nextTurn();
    }
    this.#last = { atMs: clock.nowMs(), counts: { total, unmet, spanning } };
    return this.#last.counts;
  }

  #of(cluster: number): GangCounts {
    const gangs = new NeedRows(this.#sources, { gangs: 'all' });
    const rows = gangs.of(cluster);
    const unmet = this.#unmet.ofCluster(cluster);
    let spanning = 0;
    for (let at = 0; at < rows.count; at++)
      if (!this.#sources.engine.isFolded(cluster, rows.at(at))) spanning++;
    return { total: rows.count, unmet: unmet === undefined ? 0 : gangs.of(cluster, unmet).count, spanning };
  }
}
