/**
 * Every decoder of bytes or texts that come from another process, with valid inputs, and with inputs made to cost as much memory
 * as possible: many tiny rows, entries and fields, nesting, and lengths that lie. test/fuzz/budget.test.ts checks that none is
 * missing.
 */
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import { ShardError } from '../../../src/base/errors.ts';
import { parseDemand, parseSupply } from '../../../src/base/quantity.ts';
import { ApiClient } from '../../../src/cli/inspect/api-client.ts';
import { readControlEntry } from '../../../src/config/controls.ts';
import { readTenant } from '../../../src/config/tenants.ts';
import { parseBytes, parseDurationMs } from '../../../src/config/units.ts';
import { Instructions } from '../../../src/coordination/instructions.ts';
import { readReply } from '../../../src/coordination/reply.ts';
import { Query } from '../../../src/dashboard/api/query.ts';
import { readActive, readEpoch } from '../../../src/directory/election/records.ts';
import { FirstListing } from '../../../src/listing/compare/first-listing.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { machineAt } from '../../../src/listing/decode/rows.ts';
import {
  readControls as readControlsRecord,
  readCoordinator,
  readRegistration,
  readReplica,
  readShardOf,
  readTerm,
} from '../../../src/replica/records.ts';
import { readFrame } from '../../../src/session/frame.ts';
import { BLOB_BYTES_MAX, FIRST_FRAME_BYTES_MAX, HELLO_BYTES_MAX } from '../../../src/session/limits.ts';
import { RollupQueue, type RollupResult } from '../../../src/session/rollup-queue.ts';
import { readControls } from '../../../src/shard/controls/control.ts';
import { createTables } from '../../../src/shard/tables.ts';
import { decodeCursor } from '../../../src/shard/view/need-key.ts';
import { decode, encode } from '../../../src/wire/codec.ts';
import { receiveMessagesInPlace } from '../../../src/wire/messages-in-place.ts';
import type { CapacityNeedInit, MachineInit } from '../../../src/wire/protocol.generated.ts';
import { field, lying, repeated, text } from './protobuf.ts';

export interface Decoder {
  readonly name: string;
  /** The functions and methods that it is about, as `file: name`. */
  readonly covers: readonly string[];
  /** The result counts as memory of the decoder. */
  readonly decode: (bytes: Uint8Array) => unknown;
  /** Whether an error is one that the decoder names. */
  readonly isNamed: (error: unknown) => boolean;
  readonly valid: readonly Uint8Array[];
  /** By what is special about them: inputs of at most so many bytes. */
  readonly costly: Readonly<Record<string, (bytesMax: number) => Uint8Array>>;
  /** Longer inputs never reach it. Default: any length. */
  readonly bytesMax?: number;
}

const isShardError = (error: unknown): boolean => error instanceof ShardError;
/** What the codec throws for bytes that are not a message. The caller turns it into its own error. */
const isWireError = (error: unknown): boolean =>
  error instanceof RangeError || isPlainError(error) || isNotUtf8(error);
const isNotUtf8 = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | null)?.code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
const isPlainError = (error: unknown): boolean => error instanceof Error && error.constructor === Error;
const never = (): boolean => false;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
/** A text of the shortest length that makes it different from the others. */
const name = (index: number): Uint8Array => text(index.toString(36));
const lie = (number: number) => () => lying(number);
const repeatedText = (part: string) => (bytesMax: number) => text(part.repeat(bytesMax / part.length));

const MACHINE: MachineInit = {
  id: 'm-1',
  state: 3,
  host: { provider: 'rack', ref: 'h-1' },
  instanceType: 'small',
  zone: 'z1',
  capacityType: 1,
  pricePerHour: 1.5,
  resources: { resources: { cpu: '4', memory: '16Gi' } },
  labels: { 'kubernetes.io/hostname': 'h-1', rack: 'r1' },
};
const MACHINE_BYTES = encode('Machine', MACHINE);
/** Speculative: valid without a host. */
const SPECULATIVE = [0x10, 0x01];
const tiny = (index: number) => [...field(1, name(index)), ...SPECULATIVE];

/** Machines, each with one more field that makes its shape and strings different from all others. */
const machines = (more: (index: number) => readonly number[]) => (bytesMax: number) =>
  repeated(bytesMax, (index) => field(1, [...tiny(index), ...more(index)]));
