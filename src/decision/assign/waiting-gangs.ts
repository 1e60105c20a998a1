/** Clusters whose scan waits for the turn of a gang: a heap in order N4 of those gangs (priority, arrival, cluster). */
import type { ClusterState } from '../cluster-state.ts';
import type { ServingOrder } from '../demand/serving-order.ts';

export class WaitingGangs {
  readonly #order: ServingOrder;
  readonly #clusters: ClusterState[] = [];
  readonly #needs: number[] = [];

  constructor(order: ServingOrder) {
    this.#order = order;
  }

  get count(): number {
    return this.#needs.length;
  }

  /** The gang whose turn is next. */
  get first(): number {
    return this.#needs[0]!;
  }

  push(cluster: ClusterState, need: number): void {
    const { compare } = this.#order;
    const heap = this.#needs;
    let at = heap.length;
    heap.push(need);
    this.#clusters.push(cluster);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compare(need, heap[parent]!) >= 0) break;
      heap[at] = heap[parent]!;
      this.#clusters[at] = this.#clusters[parent]!;
      at = parent;
    }
    heap[at] = need;
    this.#clusters[at] = cluster;
  }

  /** Removes the first gang; returns its cluster. */
  pop(): ClusterState {
    const { compare } = this.#order;
    const heap = this.#needs;
    const first = this.#clusters[0]!;
    const need = heap.pop()!;
    const cluster = this.#clusters.pop()!;
    const count = heap.length;
    if (count === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && compare(heap[child + 1]!, heap[child]!) < 0) child++;
      if (compare(need, heap[child]!) <= 0) break;
      heap[at] = heap[child]!;
      this.#clusters[at] = this.#clusters[child]!;
      at = child;
    }
    heap[at] = need;
    this.#clusters[at] = cluster;
    return first;
  }
}
