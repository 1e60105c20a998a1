import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../../src/base/hash.ts';
import { Random } from '../../../src/base/random.ts';
import { REJECTION_TEXTS_MAX } from '../../../src/listing/decode/batch.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { ENTRIES_PER_MACHINE_MAX } from '../../../src/listing/decode/entry-list.ts';
import { AnswerTooLargeError } from '../../../src/listing/decode/errors.ts';
import { hashRange } from '../../../src/listing/decode/ranges.ts';
import { idAt, idsOf, machineAt, ownLabelsAt, shapeAt } from '../../../src/listing/decode/rows.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { encode } from '../../../src/wire/codec.ts';
import type { MachineInit, MachineListInit } from '../../../src/wire/protocol.generated.ts';
import { meaningOf } from './expected.ts';
import { bytes, entry, list, number } from './raw-wire.ts';

const S = MachineState;
const HOST = { provider: 'p', ref: 'host-1' };
const IDLE: MachineInit = { id: 'm-1', state: S.Idle, host: HOST };
const CONFIGURED: MachineInit = { id: 'm-1', state: S.Configured, host: HOST, cluster: 'c-1' };

function decodeList(message: MachineListInit, decoder = new MachineDecoder()) {
  return decoder.decodeList(encode('MachineList', message));
}

/** Two texts with the same hash: among 400,000 random texts there are about twenty such pairs. */
function collision(hash: (bytes: Uint8Array) => number, text: () => string): [string, string] {
  const seen = new Map<number, string>();
  for (let n = 0; n < 400_000; n++) {
    const candidate = text();
    const hashed = hash(new TextEncoder().encode(candidate));
    const known = seen.get(hashed);
    if (known !== undefined) return [known, candidate];
    seen.set(hashed, candidate);
  }
  throw new Error('no two texts have the same hash');
}

