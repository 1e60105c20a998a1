/**
 * The two parts of a listed row that the inventory stores in another form than the wire: own labels as the bytes of
 * inventory/shape-key.ts, and last_error as valid UTF-8, never empty for a Failed machine. They are compared and passed
 * on in the inventory's form, so that an applied row equals itself in the next listing.
 */
import { MachineState } from '../../machine/state.ts';
import type { MachineBatch } from '../decode/batch.ts';
import { isText, textOf } from '../decode/ranges.ts';
import { UNKNOWN_ERROR } from '../decode/rows.ts';
import { cutEnd, LAST_ERROR_BYTES_MAX } from '../decode/text-limits.ts';

const UNKNOWN_ERROR_BYTES = new TextEncoder().encode(UNKNOWN_ERROR);
const NO_BYTES = new Uint8Array(0);

/** A range of bytes, reused for every row. */
export class RowTexts {
  bytes: Uint8Array = NO_BYTES;
  start = 0;
  end = 0;
  #own = new Uint8Array(1024);

  /** Sets the range to the own labels of a row; empty: none. */
  ownLabels(batch: MachineBatch, row: number): void {
    const keyCount = batch.ownLabelKeys.length;
    this.start = this.end = 0;
    for (let key = 0; key < keyCount; key++) {
      const start = batch.ownLabelStart[row * keyCount + key]!;
      if (start !== 0) this.#putOwnLabel(batch.bytes, key, start, batch.ownLabelEnd[row * keyCount + key]!);
    }
    this.bytes = this.#own;
  }

  /** Sets the range to the row's last_error; empty: none. */
  lastError(batch: MachineBatch, row: number, view: DataView): void {
    this.bytes = batch.bytes;
    this.start = batch.lastErrorStart[row]!;
    this.end = cutEnd(this.bytes, this.start, batch.lastErrorEnd[row]!, LAST_ERROR_BYTES_MAX);
    if (this.start === this.end) {
      if (batch.state[row] === MachineState.Failed) this.#whole(UNKNOWN_ERROR_BYTES);
      return;
    }
    // Invalid UTF-8 gets replacement characters, as on every other path.
    if (isText(this.bytes, view, this.start, this.end)) return;
    this.#whole(new TextEncoder().encode(textOf(this.bytes, this.start, this.end)));
  }

  #whole(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.start = 0;
    this.end = bytes.length;
  }

  #putOwnLabel(bytes: Uint8Array, key: number, start: number, end: number): void {
    let at = this.end;
    const length = end - start;
    if (at + length + 6 > this.#own.length) {
      const grown = new Uint8Array(2 * (at + length + 6));
      grown.set(this.#own.subarray(0, at));
      this.#own = grown;
    }
    const own = this.#own;
    own[at++] = key;
    let rest = length;
    for (; rest >= 0x80; rest >>>= 7) own[at++] = (rest & 0x7f) | 0x80;
    own[at++] = rest;
    for (let from = start; from < end; from++) own[at++] = bytes[from]!;
    this.end = at;
  }
}
