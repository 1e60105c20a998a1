/**
 * The operators of the sessions benchmark: a program of its own with one connection per cluster, so that the shard's process
 * pays for its own side only. It receives commands over IPC and answers when one is done. Frames are counted, not decoded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { ACK, NODE_UPDATE, type OperatorStream, openStream, rollupFrame } from './stream.ts';

export interface Command {
  /** open: connect, send Hello and wait for `updates`; rollup: send one per cluster; updates: wait for `updates` more. */
  readonly kind: 'open' | 'close' | 'rollup' | 'updates';
  readonly updates?: number;
  /** Of roll-ups: spread over this time; absent: at once. */
  readonly overMs?: number;
}

export interface Done {
  readonly ms: number;
  readonly sentBytes: number;
}

const [address, machines] = [process.argv[2]!, Number(process.argv[3])];
const fleet = new SteadyFleet(machines);
const rollups: { clusterId: string; frame: Buffer }[] = [];
for (const { clusterId, rows } of fleet.rollups()) {
  rollups.push({ clusterId, frame: rollupFrame(clusterId, rows) });
}
let streams: OperatorStream[] = [];
let acks = 0;
let updates = 0;
let wake = () => {};

process.on('message', (command: Command) => {
  void carryOut(command).then((done) => process.send!(done));
});
process.on('disconnect', () => process.exit(0));
process.send!({ ms: 0, sentBytes: 0 } satisfies Done);

async function carryOut({ kind, updates: expected = 0, overMs = 0 }: Command): Promise<Done> {
  const startedMs = performance.now();
  const [acksBefore, updatesBefore] = [acks, updates];
  let sentBytes = 0;
  if (kind === 'open') {
    streams = rollups.map(({ clusterId }) => open(clusterId));
    await until(() => acks >= acksBefore + rollups.length && updates >= updatesBefore + expected);
  } else if (kind === 'rollup') {
    for (const [index, { stream }] of streams.entries()) {
      const aheadMs = (overMs * index) / streams.length - (performance.now() - startedMs);
      if (aheadMs > 0) await sleep(aheadMs);
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

function open(clusterId: string): OperatorStream {
  return openStream(address, clusterId, (kind) => {
    if (kind === ACK) acks++;
    else if (kind === NODE_UPDATE) updates++;
    wake();
  });
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
