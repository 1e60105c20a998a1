/**
 * Keeps one copy of each long text. T3: records share strings. The string tables decode a text each time that it is read,
 * so without this a queue of 262,144 records with a fingerprint of 64 KiB would hold 16 GiB of copies of it.
 */
import { cutText } from './cut-text.ts';

/** Shorter texts are not looked up: the copies of all waiting records with such a text take 64 MiB at most. */
const SHORT_CHARS_MAX = 256;

/** The texts of a record that clients choose. */
export interface RecordTexts {
  readonly fingerprint: string;
  readonly group: string;
  readonly detail: string;
}

export class SharedTexts {
  readonly #charsMax: number;
  readonly #texts = new Map<string, string>();
  #chars = 0;

  /** Distinct long texts together have at most this many characters. */
  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  /** The record with the first copies of its texts; itself if they are short. */
  shareIn<Texts extends RecordTexts>(record: Texts): Texts {
    const { fingerprint, group, detail } = record;
    if (fingerprint.length + group.length + detail.length <= SHORT_CHARS_MAX) return record;
    return {
      ...record,
      fingerprint: this.share(fingerprint),
      group: this.share(group),
      detail: this.share(detail),
    };
  }

  /** The first copy of the text. A new text that no longer fits is cut and marked, so memory stays bounded. */
  share(text: string): string {
    if (text.length <= SHORT_CHARS_MAX) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#chars + text.length > this.#charsMax) return cutText(text, SHORT_CHARS_MAX);
    this.#chars += text.length;
    this.#texts.set(text, text);
    return text;
  }

  /** Forgets all texts. Records that have them keep them. */
  clear(): void {
    if (this.#chars === 0) return;
    this.#texts.clear();
    this.#chars = 0;
  }
}
