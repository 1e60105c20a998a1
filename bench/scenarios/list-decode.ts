/**
 * Question: what does a full listing cost to decode, as columns and as the messages that protobufjs
 * makes? Seed 1. The fleet is the catalogue's, with a host name per machine; map entries are shuffled as Go
 * servers do. protobufjs compiles a decoder per message from the descriptor, and runs without its check for UTF-8,
 * which is its fastest mode. It only decodes, while the columns are validated and interned too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import protobuf from 'protobufjs/light.js';
import { formatQuantity } from '../../src/base/quantity.ts';
import { Random } from '../../src/base/random.ts';
import { ASSIGNMENT_KEY_NAMES, AssignmentKey } from '../../src/listing/decode/assignment.ts';
import { MachineDecoder } from '../../src/listing/decode/decoder.ts';
import { idAt, machineAt } from '../../src/listing/decode/rows.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import {
  MachineListEncoder,
  MachineRow,
  type MachineRowSource,
} from '../../src/simulation/provider/encode/encoder.ts';
import {
  encodeLabels,
  encodeShape,
  NO_BYTES,
  shardMetadataView,
} from '../../src/simulation/provider/encode/parts.ts';
import { reflectedType } from '../../src/wire/codec.ts';
import type { MachineList } from '../../src/wire/protocol.generated.ts';
import type { BenchContext, Scenario } from '../harness.ts';

export const scenario: Scenario = {
  name: 'list-decode',
  question: 'What does a full listing cost to decode: columns against protobufjs messages?',
  defaults: { machines: 500_000, seconds: 20 },
  targets: [
    { name: 'columns decode faster', ratio: 'speed', limit: 5, direction: 'above' },
    { name: 'columns need less memory', ratio: 'memory', limit: 10, direction: 'above' },
  ],
  async run(context) {
    const { machines } = context.params;
    const fleet = new SteadyFleet(machines);
    const bytes = await encodedListing(context, fleet);
    context.sample('listing', 'MB', bytes.length / 1e6);

    const decoder = new MachineDecoder();
    const columnsBytes = await grownBytes(context, () => decoder.decodeList(bytes));
    context.sample('columns memory', 'MB', columnsBytes / 1e6);
    await context.time('columns', 'ms', () => decoder.decodeList(bytes), { samples: 10 });
    const { batch } = decoder;
    context.sample('shapes', 'shapes', batch.shapes.count);
    context.check(batch.rowCount === machines, 'every machine is a row');
    context.check(batch.rejectedIds.count === 0, 'no record is refused');

    const listType = reflectedType('MachineList');
    let list: MachineList | null = null;
    const decode = () => {
      list = null; // the last listing becomes garbage, as it would in a shard
      list = listType.decode(new UncheckedReader(bytes)) as unknown as MachineList;
    };
    context.sample('protobufjs memory', 'MB', (await grownBytes(context, decode)) / 1e6);
    await context.time('protobufjs', 'ms', decode, { samples: 3, warmups: 0 });
    compareSome(context, decoder, list, fleet);

    context.ratio('speed', 'protobufjs', 'columns');
    context.ratio('memory', 'protobufjs memory', 'columns memory');
  },
};

class UncheckedReader extends protobuf.BufferReader {
  override stringVerify(): string {
    return this.string();
  }
}

/** Compares a few rows of the same listing from both decoders. */
function compareSome(
  context: BenchContext,
  { batch }: MachineDecoder,
  list: MachineList | null,
  fleet: SteadyFleet,
): void {
  context.check(list !== null && list.machines.length === batch.rowCount, 'both have every machine');
  const random = new Random(2);
  for (let sample = 0; sample < 1000; sample++) {
    const row = random.below(batch.rowCount);
    const message = list!.machines[row]!;
    context.check(message.id === idAt(batch, row), `row ${row} is the same machine for both`);
    const { labels, ...decoded } = machineAt(batch, row);
    const { labels: given, ...expected } = fleet.machineAt(row);
    context.check(Object.keys(labels).length === Object.keys(given).length + 1, `row ${row} has its labels`);
    context.check(isEqual(decoded, expected), `row ${row} has the facts of the fleet`);
  }
}

function isEqual(left: object, right: object): boolean {
  const entries = (value: object) => JSON.stringify(Object.entries(value).sort());
  const flat = ({ capacity, assignment, host, ...rest }: Partial<Machine>) =>
    [capacity, assignment ?? {}, host ?? {}, { ...rest, assignment: null }].map((part) =>
      entries(part ?? {}),
    );
  return String(flat(left)) === String(flat(right));
}

