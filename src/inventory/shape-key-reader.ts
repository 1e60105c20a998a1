/**
 * Reads the canonical bytes of shape-key.ts back: once for each new shape, never per machine. The bytes are
 * always our own, so a fault in them is a broken invariant, not an input error. Objects have no prototype:
 * a label or resource may have any name, even `__proto__`.
 */
import { assert } from '../base/assert.ts';

/** Types, zones and label keys are a few hundred; the limit bounds a sender that invents them. */
const NAMES_MAX = 10_000;

/** The content of a shape's canonical bytes. */
export interface ShapeKeyParts {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: number;
  readonly labels: ReadonlyMap<string, string>;
  readonly capacity: Readonly<Record<string, number>>;
}

export function parseShapeKey(
  bytes: Uint8Array,
  start: number,
  end: number,
  names: Map<string, string>,
): ShapeKeyParts {
  const reader = new KeyReader(bytes, start);
  const capacityType = bytes[reader.at++]!;
  const instanceType = shared(names, reader.text());
  const zone = shared(names, reader.text());
  const labels = new Map<string, string>();
  for (let left = reader.varint(); left > 0; left--) labels.set(shared(names, reader.text()), reader.text());
  const capacity: Record<string, number> = Object.create(null);
  for (let left = reader.varint(); left > 0; left--) capacity[reader.text()] = reader.double();
  assert(reader.at === end, 'a shape key ends where its last entry does');
  return { instanceType, zone, capacityType, labels, capacity };
}

/** Where the resources of a shape key begin: equal bytes from there to its end are an equal capacity. */
export function capacityStart(bytes: Uint8Array, start: number): number {
  const reader = new KeyReader(bytes, start + 1);
  reader.skipText();
  reader.skipText();
  for (let left = reader.varint(); left > 0; left--) {
    reader.skipText();
    reader.skipText();
  }
  return reader.at;
}

/** The resource names of a capacity that begins there. */
export function capacityNames(bytes: Uint8Array, start: number): string[] {
  const reader = new KeyReader(bytes, start);
  const names: string[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    names.push(reader.text());
    reader.double();
  }
  return names;
}

/** One JavaScript string for equal names, up to NAMES_MAX of them. */
function shared(names: Map<string, string>, name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size < NAMES_MAX) names.set(name, name);
  return name;
}

/** The own labels of a machine, by key. */
export function parseOwnLabels(
  bytes: Uint8Array,
  end: number,
  ownLabelKeys: readonly string[],
): Record<string, string> {
  const reader = new KeyReader(bytes, 0);
  const labels: Record<string, string> = Object.create(null);
  while (reader.at < end) labels[ownLabelKeys[bytes[reader.at++]!]!] = reader.text();
  return labels;
}

class KeyReader {
  at: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #buffer: Buffer;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  skipText(): void {
    const length = this.varint();
    this.at += length;
  }

  text(): string {
    const length = this.varint();
    this.at += length;
    return this.#buffer.toString('utf8', this.at - length, this.at);
  }

  double(): number {
    this.at += 8;
    return this.#view.getFloat64(this.at - 8, true);
  }
}