/** One machine after another, each with as many entries as it may have. */
const entries = (number: number, entry: (index: number) => readonly number[]) => (bytesMax: number) => {
  let next = 0;
  return repeated(bytesMax, (index) =>
    field(1, [...tiny(index), ...Array.from({ length: 1_000 }, () => field(number, entry(next++))).flat()]),
  );
};

const LISTINGS: Decoder['costly'] = {
  'tiny machines': machines(() => []),
  'a type each': machines((index) => field(4, name(index))),
  'a label each': machines((index) => field(10, field(2, name(index)))),
  'an amount each': machines((index) =>
    field(9, field(1, [...field(1, name(index)), ...field(2, text('1'))])),
  ),
  'labels without a key': entries(10, (index) => field(2, name(index))),
  'labels without a value': entries(10, (index) => field(1, name(index))),
  'resources without an amount': entries(9, (index) => field(1, field(1, name(index)))),
  'empty machines': (bytesMax) => repeated(bytesMax, () => field(1, [])),
  'one id': (bytesMax) => repeated(bytesMax, () => field(1, tiny(1))),
  'malformed machines': (bytesMax) =>
    repeated(bytesMax, (index) => field(1, [...field(1, name(index)), 0x0a])),
  'deleted ids': (bytesMax) => repeated(bytesMax, () => field(3, [])),
  'open groups': (bytesMax) => repeated(bytesMax, () => [0x0b]),
  'a length that lies': lie(1),
};

const MACHINES: Decoder['costly'] = {
  'many labels': (bytesMax) => repeated(bytesMax, (index) => field(10, field(1, name(index)))),
  'many resources': (bytesMax) => repeated(bytesMax, (index) => field(9, field(1, field(1, name(index))))),
  'much metadata': (bytesMax) => repeated(bytesMax, (index) => field(15, field(1, name(index)))),
  'a length that lies': lie(1),
};

const NEED: CapacityNeedInit = {
  requirements: [{ key: 'rack', operator: 5 }],
  aggregateResources: { cpu: '16', memory: '64Gi' },
  minUnit: { cpu: '4' },
  priority: 1_000,
  group: 'training',
};
/** A requirement on a key, and an amount of cpu, which every row needs. */
const requirement = (key: Uint8Array) => field(1, [...field(1, key), 0x10, 0x03]);
const CPU = field(2, [...field(1, text('cpu')), ...field(2, text('1'))]);
const rows = (row: (index: number) => readonly number[]) => (bytesMax: number) =>
  repeated(bytesMax, (index) => field(3, row(index)));

/** A roll-up as the session reads it: scanned, decoded row by row, and accepted into tables of its own. */
async function readRollup(bytes: Uint8Array): Promise<unknown> {
  const { needs } = createTables({ machinesMax: 64, hasRollupGuard: false, entriesMin: 64 });
  const queue = new RollupQueue({
    acceptRollup: (clusterId, digests, decodeRow) =>
      needs.acceptInSteps(clusterId, digests, decodeRow, 1_000, 0),
    rejectRollup: () => {},
  });
  const result = await new Promise<RollupResult>((resolve) => queue.offer('east', queue, bytes, resolve));
  return [needs, result];
}

/** One stream's bytes as they arrive, in pieces. */
function receive(bytes: Uint8Array): unknown {
  receiveMessagesInPlace();
  const decoder = new StreamDecoder(32 * 2 ** 20);
  const whole: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    whole.push(
      ...decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(16_384, bytes.length - at))),
    );
  }
  return [decoder, whole];
}

function framed(content: Uint8Array, announced = content.length): Uint8Array {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(announced, 1);
  return Buffer.concat([header, content]);
}

const client = new ApiClient('http://127.0.0.1:1', true);

