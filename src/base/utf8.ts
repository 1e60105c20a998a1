/**
 * One growing scratch buffer in which text becomes bytes for a table: nearly every id and name is short
 * ASCII, and writing that in a loop is several times cheaper than a call into the runtime's encoder.
 */
export class Utf8Scratch {
  bytes: Uint8Array = new Uint8Array(1024);

  /** Encodes at `at`, keeping what is before it; returns the end. `bytes` may be another array afterwards. */
  write(text: string, at = 0): number {
    this.reserve(at + text.length * 3); // a UTF-16 unit is at most three bytes of UTF-8
    const { bytes } = this;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) return at + this.#encode(text, at);
      bytes[at + index] = unit;
    }
    return at + text.length;
  }

  reserve(bytesMin: number): void {
    if (bytesMin <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(bytesMin, this.bytes.length * 2));
    grown.set(this.bytes);
    this.bytes = grown;
  }

  #encode(text: string, at: number): number {
    return ENCODER.encodeInto(text, this.bytes.subarray(at)).written;
  }
}

const ENCODER = new TextEncoder();
