/**
 * Connected clusters, one byte per cluster ref. A9: a need acquires machines only while its cluster is connected. X16: after the
 * process stood still its sessions are *doubted*, and a need acquires no machine until its session has answered a ping.
 */
import type { StringTable } from '../../base/string-table.ts';

const DOUBTED = 1;
const ALIVE = 2;

export class SessionBits {
  readonly #clusters: StringTable;
  /** 0: none. */
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
    return this.#bits[cluster] !== 0;
  }

  isAlive(cluster: number): boolean {
    return this.#bits[cluster] === ALIVE;
  }

  /** Holds the cluster's ref while the session lasts. Returns whether the cluster had no session before, or a doubted one. */
  open(clusterId: string): boolean {
    const cluster = this.#clusters.intern(clusterId);
    const before = this.#bits[cluster];
    this.#bits[cluster] = ALIVE;
    if (before === 0) this.#count++;
    else this.#clusters.release(cluster);
    return before !== ALIVE;
  }

  close(clusterId: string): void {
    const cluster = this.#clusters.find(clusterId);
    if (!this.has(cluster)) return;
    this.#bits[cluster] = 0;
    this.#count--;
    this.#clusters.release(cluster);
  }

  doubtAll(): void {
    const { refLimit } = this.#clusters;
    for (let cluster = 1; cluster < refLimit; cluster++) {
      if (this.#bits[cluster] === ALIVE) this.#bits[cluster] = DOUBTED;
    }
  }

  /** The session answered. Returns whether it was doubted. */
  answered(clusterId: string): boolean {
    const cluster = this.#clusters.find(clusterId);
    if (this.#bits[cluster] !== DOUBTED) return false;
    this.#bits[cluster] = ALIVE;
    return true;
  }
}
