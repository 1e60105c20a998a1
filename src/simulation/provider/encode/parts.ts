/**
 * Parts of a Machine message that many machines share, encoded once. A protobuf message is the concatenation
 * of its encoded fields in any order, so a provider keeps these bytes per kind and per binding, and a
 * listing copies them.
 */
import { ByteWriter } from '../../../base/byte-writer.ts';

type StringMap = Readonly<Record<string, string>>;

/** The wire fields that the machines of one kind share. */
export interface ShapeParts {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: number;
  readonly labels: StringMap;
  /** Kubernetes resource name to quantity. */
  readonly resources: StringMap;
  /** null: unset, so `resources` is the capacity. */
  readonly allocatable: StringMap | null;
}

export const NO_BYTES = new Uint8Array(0);

/** Reused: hundreds of thousands of parts are encoded, and only copies are kept. */
const writer = new ByteWriter();

export function encodeShape(shape: ShapeParts): Uint8Array {
  writer.rewind();
  if (shape.instanceType !== '') writer.text(0x22, shape.instanceType);
  if (shape.zone !== '') writer.text(0x2a, shape.zone);
  if (shape.capacityType !== 0) {
    writer.tag(0x30);
    writer.varint(shape.capacityType);
  }
  writeResources(0x4a, shape.resources);
  writeEntries(0x52, shape.labels);
  if (shape.allocatable !== null) writeResources(0x6a, shape.allocatable);
  return new Uint8Array(writer.take());
}

/** Labels of one machine alone, such as its host name. */
export function encodeLabels(labels: StringMap): Uint8Array {
  return encodeEntries(0x52, labels);
}

/** The caller must copy it at once: the next encoding overwrites it. */
export function shardMetadataView(metadata: StringMap): Uint8Array {
  writer.rewind();
  writeEntries(0x7a, metadata);
  return writer.take();
}

function encodeEntries(tag: number, entries: StringMap): Uint8Array {
  writer.rewind();
  writeEntries(tag, entries);
  return writer.at === 0 ? NO_BYTES : new Uint8Array(writer.take());
}

function writeResources(tag: number, resources: StringMap): void {
  writer.tag(tag);
  const start = writer.openLength();
  writeEntries(0x0a, resources);
  writer.closeLength(start);
}

function writeEntries(tag: number, entries: StringMap): void {
  for (const [key, value] of Object.entries(entries)) {
    writer.tag(tag);
    const start = writer.openLength();
    writer.text(0x0a, key);
    writer.text(0x12, value);
    writer.closeLength(start);
  }
}
