/**
 * The operators of the sessions benchmark: a program of its own with one connection per cluster, so that the shard's process
 * pays for its own side only. It receives commands over IPC and answers when one is done. Frames are counted, not decoded.
 */
import { ChannelCredentials, Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { encode } from '../../src/wire/codec.ts';
import type { CapacityNeedInit } from '../../src/wire/protocol.generated.ts';
import { rawShardService } from '../../src/wire/services.ts';

export interface Command {
  /** open: connect, send Hello and wait for `updates`; rollup: send one per cluster; updates: wait for `updates` more. */
  readonly kind: 'open' | 'close' | 'rollup' | 'updates';
  readonly updates?: number;
}

export interface Done {
  readonly ms: number;
  readonly sentBytes: number;
}

type Stream = ClientDuplexStream<Uint8Array, Buffer>;

const ACK = 0x0a;
const NODE_UPDATE = 0x22;

const [address, machines] = [process.argv[2]!, Number(process.argv[3])];
const fleet = new SteadyFleet(machines);
const rollups: { clusterId: string; frame: Buffer }[] = [];
for (const { clusterId, rows } of fleet.rollups()) {
  const needs = rows.map(needOf);
  rollups.push({ clusterId, frame: encode('OperatorMessage', { rollup: { clusterId, needs } }) });
}
let streams: { client: Client; stream: Stream }[] = [];
let acks = 0;
let updates = 0;
let wake = () => {};

process.on('message', (command: Command) => {
  void carryOut(command).then((done) => process.send!(done));
});
process.on('disconnect', () => process.exit(0));
process.send!({ ms: 0, sentBytes: 0 } satisfies Done);

async function carryOut({ kind, updates: expected = 0 }: Command): Promise<Done> {
  const startedMs = performance.now();
  const [acksBefore, updatesBefore] = [acks, updates];
  let sentBytes = 0;
  if (kind === 'open') {
    streams = rollups.map(({ clusterId }) => open(clusterId));
    await until(() => acks >= acksBefore + rollups.length && updates >= updatesBefore + expected);
  } else if (kind === 'rollup') {
    for (const [index, { stream }] of streams.entries()) {
      stream.write(rollups[index]!.frame);
      sentBytes += rollups[index]!.frame.length;
    }
    await until(() => acks >= acksBefore + rollups.length);
  } else if (kind === 'updates') {
    await until(() => updates >= expected);
    updates = 0;
  } else {
    for (const { client, stream } of streams) {
      stream.cancel();
      client.close();
    }
    updates = 0;
  }
  if (kind === 'open') updates = 0;
  return { ms: performance.now() - startedMs, sentBytes };
}

function open(clusterId: string): { client: Client; stream: Stream } {
  const client = new Client(address, ChannelCredentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1, // a connection of its own
    'grpc.enable_channelz': 0,
  });
  const { path, requestSerialize } = rawShardService.Session;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, (bytes) => bytes, new Metadata());
  stream.on('data', (frame: Buffer) => {
    if (frame[0] === ACK) acks++;
    else if (frame[0] === NODE_UPDATE) updates++;
    wake();
  });
  stream.on('error', () => {});
  stream.write(encode('OperatorMessage', { hello: { clusterId } }));
  return { client, stream };
}

function until(isDone: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    wake = () => {
      if (!isDone()) return;
      wake = () => {};
      resolve();
    };
    wake();
  });
}

function needOf(row: RollupRow): CapacityNeedInit {
  return {
    requirements: row.requirements,
    aggregateResources: row.aggregate,
    minUnit: row.minUnit,
    priority: row.priority,
    spread: row.spread,
    interruptionPenaltyBucket: row.interruptionBucket,
    reclamationPenaltyBucket: row.reclamationBucket,
    group: row.group,
  };
}
