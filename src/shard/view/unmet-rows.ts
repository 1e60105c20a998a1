/** The rows that the last cycle left unmet, by cluster and in order; built on the first request after a cycle. */
import type { ViewSources } from './sources.ts';

export class UnmetRows {
  readonly #sources: ViewSources;
  #cycle = -1;
  #byCluster = new Map<number, Uint32Array>();
  #count = 0;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  get count(): number {
    this.#refresh();
    return this.#count;
  }

  ofCluster(cluster: number): Uint32Array | undefined {
    this.#refresh();
    return this.#byCluster.get(cluster);
  }

  clusters(): Iterable<number> {
    this.#refresh();
    return this.#byCluster.keys();
  }

  #refresh(): void {
    const cycle = this.#sources.cycle();
    if (cycle === this.#cycle) return;
    this.#cycle = cycle;
    this.#count = 0;
    const rows = new Map<number, number[]>();
    this.#sources.engine.unmetRows((cluster, row) => {
      this.#count++;
      const known = rows.get(cluster);
      if (known === undefined) rows.set(cluster, [row]);
      else known.push(row);
    });
    this.#byCluster = new Map();
    for (const [cluster, list] of rows) this.#byCluster.set(cluster, Uint32Array.from(list).sort());
  }
}