describe('V1: a record is validated where it is decoded', () => {
  for (const [what, machine, reason] of [
    ['an empty id', { ...IDLE, id: '' }, 'structural'],
    ['an unspecified state', { ...IDLE, state: 0 }, 'structural'],
    ['an unknown state', { ...IDLE, state: 9 }, 'structural'],
    ['a negative state', { ...IDLE, state: -3 }, 'structural'],
    ['Idle without a host', { id: 'm-1', state: S.Idle }, 'structural'],
    ['Idle with an empty host', { ...IDLE, host: {} }, 'structural'],
    ['Idle with a cluster', { ...IDLE, cluster: 'c-1' }, 'structural'],
    ['Speculative with a host', { ...IDLE, state: S.Speculative }, 'structural'],
    ['Creating with a cluster', { id: 'm-1', state: S.Creating, cluster: 'c-1' }, 'structural'],
    ['Configured without a cluster', { ...IDLE, state: S.Configured }, 'structural'],
    ['Draining without a host', { id: 'm-1', state: S.Draining, cluster: 'c-1' }, 'structural'],
    ['a negative price', { ...IDLE, pricePerHour: -0.01 }, 'price'],
    ['a price that is not a number', { ...IDLE, pricePerHour: Number.NaN }, 'price'],
    ['an infinite price', { ...IDLE, pricePerHour: Number.POSITIVE_INFINITY }, 'price'],
    ['a probability above one', { ...IDLE, interruptionProbability: 1.01 }, 'interruption_probability'],
    ['a probability below zero', { ...IDLE, interruptionProbability: -1 }, 'interruption_probability'],
    [
      'no number as probability',
      { ...IDLE, interruptionProbability: Number.NaN },
      'interruption_probability',
    ],
    ['an unparseable resource', { ...IDLE, resources: { resources: { cpu: 'many' } } }, 'structural'],
    ['a negative resource', { ...IDLE, resources: { resources: { cpu: '-4' } } }, 'structural'],
    [
      'an unparseable resource beside good allocatable ones',
      { ...IDLE, resources: { resources: { cpu: '' } }, allocatable: { resources: { cpu: '4' } } },
      'structural',
    ],
  ] as const) {
    it(`V1: rejects ${what}, counts it as ${reason}, and keeps the rest of the listing`, () => {
      const good: MachineInit = { ...IDLE, id: 'good' };
      const { machines, rejectedIds, rejectedCounts } = meaningOf(
        decodeList({ machines: [{ ...good, id: 'first' }, machine, good] }),
      );
      expect(machines.map(({ id }) => id)).toEqual(['first', 'good']);
      expect(rejectedIds).toEqual([machine.id]);
      expect(rejectedCounts).toEqual({ price: 0, interruption_probability: 0, structural: 0, [reason]: 1 });
    });
  }

  it('V1: fills in the last_error of a FAILED record that has none, and keeps an existing one', () => {
    const failed: MachineInit = { id: 'm-1', state: S.Failed };
    const { machines } = meaningOf(
      decodeList({ machines: [failed, { ...failed, id: 'm-2', lastError: 'disk full' }] }),
    );
    expect(machines[0]!.lastError).toMatch(/without last_error/);
    expect(machines[1]!.lastError).toBe('disk full');
  });

  it('V1: lists every rejected id, but explains only the first few', () => {
    const count = 3 * REJECTION_TEXTS_MAX;
    const batch = decodeList({ machines: Array.from({ length: count }, (_, n) => ({ id: `bad-${n}` })) });
    expect(idsOf(batch, batch.rejectedIds)).toEqual(Array.from({ length: count }, (_, n) => `bad-${n}`));
    expect(batch.rejectionTexts).toHaveLength(REJECTION_TEXTS_MAX);
    expect(batch.rejectionTexts[0]).toMatch(/"bad-0" is not valid: unknown state 0/);
  });

  it('V1: counts a reason the same way whether or not it is explained', () => {
    const bad = [
      { ...IDLE, pricePerHour: -1 },
      { ...IDLE, interruptionProbability: 2 },
      { ...IDLE, pricePerHour: -1, interruptionProbability: 2 },
      { ...IDLE, state: 12, pricePerHour: -1 },
      { ...IDLE, id: '', pricePerHour: -1 },
      { ...IDLE, host: null },
      { ...IDLE, host: null, interruptionProbability: 2 },
    ];
    const once = meaningOf(decodeList({ machines: bad })).rejectedCounts;
    const times = 10 * REJECTION_TEXTS_MAX;
    const often = decodeList({ machines: Array.from({ length: times }, () => bad).flat() });
    expect(once).toEqual({ price: 2, interruption_probability: 2, structural: 3 });
    expect(meaningOf(often).rejectedCounts).toEqual({
      price: 2 * times,
      interruption_probability: 2 * times,
      structural: 3 * times,
    });
  });

  it('V1: rejects a machine with another id than the one asked for', () => {
    const decoder = new MachineDecoder();
    const bytes = encode('Machine', IDLE);
    expect(decoder.decodeMachine(bytes, 'm-1').rowCount).toBe(1);
    const batch = decoder.decodeMachine(bytes, 'm-2');
    expect(batch.rowCount).toBe(0);
    expect(meaningOf(batch).rejectedCounts.structural).toBe(1);
    expect(batch.rejectionTexts[0]).toMatch(/asked for "m-2"/);
  });

  it('V1: rejects a record with a string that is not UTF-8, and no other record', () => {
    const bad = Buffer.from([0x61, 0xff, 0x62]);
    const sound = [bytes(1, 'm-1'), number(2, S.Idle), bytes(3, bytes(2, 'h'))];
    const badEntry = bytes(10, Buffer.concat([bytes(1, 'key'), bytes(2, bad)]));
    for (const spoilt of [
      bytes(1, bad),
      bytes(4, bad),
      bytes(5, bad),
      bytes(3, bytes(1, bad)),
      bytes(3, bytes(2, bad)),
      badEntry,
      bytes(9, bytes(1, Buffer.concat([bytes(1, bad), bytes(2, '4')]))),
      bytes(10, Buffer.concat([bytes(1, 'kubernetes.io/hostname'), bytes(2, bad)])),
    ]) {
      const batch = new MachineDecoder().decodeList(
        list(Buffer.concat([...sound, spoilt]), Buffer.concat([bytes(1, 'good'), ...sound.slice(1)])),
      );
      expect(idAt(batch, 0)).toBe('good');
      expect(meaningOf(batch).rejectedCounts.structural).toBe(1);
      expect(batch.rejectionTexts[0]).toMatch(/not UTF-8/);
    }
  });

  it('V1: keeps a last_error that is not UTF-8, with replacement characters', () => {
    const failed = Buffer.concat([
      bytes(1, 'm-1'),
      number(2, S.Failed),
      bytes(12, Buffer.from([0x61, 0xff])),
    ]);
    expect(machineAt(new MachineDecoder().decodeList(list(failed)), 0).lastError).toBe('a\ufffd');
  });

  it('V1: rejects a record above the limit of labels, and reads one at the limit', () => {
    const labels = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`key-${(n * 7919) % count}`, `value-${n}`]),
      );
    const machines = [
      { ...IDLE, labels: labels(ENTRIES_PER_MACHINE_MAX) },
      { ...IDLE, id: 'm-2', labels: labels(ENTRIES_PER_MACHINE_MAX + 1) },
      { ...IDLE, id: 'm-3', labels: labels(3) },
    ];
    const { machines: read, rejectedIds } = meaningOf(decodeList({ machines }));
    expect(read.map(({ id }) => id)).toEqual(['m-1', 'm-3']);
    expect(read[0]!.labels).toEqual(machines[0]!.labels);
    expect(rejectedIds).toEqual(['m-2']);
  });

  it('reads an unknown capacity type as unspecified, which is never released', () => {
    expect(machineAt(decodeList({ machines: [{ ...IDLE, capacityType: 77 }] }), 0).capacityType).toBe(
      CapacityType.Unspecified,
    );
  });
});

