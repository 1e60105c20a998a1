/**
 * A listing for an empty inventory, in parts. Every row is new, so there is nothing to compare, and the main thread
 * applies one part while the listing thread decodes the next. Done one after the other, each takes a second at 500,000
 * machines (docs/adr/0041).
 *
 *   const listing = new FirstListing(bytes, decoder, 16 * 1024 ** 2);
 *   while (listing.hasMore) hand over listing.next();
 *
 * A part ends where a field of the message ends. All parts are decoded into one batch, so an id that an earlier part
 * listed is found, and its last record replaces the one handed over (`repeatedCount`). Counts and texts are those of the
 * answer so far. Parts that were handed over stay valid if a later part is malformed: the provider did list them.
 */
import { boundedDetail } from '../../base/outside-text.ts';
import { type MachineDecoder, RECORDS_MAX } from '../decode/decoder.ts';
import { revisionOf } from '../decode/rows.ts';
import { giveBack } from '../give-back.ts';
import { type ComparedListing, rejectedOf } from './comparison.ts';
import { cutOutRows } from './listing-rows.ts';
import { RowList } from './row-list.ts';
import { ShapeKeys } from './shape-keys.ts';

const NO_BYTES = new Uint8Array(0);
/** Later parts may have shorter records, hence more rows. */
const ROWS_MARGIN = 1.1;

export class FirstListing {
  readonly answerBytes: number;
  /** Times of all parts so far. */
  decodeMs = 0;
  compareMs = 0;
  readonly #decoder: MachineDecoder;
  readonly #keys: ShapeKeys;
  readonly #rows = new RowList();
  readonly #partBytes: number;
  #bytes: Uint8Array;
  #hasMore = true;

  /** The listing owns the decoder until the last part. */
  constructor(bytes: Uint8Array, decoder: MachineDecoder, partBytes: number) {
    this.answerBytes = bytes.length;
    this.#bytes = bytes;
    this.#decoder = decoder;
    this.#keys = new ShapeKeys(decoder.batch.ownLabelKeys);
    this.#partBytes = partBytes;
    decoder.beginList(bytes);
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** The next part, with its own memory. Throws what the decoder throws; the listing has then ended. */
  next(): ComparedListing {
    try {
      const startedMs = performance.now();
      this.#hasMore = this.#decoder.readList(this.#partBytes);
      this.#reserve();
      const decodedMs = performance.now();
      const part = this.#cutOut();
      this.decodeMs += decodedMs - startedMs;
      this.compareMs += performance.now() - decodedMs;
      if (!this.#hasMore) this.end();
      return part;
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Frees the answer, which may be 400 MB, read or not. */
  end(): void {
    this.#hasMore = false;
    this.#decoder.decodeList(NO_BYTES);
    giveBack(this.#bytes);
    this.#bytes = NO_BYTES;
  }

  /**
   * Allocates columns for the whole answer, estimated from its first part. Doubling would leave as much garbage again
   * while the answer is in memory and the inventory fills up. Untouched pages cost nothing.
   */
  #reserve(): void {
    const { batch } = this.#decoder;
    if (batch.partStart > 0) return;
    const rows = Math.ceil((ROWS_MARGIN * batch.rowCount * this.answerBytes) / this.#partBytes);
    batch.reserve(Math.min(rows, RECORDS_MAX));
  }

  #cutOut(): ComparedListing {
    const { batch } = this.#decoder;
    const rows = this.#rows;
    const repeated = new Set(batch.repeatedRows);
    rows.count = 0;
    for (let row = batch.partStart; row < batch.rowCount; row++) rows.push(row, 0, 0);
    for (const row of repeated) rows.push(row, 0, 0);
    this.#keys.addThoseOf(batch);
    return {
      kind: 'listed',
      isFull: true,
      revision: revisionOf(batch),
      listedCount: batch.rowCount,
      rows: cutOutRows(batch, rows, this.#keys),
      repeatedCount: repeated.size,
      removed: { count: 0, slot: new Uint32Array(0), generation: new Uint32Array(0) },
      foreign: { count: 0, slot: new Uint32Array(0), generation: new Uint32Array(0) },
      knownCount: 0,
      rejected: rejectedOf(batch, 0),
      unnamedCount: batch.unnamedCount,
      rejectionTexts: batch.rejectionTexts.map(boundedDetail),
      answerBytes: this.answerBytes,
    };
  }
}
