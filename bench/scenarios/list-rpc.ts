/**
 * Question: does the main thread stay free while a worker lists the whole fleet over gRPC? A provider in a
 * process of its own answers a unary List on loopback; a worker thread receives and decodes it; the main
 * thread does nothing but measure how late its own timers are. Seed 1, 97 % of the machines bound.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { MachineDecoder } from '../../src/listing/decode/decoder.ts';
import { ProviderClient } from '../../src/provider/client/client.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { ProviderProcess } from '../providers/process.ts';

/** The worker's report of one listing. */
interface ListedAnswer {
  readonly error: string;
  readonly rowCount: number;
  readonly rejectedCount: number;
  readonly bytes: number;
  readonly transferMs: number;
  readonly decodeMs: number;
}

const ROLE = 'list-rpc worker';
const LISTINGS_MAX = 10;
/** Long enough to measure the delay of an idle loop on this machine. */
const QUIET_MS = 2_000;
const NS_PER_MS = 1e6;

export const scenario: Scenario = {
  name: 'list-rpc',
  question: 'Does the main thread stay free while a worker lists the fleet over gRPC?',
  defaults: { machines: 500_000, seconds: 30 },
  targets: [{ name: 'main loop delay while listing', metric: 'delay p99', limit: 20, direction: 'below' }],
  async run(context) {
    const provider = await ProviderProcess.startBound(context);
    const { address } = provider;
    const worker = new Worker(new URL(import.meta.url), { workerData: { role: ROLE, address } });
    try {
      await measureListings(context, worker);
    } finally {
      await worker.terminate();
      await provider.close();
    }
  },
};

async function measureListings(context: BenchContext, worker: Worker): Promise<void> {
  await list(worker); // not counted: columns grow and code is compiled, which a running shard has behind it
  const quiet = monitorEventLoopDelay({ resolution: 1 });
  quiet.enable();
  await sleep(QUIET_MS);
  quiet.disable();
  context.sample('quiet delay p99', 'ms', quiet.percentile(99) / NS_PER_MS);

  const delay = monitorEventLoopDelay({ resolution: 1 });
  const endMs = performance.now() + context.params.seconds * 1_000;
  for (let listing = 0; listing < LISTINGS_MAX && (listing < 3 || performance.now() < endMs); listing++) {
    context.progress(`listing ${listing + 1} of at most ${LISTINGS_MAX}`);
    const startedMs = performance.now();
    delay.enable();
    const result = await list(worker);
    delay.disable();
    context.sample('list', 'ms', performance.now() - startedMs);
    context.sample('transfer', 'ms', result.transferMs);
    context.sample('decode', 'ms', result.decodeMs);
    context.sample('answer', 'MB', result.bytes / 1e6);
    context.check(result.error === '', `the listing succeeds: ${result.error}`);
    context.check(result.rowCount === context.params.machines, 'every machine is a row');
    context.check(result.rejectedCount === 0, 'no record is refused');
  }
  context.check(delay.count > 100, 'the main loop delay was sampled often');
  context.sample('delay p99', 'ms', delay.percentile(99) / NS_PER_MS);
  context.sample('delay max', 'ms', delay.max / NS_PER_MS);
}

function list(worker: Worker): Promise<ListedAnswer> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (listing: ListedAnswer) => {
      worker.off('error', reject);
      resolve(listing);
    });
    worker.postMessage('list');
  });
}

function runWorker(address: string): void {
  const client = new ProviderClient({ name: 'bench', address }, FencingTokens.create('bench', 1));
  const decoder = new MachineDecoder();
  parentPort!.on('message', async () => {
    const startedMs = performance.now();
    const outcome = await client.list();
    const receivedMs = performance.now();
    const batch = outcome.kind === 'answered' ? decoder.decodeList(outcome.bytes) : null;
    const listing: ListedAnswer = {
      error: outcome.kind === 'answered' ? '' : `${outcome.kind} ${outcome.detail}`,
      rowCount: batch?.rowCount ?? 0,
      rejectedCount: batch?.rejectedIds.count ?? 0,
      bytes: outcome.kind === 'answered' ? outcome.bytes.byteLength : 0,
      transferMs: receivedMs - startedMs,
      decodeMs: performance.now() - receivedMs,
    };
    parentPort!.postMessage(listing);
  });
}

if (!isMainThread && workerData?.role === ROLE) runWorker(workerData.address);
