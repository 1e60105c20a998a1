/** Slots by the time when something is due for them, earliest first; a slot that is put in again counts only as last put. */
export class DueHeap {
  #due: number[] = [];
  #slot: number[] = [];
  /** By slot: what counts; an entry of the heap that says otherwise is passed over. */
  readonly #dueOf = new Map<number, number>();

  get size(): number {
    return this.#dueOf.size;
  }

  has(slot: number): boolean {
    return this.#dueOf.has(slot);
  }

  dueOf(slot: number): number | undefined {
    return this.#dueOf.get(slot);
  }

  set(slot: number, dueMs: number): void {
    if (this.#dueOf.get(slot) === dueMs) return;
    this.#dueOf.set(slot, dueMs);
    this.#push(slot, dueMs);
    if (this.#slot.length > 2 * this.#dueOf.size + 64) this.#rebuild();
  }

  delete(slot: number): void {
    this.#dueOf.delete(slot);
  }

  /** When the first is due; infinite if none is. */
  firstDueMs(): number {
    this.#dropStale();
    return this.#due[0] ?? Number.POSITIVE_INFINITY;
  }

  /** Takes out the first one that is due by now; 0 if none is. */
  takeDue(nowMs: number): number {
    if (this.firstDueMs() > nowMs) return 0;
    const slot = this.#pop();
    this.#dueOf.delete(slot);
    return slot;
  }

  #dropStale(): void {
    while (this.#slot.length > 0 && this.#dueOf.get(this.#slot[0]!) !== this.#due[0]) this.#pop();
  }

  #rebuild(): void {
    this.#due = [];
    this.#slot = [];
    for (const [slot, dueMs] of this.#dueOf) this.#push(slot, dueMs);
  }

  #push(slot: number, dueMs: number): void {
    let at = this.#slot.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(dueMs, slot, this.#due[parent]!, this.#slot[parent]!)) break;
      this.#due[at] = this.#due[parent]!;
      this.#slot[at] = this.#slot[parent]!;
      at = parent;
    }
    this.#due[at] = dueMs;
    this.#slot[at] = slot;
  }

  #pop(): number {
    const first = this.#slot[0]!;
    const slot = this.#slot.pop()!;
    const dueMs = this.#due.pop()!;
    const count = this.#slot.length;
    if (count === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      const right = child + 1;
      if (
        right < count &&
        isBefore(this.#due[right]!, this.#slot[right]!, this.#due[child]!, this.#slot[child]!)
      ) {
        child = right;
      }
      if (!isBefore(this.#due[child]!, this.#slot[child]!, dueMs, slot)) break;
      this.#due[at] = this.#due[child]!;
      this.#slot[at] = this.#slot[child]!;
      at = child;
    }
    this.#due[at] = dueMs;
    this.#slot[at] = slot;
    return first;
  }
}

function isBefore(dueA: number, slotA: number, dueB: number, slotB: number): boolean {
  return dueA < dueB || (dueA === dueB && slotA < slotB);
}
