/**
 * The whole texts of strings that a table holds as digests (T4), by ref. Needs use them, and machines do not: so the texts
 * have their own counts, and go with the last need even if a machine still carries the digest. A usual fleet has none.
 */

interface WholeText {
  readonly text: string;
  readonly bytes: number;
  users: number;
}

export class WholeTexts {
  readonly #texts = new Map<number, WholeText>();
  #bytes = 0;

  get count(): number {
    return this.#texts.size;
  }

  /** Bytes of all texts as UTF-8. */
  get bytes(): number {
    return this.#bytes;
  }

  get(ref: number): string | undefined {
    return this.#texts.get(ref)?.text;
  }

  byteLength(ref: number): number | undefined {
    return this.#texts.get(ref)?.bytes;
  }

  /** One more user of the text. */
  use(ref: number, text: string, bytes: number): void {
    const known = this.#texts.get(ref);
    if (known !== undefined) {
      known.users++;
      return;
    }
    this.#texts.set(ref, { text, bytes, users: 1 });
    this.#bytes += bytes;
  }

  /** The same by a user of it, who may not know whether the text is long. */
  retain(ref: number): void {
    const known = this.#texts.get(ref);
    if (known !== undefined) known.users++;
  }

  release(ref: number): void {
    const known = this.#texts.get(ref);
    if (known === undefined || --known.users > 0) return;
    this.#texts.delete(ref);
    this.#bytes -= known.bytes;
  }

  /** Refs and their texts, in the same order. */
  image(): { readonly refs: number[]; readonly texts: string[] } {
    return { refs: [...this.#texts.keys()], texts: Array.from(this.#texts.values(), ({ text }) => text) };
  }
}