export const DECODERS: readonly Decoder[] = [
  {
    name: 'a gRPC stream',
    covers: ['src/wire/messages-in-place.ts: writeInPlace'],
    decode: receive,
    isNamed: isPlainError,
    valid: [framed(text('hello')), framed(new Uint8Array(100_000))],
    costly: {
      'a length that lies': () => framed(text('only these'), 31 * 2 ** 20),
      'a large length that lies': (bytesMax) => framed(new Uint8Array(bytesMax / 2), 31 * 2 ** 20),
      'a large message': (bytesMax) => framed(new Uint8Array(bytesMax - 5)),
    },
  },
  {
    name: 'a frame of an operator',
    covers: ['src/session/frame.ts: readFrame'],
    decode: readFrame,
    isNamed: isShardError,
    valid: [
      encode('OperatorMessage', { hello: { clusterId: 'east' } }),
      Buffer.from(field(2, MACHINE_BYTES)),
    ],
    costly: {
      'many parts': (bytesMax) => repeated(bytesMax, () => field(2, [])),
      'few large parts': (bytesMax) => repeated(bytesMax, () => field(2, new Uint8Array(bytesMax / 4))),
      'open groups': (bytesMax) => repeated(bytesMax, () => [0x2b]),
      'a length that lies': lie(2),
    },
  },
  {
    name: 'Hello',
    covers: ['src/wire/codec.ts: decode'],
    decode: (bytes) => decode('Hello', bytes),
    isNamed: isWireError,
    valid: [encode('Hello', { clusterId: 'east' })],
    costly: {
      'many ids': (bytesMax) => repeated(bytesMax, () => field(1, name(1))),
      'a length that lies': lie(1),
    },
    bytesMax: HELLO_BYTES_MAX,
  },
  {
    name: 'a bootstrap answer',
    covers: ['src/wire/codec.ts: decode'],
    decode: (bytes) => decode('BootstrapBlobResponse', bytes),
    isNamed: isWireError,
    valid: [encode('BootstrapBlobResponse', { requestId: 'b-1', userData: text('join'), ttlSeconds: 60 })],
    costly: {
      'many blobs': (bytesMax) => repeated(bytesMax, () => field(2, text('x'))),
      'many ids': (bytesMax) => repeated(bytesMax, () => field(1, text('x'))),
      'a length that lies': lie(2),
    },
    bytesMax: 2 * BLOB_BYTES_MAX,
  },
  {
    name: 'a request for needs',
    covers: ['src/wire/codec.ts: decode'],
    decode: (bytes) => decode('InspectNeedsRequest', bytes),
    isNamed: isWireError,
    valid: [encode('InspectNeedsRequest', { clusterId: 'east', limit: 5 })],
    costly: {
      'many ids': (bytesMax) => repeated(bytesMax, () => field(1, text('x'))),
      'a length that lies': lie(1),
    },
    bytesMax: FIRST_FRAME_BYTES_MAX,
  },
  {
    name: 'a roll-up',
    covers: ['src/session/rollup-scan.ts: read', 'src/session/row-decoder.ts: decode'],
    decode: readRollup,
    isNamed: never,
    valid: [encode('ClusterCapacityNeeds', { clusterId: 'east', needs: [NEED, { ...NEED, group: '' }] })],
    costly: {
      'empty rows': rows(() => []),
      'tiny rows': rows(() => CPU),
      'a group each': rows((index) => [...CPU, ...field(9, name(index))]),
      'a profile each': rows((index) => [...CPU, ...requirement(name(index))]),
      'requirements without a key': rows(() => [...CPU, ...Array(500).fill([0x0a, 0x00]).flat()]),
      'many values': rows(() => field(1, Array(1_000).fill([0x1a, 0x00]).flat())),
      'a resource each': rows((index) => field(2, [...field(1, name(index)), ...field(2, text('1'))])),
      'many spreads': rows(() => [...CPU, ...Array(500).fill([0x2a, 0x00]).flat()]),
      'a row of spreads': rows(() => [...CPU, ...Array(32_000).fill([0x2a, 0x00]).flat()]),
      'a row of requirements': rows(() => [...CPU, ...Array(32_000).fill([0x0a, 0x00]).flat()]),
      'many names of the cluster': (bytesMax) => repeated(bytesMax, () => field(1, text('x'))),
      'open groups': (bytesMax) => repeated(bytesMax, () => [0x2b]),
      'a length that lies': lie(3),
    },
  },
  {
    name: 'a listing',
    covers: ['src/listing/decode/decoder.ts: decodeList', 'src/listing/decode/machine-reader.ts: read'],
    decode: (bytes) => new MachineDecoder().decodeList(bytes),
    isNamed: isShardError,
    valid: [encode('MachineList', { machines: [MACHINE, { ...MACHINE, id: 'm-2' }], revision: text('r') })],
    costly: LISTINGS,
  },
  {
    name: 'a listing in parts',
    covers: ['src/listing/decode/decoder.ts: readList'],
    // A part is handed over to the main thread and applied before the one after the next is decoded.
    decode: (bytes) => {
      const decoder = new MachineDecoder();
      const listing = new FirstListing(bytes, decoder, Math.max(1, bytes.length >> 3));
      let part = null;
      while (listing.hasMore) part = listing.next();
      return [listing, part];
    },
    isNamed: isShardError,
    valid: [encode('MachineList', { machines: [MACHINE, { ...MACHINE, id: 'm-2' }], revision: text('r') })],
    costly: LISTINGS,
  },
  {
    name: 'a machine',
    covers: ['src/listing/decode/decoder.ts: decodeMachine'],
    decode: (bytes) => {
      const batch = new MachineDecoder().decodeMachine(bytes, 'm-1');
      return batch.rowCount === 0 ? batch : [batch, machineAt(batch, 0)];
    },
    isNamed: isShardError,
    valid: [MACHINE_BYTES],
    costly: MACHINES,
  },
  {
    name: 'an ack',
    covers: [
      'src/listing/decode/decoder.ts: decodeAck',
      'src/listing/decode/assignment.ts: parseInt32',
      'src/listing/decode/assignment.ts: parsePenalty',
    ],
    decode: (bytes) => {
      const decoder = new MachineDecoder();
      return [decoder.decodeAck(bytes, 'm-1'), decoder];
    },
    isNamed: isShardError,
    valid: [encode('TransitionAck', { operationId: 'op-1', machine: MACHINE })],
    costly: {
      'many ids': (bytesMax) => repeated(bytesMax, (index) => field(1, name(index))),
      'many machines': (bytesMax) => repeated(bytesMax, (index) => field(2, tiny(index))),
      'many labels': (bytesMax) => repeated(bytesMax, (index) => field(2, field(10, field(1, name(index))))),
      'a length that lies': lie(2),
    },
  },
  {
    name: "a coordinator's reply",
    covers: ['src/coordination/reply.ts: readReply'],
    decode: (bytes) => {
      const reply = readReply(bytes);
      const instructions = new Instructions();
      for (const instruction of reply.instructions) instructions.receive(instruction, 1_000);
      return [reply, instructions];
    },
    isNamed: (error) => isShardError(error) || isWireError(error),
    valid: [
      encode('ReportAck', {
        coordinatorTerm: 3,
        acknowledged: true,
        instructions: [
          {
            instructionId: 'i-1',
            coordinatorTerm: 3,
            assignDomain: { topologyKey: 'rack', topologyValue: 'r1' },
          },
        ],
      }),
    ],
    costly: {
      'empty instructions': (bytesMax) => repeated(bytesMax, () => field(3, [])),
      'tiny instructions': (bytesMax) => repeated(bytesMax, (index) => field(3, field(1, name(index)))),
      'a length that lies': lie(3),
    },
  },
  {
    name: 'a page of needs',
    covers: ['src/shard/view/need-key.ts: decodeCursor'],
    decode: (bytes) => decodeCursor(textOf(bytes)),
    isNamed: isShardError,
    valid: [Buffer.from(Buffer.from('[1,2,0,"east","p=1",""]').toString('base64url'))],
    costly: {
      'empty lists': (bytesMax) =>
        text(Buffer.from(`[${'[],'.repeat(bytesMax / 5)}1]`).toString('base64url')),
      'nested lists': (bytesMax) => text(Buffer.from('['.repeat(bytesMax / 2)).toString('base64url')),
    },
    // A request's head.
    bytesMax: 16 * 1024,
  },
  {
    name: 'a query',
    covers: ['src/dashboard/api/query.ts: Query'],
    decode: (bytes) => {
      const query = new Query(new URL(`/?${encodeURI(textOf(bytes))}`, 'http://localhost').searchParams);
      query.limit(50);
      query.state('state');
      query.flag('unmet');
      query.capacityType('capacityType');
      query.end();
      return query;
    },
    isNamed: isShardError,
    valid: [text('limit=5&state=Idle&unmet=true'), text('capacityType=spot')],
    costly: { 'many parameters': repeatedText('a&'), 'long values': repeatedText('%25') },
    bytesMax: 16 * 1024,
  },
  {
    name: 'a quantity',
    covers: ['src/base/quantity.ts: parseDemand', 'src/base/quantity.ts: parseSupply'],
    decode: (bytes) => [parseDemand('cpu', textOf(bytes)), parseSupply('memory', textOf(bytes))],
    isNamed: isShardError,
    valid: [text('768Gi'), text('1.5'), text('2.5e-7')],
    costly: { digits: repeatedText('9'), fractions: (bytesMax) => text(`0.${'0'.repeat(bytesMax - 2)}`) },
  },
  {
    name: 'a record of a replica',
    covers: [
      'src/replica/records.ts: readControls',
      'src/replica/records.ts: readReplica',
      'src/replica/records.ts: readShardOf',
      'src/replica/records.ts: readCoordinator',
      'src/replica/records.ts: readTerm',
      'src/replica/records.ts: readRegistration',
    ],
    decode: (bytes) => [
      readControlsRecord(textOf(bytes)),
      readReplica(textOf(bytes)),
      readShardOf(textOf(bytes)),
      readCoordinator(textOf(bytes)),
      readTerm(textOf(bytes)),
      readRegistration(textOf(bytes)),
    ],
    isNamed: isShardError,
    valid: [
      text('{"version":1,"isPaused":false,"isDryRun":true}'),
      text('{"version":1,"shard":"s-1","address":"127.0.0.1:1"}'),
      text('{"version":1,"shard":"s","replica":"r","instance":"i","addresses":["a:1"],"term":7}'),
    ],
    costly: {
      'empty lists': (bytesMax) => text(`[${'[],'.repeat(bytesMax / 3 - 2)}[]]`),
      'nested lists': repeatedText('['),
    },
  },
  {
    name: 'a record of an election',
    covers: ['src/directory/election/records.ts: readActive', 'src/directory/election/records.ts: readEpoch'],
    decode: (bytes) => [readActive(textOf(bytes)), readEpoch('epoch', textOf(bytes))],
    isNamed: isShardError,
    valid: [
      text('{"version":1,"replica":"a","instance":"i-1","epoch":7,"ttlMs":6000,"addresses":["127.0.0.1:1"]}'),
    ],
    costly: {
      'empty lists': (bytesMax) => text(`[${'[],'.repeat(bytesMax / 3 - 2)}[]]`),
      'nested lists': repeatedText('['),
    },
  },
  {
    name: 'stored controls',
    covers: ['src/shard/controls/control.ts: readControls'],
    decode: (bytes) => readControls(textOf(bytes)),
    isNamed: isShardError,
    valid: [
      text(
        '{"version":1,"controls":[{"id":"c1","pauses":["bind"],"scope":{"cluster":"","provider":"","zone":"a","instanceType":"","capacityType":""},' +
          '"who":"ann","why":"x","via":"socket","sinceMs":1,"untilMs":2}]}',
      ),
    ],
    costly: {
      'empty lists': (bytesMax) => text(`[${'[],'.repeat(bytesMax / 3 - 2)}[]]`),
      'nested lists': repeatedText('['),
    },
  },
  {
    name: 'a declared control',
    covers: ['src/config/controls.ts: readControlEntry'],
    decode: (bytes) => readControlEntry(textOf(bytes)),
    isNamed: isShardError,
    valid: [text('reclaim preempt; cluster=a; why=x; until=2026-12-01T06:00:00Z')],
    costly: { 'many parts': repeatedText(';'), 'many words': repeatedText('a ') },
  },
  {
    name: 'a setting',
    covers: [
      'src/config/tenants.ts: readTenant',
      'src/config/units.ts: parseDurationMs',
      'src/config/units.ts: parseBytes',
    ],
    decode: (bytes) => [parseDurationMs(textOf(bytes)), parseBytes(textOf(bytes)), readTenant(textOf(bytes))],
    isNamed: isShardError,
    valid: [text('team-a-*; max-priority=1000; max-resources.cpu=500')],
    costly: { 'many parts': repeatedText(';'), 'many limits': repeatedText('a;') },
  },
  {
    name: 'an answer of the API, read by a command',
    covers: ['src/cli/inspect/api-client.ts: read'],
    decode: (bytes) => client.read(textOf(bytes)),
    isNamed: never,
    valid: [text('{"items":[{"id":"m-1","labels":{"rack":"r1"}}],"next":"abc"}')],
    costly: {
      'empty objects': (bytesMax) => text(`[${'{},'.repeat(bytesMax / 3 - 2)}{}]`),
      'empty lists': (bytesMax) => text(`[${'[],'.repeat(bytesMax / 3 - 2)}[]]`),
      names: (bytesMax) => {
        const parts = Array.from({ length: bytesMax / 12 }, (_, index) => `"${index.toString(36)}":1`);
        return text(`{${parts.join(',')}}`);
      },
      'nested lists': repeatedText('['),
    },
  },
];
