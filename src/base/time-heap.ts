/** Slots by time, the earliest first, equal times by slot: a heap in two arrays, without an object per entry. */
export class TimeHeap {
  readonly #timeMs: number[] = [];
  readonly #item: number[] = [];

  get size(): number {
    return this.#item.length;
  }

  /** Infinity if the heap is empty. */
  get firstTimeMs(): number {
    return this.#timeMs[0] ?? Number.POSITIVE_INFINITY;
  }

  /** Undefined if the heap is empty. */
  get first(): number | undefined {
    return this.#item[0];
  }

  push(item: number, timeMs: number): void {
    let at = this.#item.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(timeMs, item, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#timeMs[at] = timeMs;
    this.#item[at] = item;
  }

  /** Removes the first entry; the heap must not be empty. */
  pop(): number {
    const first = this.#item[0]!;
    const item = this.#item.pop()!;
    const timeMs = this.#timeMs.pop()!;
    const count = this.#item.length;
    if (count === 0) return first;
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      const right = child + 1;
      if (right < count && this.#isBefore(this.#timeMs[right]!, this.#item[right]!, child)) child = right;
      if (this.#isBefore(timeMs, item, child)) break;
      this.#move(child, at);
      at = child;
    }
    this.#timeMs[at] = timeMs;
    this.#item[at] = item;
    return first;
  }

  clear(): void {
    this.#timeMs.length = this.#item.length = 0;
  }

  #isBefore(timeMs: number, item: number, other: number): boolean {
    const otherMs = this.#timeMs[other]!;
    return timeMs < otherMs || (timeMs === otherMs && item < this.#item[other]!);
  }

  #move(from: number, to: number): void {
    this.#timeMs[to] = this.#timeMs[from]!;
    this.#item[to] = this.#item[from]!;
  }
}
