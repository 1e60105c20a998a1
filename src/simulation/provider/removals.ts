/**
 * Removed machines for `deleted_ids`, in order of removal, each with its revision. The number is limited. The
 * provider does not recognise a cursor older than the oldest removal kept, because the answer could leave a
 * removal out.
 */

/** 100,000 ids × about 60 bytes = 6 MB. */
const REMOVALS_MAX = 100_000;

export class Removals {
  readonly #ids: string[] = [];
  readonly #revisions: number[] = [];
  /** Removals up to this revision may have been dropped. */
  #forgottenUpTo = 0;

  add(id: string, revision: number): void {
    this.#ids.push(id);
    this.#revisions.push(revision);
    if (this.#ids.length <= REMOVALS_MAX) return;
    // Dropping half at a time makes the cost per removal negligible.
    const forgottenCount = REMOVALS_MAX / 2;
    this.#forgottenUpTo = this.#revisions[forgottenCount - 1]!;
    this.#ids.splice(0, forgottenCount);
    this.#revisions.splice(0, forgottenCount);
  }

  get forgottenUpTo(): number {
    return this.#forgottenUpTo;
  }

  /** Takes over the removals of an earlier process, oldest first. */
  restore(
    removals: Iterable<{ readonly id: string; readonly revision: number }>,
    forgottenUpTo: number,
  ): void {
    this.#forgottenUpTo = forgottenUpTo;
    for (const { id, revision } of removals) this.add(id, revision);
  }

  /** Removals after a revision, oldest first. */
  *after(revision: number): Generator<{ readonly id: string; readonly revision: number }> {
    let first = this.#revisions.length;
    while (first > 0 && this.#revisions[first - 1]! > revision) first--;
    for (let index = first; index < this.#ids.length; index++) {
      yield { id: this.#ids[index]!, revision: this.#revisions[index]! };
    }
  }

  remembersSince(revision: number): boolean {
    return revision >= this.#forgottenUpTo;
  }

  /** Ids removed after one revision, up to another; each once, in order of removal. */
  between(after: number, upTo: number): string[] {
    const ids = new Set<string>();
    for (const { id, revision } of this.after(after)) if (revision <= upTo) ids.add(id);
    return [...ids];
  }
}
