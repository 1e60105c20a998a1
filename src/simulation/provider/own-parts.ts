/**
 * The encoded part of each machine's record that it does not share with its kind. The parts are kept in pages
 * of rows, one block of memory each and in the order of a listing: with half a million small blocks, spread
 * over the memory, a listing of 500,000 machines took twice as long. When a machine changes, its page is
 * rebuilt; the parts of the other machines are copied.
 */
import { ByteWriter } from '../../base/byte-writer.ts';
import type { Fleet } from './fleet.ts';

const PAGE_BITS = 10;
const PAGE_ROWS = 1 << PAGE_BITS;
const NO_BYTES = Buffer.alloc(0);
const NO_ROWS = new Uint32Array(1);

class Page {
  /** The fleet's revision when the page was built. */
  revision = -1;
  bytes: Buffer = NO_BYTES;
  /** The start of each row's part, then the end of the last one. */
  starts = NO_ROWS;
}

export class OwnParts {
  readonly #fleet: Fleet;
  readonly #write: (row: number, writer: ByteWriter) => void;
  readonly #pages: Page[] = [];
  readonly #writer = new ByteWriter();

  /** `write` appends the part of a row. */
  constructor(fleet: Fleet, write: (row: number, writer: ByteWriter) => void) {
    this.#fleet = fleet;
    this.#write = write;
  }

  /** Brings all parts up to date. */
  refresh(): void {
    const { rowEnd, revision } = this.#fleet;
    for (let first = 0; first < rowEnd; first += PAGE_ROWS) {
      const page = this.#pages[first >> PAGE_BITS] ?? new Page();
      this.#pages[first >> PAGE_BITS] = page;
      if (this.#hasChanged(page, first)) this.#rebuild(page, first);
      page.revision = revision;
    }
  }

  bytesOf(row: number): number {
    const { starts } = this.#pages[row >> PAGE_BITS]!;
    const index = row & (PAGE_ROWS - 1);
    return starts[index + 1]! - starts[index]!;
  }

  append(row: number, writer: ByteWriter): void {
    const { bytes, starts } = this.#pages[row >> PAGE_BITS]!;
    const index = row & (PAGE_ROWS - 1);
    writer.raw(bytes.subarray(starts[index], starts[index + 1]));
  }

  #hasChanged({ revision }: Page, first: number): boolean {
    const { changedAt } = this.#fleet;
    const end = Math.min(first + PAGE_ROWS, this.#fleet.rowEnd);
    for (let row = first; row < end; row++) if (changedAt[row]! > revision) return true;
    return false;
  }

  #rebuild(page: Page, first: number): void {
    const { changedAt, state, rowEnd } = this.#fleet;
    const writer = this.#writer;
    const rowCount = Math.min(PAGE_ROWS, rowEnd - first);
    const starts = new Uint32Array(rowCount + 1);
    writer.rewind();
    for (let index = 0; index < rowCount; index++) {
      const row = first + index;
      starts[index] = writer.at;
      if (state[row] === 0) continue;
      if (changedAt[row]! > page.revision) this.#write(row, writer);
      else writer.raw(page.bytes.subarray(page.starts[index], page.starts[index + 1]));
    }
    starts[rowCount] = writer.at;
    page.starts = starts;
    page.bytes = Buffer.from(new Uint8Array(writer.take()).buffer);
  }
}