async function encodedListing(context: BenchContext, fleet: SteadyFleet): Promise<Buffer> {
  context.progress('encoding the fleet as a provider would');
  const source = new FleetSource(fleet);
  const encoder = new MachineListEncoder();
  let bytes: Buffer = Buffer.alloc(0);
  const encode = () => {
    bytes = encoder.encodeList(source);
  };
  await context.time('encode', 'ms', encode, { samples: 5 });
  // A copy of the exact size: the encoder leaves room at the end.
  return Buffer.from(bytes);
}

/** The fleet as a provider keeps it: strings per machine, shared parts encoded, in a few shuffled orders each. */
class FleetSource implements MachineRowSource {
  static readonly ORDERS = 8;
  readonly rowCount: number;
  readonly #random = new Random(1);
  readonly #shapes = new Map<object, Uint8Array[]>();
  readonly #metadata = new Map<object, Uint8Array>();
  readonly #rows: MachineRow[];

  constructor(fleet: SteadyFleet) {
    this.rowCount = fleet.machineCount;
    this.#rows = Array.from({ length: this.rowCount }, (_, index) =>
      this.#rowOf(fleet.machineAt(index), index),
    );
  }

  read(index: number, row: MachineRow): void {
    const kept = this.#rows[index]!;
    row.id = kept.id;
    row.state = kept.state;
    row.pricePerHourUsd = kept.pricePerHourUsd;
    row.interruptionProbability = kept.interruptionProbability;
    row.hostProvider = kept.hostProvider;
    row.hostRef = kept.hostRef;
    row.cluster = kept.cluster;
    row.shape = kept.shape;
    row.ownLabels = kept.ownLabels;
    row.shardMetadata = kept.shardMetadata;
  }

  #rowOf(machine: Machine, index: number): MachineRow {
    const row = new MachineRow();
    row.id = machine.id;
    row.state = machine.state;
    row.pricePerHourUsd = machine.pricePerHourUsd;
    row.interruptionProbability = machine.interruptionProbability;
    row.hostProvider = machine.host?.provider ?? '';
    row.hostRef = machine.host?.ref ?? '';
    row.cluster = machine.cluster;
    row.shape = this.#shapeOf(machine);
    row.ownLabels = encodeLabels({ 'kubernetes.io/hostname': `node-${index}.fleet.example` });
    row.shardMetadata = this.#metadataOf(machine);
    return row;
  }

  #shapeOf(machine: Machine): Uint8Array {
    let orders = this.#shapes.get(machine.labels);
    if (orders === undefined) {
      const { instanceType, zone, capacityType, labels, capacity } = machine;
      const resources = Object.fromEntries(
        Object.entries(capacity).map(([name, units]) => [name, formatQuantity(name, units)]),
      );
      orders = Array.from({ length: FleetSource.ORDERS }, () =>
        encodeShape({
          instanceType,
          zone,
          capacityType,
          labels: this.#shuffled(labels),
          resources: this.#shuffled(resources),
          allocatable: null,
        }),
      );
      this.#shapes.set(machine.labels, orders);
    }
    return this.#random.pick(orders);
  }

  #metadataOf({ assignment }: Machine): Uint8Array {
    if (assignment === null) return NO_BYTES;
    let metadata = this.#metadata.get(assignment);
    if (metadata === undefined) {
      metadata = new Uint8Array(
        shardMetadataView(
          this.#shuffled({
            [ASSIGNMENT_KEY_NAMES[AssignmentKey.Priority]]: String(assignment.priority),
            [ASSIGNMENT_KEY_NAMES[AssignmentKey.InterruptionPenalty]]: dollars(
              assignment.interruptionPenalty,
            ),
            [ASSIGNMENT_KEY_NAMES[AssignmentKey.ReclamationPenalty]]: dollars(assignment.reclamationPenalty),
            [ASSIGNMENT_KEY_NAMES[AssignmentKey.Fingerprint]]: assignment.fingerprint,
            [ASSIGNMENT_KEY_NAMES[AssignmentKey.Group]]: assignment.group,
          }),
        ),
      );
      this.#metadata.set(assignment, metadata);
    }
    return metadata;
  }

  #shuffled(map: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(this.#random.shuffle(Object.entries(map)));
  }
}

function dollars(bucket: number): string {
  const value = BUCKET_DOLLARS[bucket]!;
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value);
}

/** Bytes of heap and array buffers that remain in use after the call. */
async function grownBytes(context: BenchContext, fn: () => void): Promise<number> {
  const before = await heldBytes(context);
  fn();
  return (await heldBytes(context)) - before;
}

async function heldBytes(context: BenchContext): Promise<number> {
  // The runtime frees buffers some turns after it collects their objects.
  for (let turn = 0; turn < 3; turn++) {
    context.gc();
    await sleep(50);
  }
  // Not `external`: it leaves shared buffers out, and those are the columns.
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