describe('acks', () => {
  it('have the operation id and its machine', () => {
    const decoder = new MachineDecoder();
    const ack = encode('TransitionAck', { operationId: 'op-1', machine: CONFIGURED });
    expect(decoder.decodeAck(ack, 'm-1')).toBe('op-1');
    expect(machineAt(decoder.batch, 0).cluster).toBe('c-1');
  });

  it('V1: without a machine, or with another one, are rejected', () => {
    const decoder = new MachineDecoder();
    expect(decoder.decodeAck(encode('TransitionAck', { operationId: 'op-1' }), 'm-1')).toBe('op-1');
    expect(decoder.batch.rejectedIds.count).toBe(1);
    decoder.decodeAck(encode('TransitionAck', { machine: CONFIGURED }), 'm-2');
    expect(decoder.batch.rowCount).toBe(0);
  });

  it('merge a machine that comes in parts', () => {
    const decoder = new MachineDecoder();
    const parts = [
      { ...IDLE, labels: { a: '1' } },
      { pricePerHour: 2, labels: { b: '2' }, host: { ref: 'other' } },
    ];
    decoder.decodeAck(Buffer.concat(parts.map((machine) => encode('TransitionAck', { machine }))), 'm-1');
    const machine = machineAt(decoder.batch, 0);
    expect(machine.labels).toEqual({ a: '1', b: '2' });
    expect(machine.host).toEqual({ provider: 'p', ref: 'other' });
    expect(machine.pricePerHourUsd).toBe(2);
  });
});

