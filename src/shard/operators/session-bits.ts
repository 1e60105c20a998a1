/** Connected clusters, one byte per cluster ref. A9: a need acquires machines only while its cluster is connected. */
import type { StringTable } from '../../base/string-table.ts';

export class SessionBits {
  readonly #clusters: StringTable;
  readonly #bits: Uint8Array;
  #count = 0;

  constructor(clusters: StringTable) {
    this.#clusters = clusters;
    this.#bits = new Uint8Array(clusters.entriesMax + 1);
  }

  get count(): number {
    return this.#count;
  }

  has(cluster: number): boolean {
    return this.#bits[cluster] === 1;
  }

  /** Holds the cluster's ref while the session lasts. Returns whether the cluster had no session before. */
  open(clusterId: string): boolean {
    const cluster = this.#clusters.intern(clusterId);
    if (this.#bits[cluster] === 1) {
      this.#clusters.release(cluster);
      return false;
    }
    this.#bits[cluster] = 1;
    this.#count++;
    return true;
  }

  close(clusterId: string): void {
    const cluster = this.#clusters.find(clusterId);
    if (this.#bits[cluster] !== 1) return;
    this.#bits[cluster] = 0;
    this.#count--;
    this.#clusters.release(cluster);
  }
}
