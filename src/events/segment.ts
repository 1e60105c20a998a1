/**
 * A file of blocks, and where each block begins. The list is made by reading headers, 48 bytes a block: a file of 16 MiB has
 * about a thousand. A crash leaves at most one block that is cut, at the end; it is read as far as it goes and never
 * continued.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { FleetEvent } from '../machine/event.ts';
import { type BlockHeader, eventsOfBlock, eventsOfCutBlock, HEADER_BYTES, headerOf } from './block.ts';

export interface BlockPlace {
  readonly at: number;
  readonly header: BlockHeader;
  /** The file ends inside the block. */
  readonly isCut: boolean;
}

/** What the headers of a file say. */
export interface SegmentIndex {
  readonly blocks: BlockPlace[];
  bytes: number;
  /** Where the bytes that are blocks end: the rest of the file is damaged. Equal to `bytes` if nothing is. */
  wholeBytes: number;
}

export function indexOf(path: string): SegmentIndex {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const blocks: BlockPlace[] = [];
    const bytes = Buffer.alloc(HEADER_BYTES);
    let at = 0;
    while (at < size) {
      const header = readSync(fd, bytes, 0, HEADER_BYTES, at) === HEADER_BYTES ? headerOf(bytes) : null;
      if (header === null) break;
      const isCut = at + header.blockBytes > size;
      blocks.push({ at, header, isCut });
      if (isCut) break;
      at += header.blockBytes;
    }
    return { blocks, bytes: size, wholeBytes: at };
  } finally {
    closeSync(fd);
  }
}

/** A file, open for one search. */
export class SegmentReader {
  readonly #fd: number;

  /** Throws the system's error. */
  constructor(path: string) {
    this.#fd = openSync(path, 'r');
  }

  filterOf({ at, header }: BlockPlace): Uint8Array {
    return this.#bytes(at + HEADER_BYTES, header.filterBytes);
  }

  /** Oldest first; null if the block is damaged. */
  eventsOf({ at, header, isCut }: BlockPlace): FleetEvent[] | null {
    const block = this.#bytes(at, header.blockBytes);
    return isCut ? eventsOfCutBlock(block, header) : eventsOfBlock(block, header);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Fewer if the file ends before. */
  #bytes(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    let read = 0;
    while (read < length) {
      const got = readSync(this.#fd, bytes, read, length - read, at + read);
      if (got === 0) break;
      read += got;
    }
    return bytes.subarray(0, read);
  }
}
