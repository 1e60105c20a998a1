import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeMachine,
  MachineListEncoder,
  type MachineRow,
  MachineRow as Row,
} from '../../../../src/simulation/provider/encode/encoder.ts';
import {
  encodeLabels,
  encodeShape,
  shardMetadataView,
} from '../../../../src/simulation/provider/encode/parts.ts';
import { decode, encode, toPlain } from '../../../../src/wire/codec.ts';
import type { MachineInit, MachineList } from '../../../../src/wire/protocol.generated.ts';

const text = fc.oneof(
  fc.constantFrom('', 'm-1', 'x'.repeat(127), 'x'.repeat(128), 'ü'.repeat(64), '🚀🚀', '\0'),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);
const map = fc.dictionary(text, text, { maxKeys: 5, noNullPrototype: true });
const machine = fc.record({
  id: text,
  state: fc.integer({ min: 0, max: 300 }),
  pricePerHourUsd: fc.double(),
  interruptionProbability: fc.double({ min: 0, max: 1 }),
  hostProvider: text,
  hostRef: text,
  cluster: text,
  lastError: text,
  instanceType: text,
  zone: text,
  capacityType: fc.integer({ min: 0, max: 4 }),
  labels: map,
  ownLabels: map,
  resources: map,
  allocatable: fc.option(map),
  shardMetadata: map,
});
type Given = typeof machine extends fc.Arbitrary<infer Value> ? Value : never;

function fill(row: MachineRow, given: Given): void {
  row.id = given.id;
  row.state = given.state;
  row.pricePerHourUsd = given.pricePerHourUsd;
  row.interruptionProbability = given.interruptionProbability;
  row.hostProvider = given.hostProvider;
  row.hostRef = given.hostRef;
  row.cluster = given.cluster;
  row.lastError = given.lastError;
  row.shape = encodeShape(given);
  row.ownLabels = encodeLabels(given.ownLabels);
  row.shardMetadata = shardMetadataView(given.shardMetadata);
}

/** The same as a message for protobufjs. */
function messageOf(given: Given): MachineInit {
  const { hostProvider: provider, hostRef: ref, allocatable } = given;
  return {
    id: given.id,
    state: given.state,
    host: provider === '' && ref === '' ? null : { provider, ref },
    instanceType: given.instanceType,
    zone: given.zone,
    capacityType: given.capacityType,
    pricePerHour: given.pricePerHourUsd + 0,
    interruptionProbability: given.interruptionProbability + 0,
    resources: { resources: given.resources },
    labels: { ...given.labels, ...given.ownLabels },
    lastError: given.lastError,
    allocatable: allocatable === null ? null : { resources: allocatable },
    cluster: given.cluster,
    shardMetadata: given.shardMetadata,
  };
}

const plainList = (bytes: Uint8Array): MachineList => toPlain('MachineList', decode('MachineList', bytes));

describe('the listing encoder', () => {
  it('writes the same content as protobufjs, for any machines', () => {
    const encoder = new MachineListEncoder();
    fc.assert(
      fc.property(
        fc.array(machine, { maxLength: 5 }),
        fc.uint8Array({ maxLength: 200 }),
        fc.array(text, { maxLength: 3 }),
        (machines, revision, deletedIds) => {
          const bytes = encoder.encodeList(
            { rowCount: machines.length, read: (index, row) => fill(row, machines[index]!) },
            { revision, deletedIds },
          );
          const expected = encode('MachineList', { machines: machines.map(messageOf), revision, deletedIds });
          expect(plainList(bytes)).toEqual(plainList(expected));
          expect(bytes.length).toBe(expected.length + repeatedKeyBytes(machines));
        },
      ),
      { numRuns: 800 },
    );
  });

  /** A label that is both of the kind and of the machine is written twice; its last value counts. */
  function repeatedKeyBytes(machines: readonly Given[]): number {
    let count = 0;
    for (const { labels, ownLabels } of machines) {
      const twice = Object.keys(labels).filter((key) => Object.hasOwn(ownLabels, key));
      const both = encodeLabels(labels).length + encodeLabels(ownLabels).length;
      if (twice.length > 0) count += both - encodeLabels({ ...labels, ...ownLabels }).length;
    }
    return count;
  }

  it('gives each answer its own buffer', () => {
    const encoder = new MachineListEncoder();
    const read = (id: string) => ({
      rowCount: 1,
      read: (_: number, row: MachineRow) => {
        row.id = id;
      },
    });
    const first = encoder.encodeList(read('first'));
    encoder.encodeList(read('other'));
    expect(decode('MachineList', first).machines[0]!.id).toBe('first');
  });

  it('grows its buffer when machines are larger than expected', () => {
    const encoder = new MachineListEncoder();
    const bytes = encoder.encodeList({
      rowCount: 50,
      read: (index, row) => {
        row.id = `m-${index}`;
        row.lastError = 'e'.repeat(index * 1000);
      },
    });
    const { machines } = decode('MachineList', bytes);
    expect(machines.map(({ lastError }) => lastError.length)).toEqual(
      Array.from({ length: 50 }, (_, n) => n * 1000),
    );
  });

  it('writes a single machine', () => {
    const row = new Row();
    row.id = 'm-1';
    row.state = 3;
    row.hostRef = 'h';
    expect(decode('Machine', encodeMachine(row)).host!.ref).toBe('h');
  });
});
