/** Reads the bytes of a provider's answer. An error within a machine of a listing concerns that machine alone. */
import { ProtobufReader } from '../../wire/protobuf-reader.ts';
import { MalformedAnswerError, MalformedRecordError } from './errors.ts';

export class AnswerReader extends ProtobufReader {
  /** The machine being read; null outside of a listing. */
  row: number | null = null;
  readonly #recordError = new MalformedRecordError();
  /** Set by `entry`. */
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  valueEnd = 0;

  override open(bytes: Uint8Array): void {
    super.open(bytes);
    this.row = null;
  }

  override fail(offset: number, what: string): never {
    if (this.row === null) throw new MalformedAnswerError(offset, what);
    this.#recordError.offset = offset;
    this.#recordError.what = what;
    throw this.#recordError;
  }

  /** Reads a map entry of strings. A missing part is empty; of repeated parts the last counts. */
  entry(start: number, end: number): void {
    const { bytes } = this;
    // Nearly all are key, then value, each shorter than 128 bytes.
    if (end - start >= 4 && bytes[start] === 0x0a && bytes[start + 1]! < 0x80) {
      const valueTag = start + 2 + bytes[start + 1]!;
      if (valueTag + 2 <= end && bytes[valueTag] === 0x12 && valueTag + 2 + bytes[valueTag + 1]! === end) {
        if (bytes[valueTag + 1]! < 0x80) {
          this.keyStart = start + 2;
          this.keyEnd = valueTag;
          this.valueStart = valueTag + 2;
          this.valueEnd = end;
          return;
        }
      }
    }
    this.#unusualEntry(start, end);
  }

  #unusualEntry(start: number, end: number): void {
    this.keyStart = this.keyEnd = this.valueStart = this.valueEnd = end;
    this.at = start;
    while (this.at < end) {
      const tag = this.tag(end);
      if (tag === 0x0a) {
        this.keyEnd = this.lengthEnd(end);
        this.keyStart = this.at;
        this.at = this.keyEnd;
      } else if (tag === 0x12) {
        this.valueEnd = this.lengthEnd(end);
        this.valueStart = this.at;
        this.at = this.valueEnd;
      } else this.skip(tag, end);
    }
  }
}