describe('capacity and shapes', () => {
  it('M4: capacity is allocatable if given, else resources', () => {
    const resources = { resources: { cpu: '8', memory: '16Gi' } };
    const read = ({ allocatable }: Pick<MachineInit, 'allocatable'>) =>
      machineAt(decodeList({ machines: [{ ...IDLE, resources, allocatable }] }), 0).capacity;
    expect(read({})).toEqual({ cpu: 8000, memory: 16 * 2 ** 20 });
    expect(read({ allocatable: { resources: { cpu: '7500m' } } })).toEqual({ cpu: 7500 });
    expect(read({ allocatable: {} })).toEqual({});
  });

  it('V3: 16Gi and 17179869184 are one value, zeros are left out, supply rounds down and saturates', () => {
    const machine = (id: string, memory: string, extra = {}) => ({
      ...IDLE,
      id,
      resources: { resources: { memory, ...extra } },
    });
    const batch = decodeList({
      machines: [
        machine('a', '16Gi'),
        machine('b', '17179869184'),
        machine('c', '16Gi', { pods: '0' }),
        machine('d', '17179869185'),
        machine('e', '16Gi', { cpu: '1' }),
        machine('f', '9E', { cpu: '99E' }),
      ],
    });
    expect([...batch.shape.subarray(0, 5)]).toEqual([0, 0, 0, 0, 1]);
    expect(shapeAt(batch, batch.shape[5]!).capacity).toEqual({
      memory: Math.floor(9e18 / 1024),
      cpu: Number.MAX_SAFE_INTEGER,
    });
  });

  it('gives labels in any order one shape, and leaves own labels out of it', () => {
    const labels = [
      entry(10, 'rack', 'r-1'),
      entry(10, 'arch', 'amd64'),
      entry(10, 'kubernetes.io/hostname', 'host-a'),
    ];
    const rest = [number(2, S.Idle), bytes(3, bytes(2, 'h'))];
    const other = entry(10, 'kubernetes.io/hostname', 'host-b');
    const batch = new MachineDecoder().decodeList(
      list(
        Buffer.concat([bytes(1, 'm-1'), ...labels, ...rest]),
        Buffer.concat([bytes(1, 'm-2'), labels[1]!, ...rest, other, labels[0]!]),
      ),
    );
    expect(batch.shapes.count).toBe(1);
    expect(shapeAt(batch, 0).labels).toEqual({ rack: 'r-1', arch: 'amd64' });
    expect(ownLabelsAt(batch, 0)).toEqual({ 'kubernetes.io/hostname': 'host-a' });
    expect(ownLabelsAt(batch, 1)).toEqual({ 'kubernetes.io/hostname': 'host-b' });
    expect(machineAt(batch, 1).labels).toEqual({
      rack: 'r-1',
      arch: 'amd64',
      'kubernetes.io/hostname': 'host-b',
    });
  });

  it('reads an own label that is empty, or has its value before its key', () => {
    const key = 'kubernetes.io/hostname';
    const rest = [number(2, S.Idle), bytes(3, bytes(2, 'h'))];
    const batch = new MachineDecoder().decodeList(
      list(
        Buffer.concat([bytes(1, 'm-1'), bytes(10, bytes(1, key)), ...rest]),
        Buffer.concat([
          bytes(1, 'm-2'),
          bytes(10, Buffer.concat([bytes(2, 'host-b'), bytes(1, key)])),
          ...rest,
        ]),
        Buffer.concat([bytes(1, 'm-3'), ...rest]),
      ),
    );
    expect([0, 1, 2].map((row) => ownLabelsAt(batch, row))).toEqual([{ [key]: '' }, { [key]: 'host-b' }, {}]);
    expect(batch.shapes.count).toBe(1);
  });

  it('keeps strings and ids with the same hash apart', () => {
    const random = new Random(1);
    const text = () =>
      `${random.uint32().toString(16).padStart(8, '0')}-${random.uint32().toString(16).padStart(8, '0')}`;
    const [first, second] = collision(
      (bytes) => hashRange(new DataView(bytes.buffer), 0, bytes.length),
      text,
    );
    const [one, other] = collision((bytes) => hashBytes(bytes, 0, bytes.length), text);
    const labels = [first, second].map((rack) => ({ rack }));
    // Twice, so that each is looked up while the other is in the table.
    const machines = [0, 1, 0, 1].map((n, row) => ({
      ...IDLE,
      id: [one, other][n]! + (row > 1 ? '' : '-'),
      labels: labels[n]!,
      zone: labels[n]!.rack,
    }));
    const { machines: read } = meaningOf(decodeList({ machines: [...machines, ...machines.slice(2)] }));
    expect(read.map(({ id, labels, zone }) => ({ id, labels, zone }))).toEqual(
      machines.map(({ id, labels, zone }) => ({ id, labels, zone })),
    );
  });

  it('keeps tens of thousands of distinct strings and shapes apart while its tables grow', () => {
    const count = 20_000;
    const machines = Array.from({ length: count }, (_, n) => ({
      ...IDLE,
      id: `m-${n}`,
      labels: { rack: `rack-${n % 5000}-${'x'.repeat(n % 7)}`, own: `prefix-${n}-suffix-suffix` },
    }));
    const batch = decodeList({ machines });
    expect(batch.rowCount).toBe(count);
    expect(batch.shapes.count).toBe(count);
    for (let row = 0; row < count; row += 97)
      expect(machineAt(batch, row).labels).toEqual(machines[row]!.labels);
    expect(batch.shapes.count).toBe(decodeList({ machines }).shapes.count);
  });
});

describe('listings', () => {
  it('carry the revision and the deleted ids', () => {
    const { revision, deletedIds } = meaningOf(
      decodeList({ machines: [IDLE], revision: Buffer.from([1, 2, 3]), deletedIds: ['m-7', 'm-8'] }),
    );
    expect(revision).toEqual([1, 2, 3]);
    expect(deletedIds).toEqual(['m-7', 'm-8']);
  });

  it('with an id twice have one row: the last valid record, in the place of the first', () => {
    const batch = decodeList({
      machines: [
        { ...IDLE, pricePerHour: 1 },
        { ...IDLE, id: 'm-2' },
        { ...CONFIGURED, pricePerHour: 2 },
        { ...IDLE, pricePerHour: -1 },
      ],
    });
    const { machines, rejectedIds, duplicateIdCount } = meaningOf(batch);
    expect(machines.map(({ id, state, pricePerHourUsd }) => [id, state, pricePerHourUsd])).toEqual([
      ['m-1', S.Configured, 2],
      ['m-2', S.Idle, 0],
    ]);
    expect(rejectedIds).toEqual(['m-1']);
    expect(duplicateIdCount).toBe(1);
  });

  it('leave nothing behind for the next one', () => {
    const decoder = new MachineDecoder();
    decodeList({ machines: [{ ...CONFIGURED, labels: { a: 'b' }, lastError: 'x' }, { id: 'bad' }] }, decoder);
    const fresh = meaningOf(decodeList({ machines: [{ id: 's', state: S.Speculative }] }));
    expect(meaningOf(decodeList({ machines: [{ id: 's', state: S.Speculative }] }, decoder))).toEqual(fresh);
    expect(meaningOf(decodeList({}, decoder)).machines).toEqual([]);
  });

  it('larger than the limit are refused before they are read', () => {
    const decoder = new MachineDecoder({ bytesMax: 10 });
    expect(() => decoder.decodeList(new Uint8Array(11).fill(0xff))).toThrow(AnswerTooLargeError);
    expect(() => decoder.decodeList(new Uint8Array(11).fill(0xff))).toThrow(/more than 10 bytes/);
  });

  it('with more machines or deleted ids than memory allows are refused whole', () => {
    const decoder = new MachineDecoder({ recordsMax: 3 });
    const some = (count: number) => Array.from({ length: count }, (_, n) => ({ ...IDLE, id: `m-${n}` }));
    expect(decodeList({ machines: some(3), deletedIds: ['a', 'b', 'c'] }, decoder).rowCount).toBe(3);
    expect(() => decodeList({ machines: some(4) }, decoder)).toThrow(/more than 3 machines/);
    expect(() => decodeList({ machines: some(3).concat({ ...IDLE, id: '' }) }, decoder)).toThrow(
      AnswerTooLargeError,
    );
    expect(() => decodeList({ deletedIds: ['a', 'b', 'c', 'd'] }, decoder)).toThrow(
      /more than 3 deleted ids/,
    );
    expect(decoder.batch.rowCount).toBe(0);
    expect(decodeList({ machines: some(3) }, decoder).rowCount).toBe(3);
  });

  it('in parts have the same limit of machines, over all parts together', () => {
    const decoder = new MachineDecoder({ recordsMax: 3 });
    const machines = [1, 2, 3, 4].map((n) => ({ ...IDLE, id: `m-${n}` }));
    decoder.beginList(encode('MachineList', { machines }));
    for (let part = 0; part < 3; part++) expect(decoder.readList(1)).toBe(true);
    expect(() => decoder.readList(1)).toThrow(AnswerTooLargeError);
    expect(decoder.batch.rowCount).toBe(0);
  });

  it('reach another thread as shared columns, with everything that it needs to read a row', () => {
    const batch = decodeList({
      machines: [{ ...CONFIGURED, zone: 'z', labels: { rack: 'r-1' } }],
      deletedIds: ['x'],
    });
    const clone = structuredClone(batch);
    expect(machineAt(clone, 0)).toEqual(machineAt(batch, 0));
    expect(idsOf(clone, clone.deletedIds)).toEqual(['x']);
    batch.state[0] = S.Draining;
    expect(clone.state[0]).toBe(S.Draining);
  });
});
