/**
 * Question: how many provider calls a second do 1, 2 and 4 threads make, and what does a call cost the main thread? A
 * provider in its own process executes every call at once; 256 calls are in flight, each a Create or a Delete of another
 * machine, over real gRPC on loopback. Provider and threads share the cores, so the machine limits the figure, not the
 * pool: more threads than cores gain nothing.
 *
 * `execute-replica` asks whether `--directory` slows calls down: one thread, with and without the confirmation that a replica's threads
 * check beside the token (F2). Every second call is a Delete, which needs it. CPU time is compared, since calls a second also show who else
 * uses the machine. Besides, the check alone.
 */
import { systemUptime } from '../../src/base/clock.ts';
import { Confirmation } from '../../src/base/confirmation.ts';
import { Pulse } from '../../src/base/pulse.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import { ProviderPool } from '../../src/provider/pool/pool.ts';
import type { CallKind } from '../../src/shard/ports/providers.ts';
import { createTables } from '../../src/shard/tables.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';
import { ProviderProcess } from '../providers/process.ts';

const THREADS = [1, 2, 4] as const;
const IN_FLIGHT = 256;
const ROUNDS = 3;
const CALL_TIMEOUT_MS = 60_000;

/** As long as the scenario, so that no call is held. */
const CONFIRMED_MS = 3_600_000;
const REPLICA_ROUNDS = 7;

const threads: Scenario = {
  name: 'execute',
  question:
    'How many provider calls a second do 1, 2 and 4 threads make, and what do they cost the main thread?',
  defaults: { machines: 4_000, seconds: 20 },
  targets: [
    { name: 'calls a second, one thread', metric: '1 thread', limit: 1_000, direction: 'above' },
    { name: 'main thread, a call', metric: '1 thread: main thread', limit: 100, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    const provider = await ProviderProcess.start({
      machineCount: machines,
      configuredShare: 0,
      idleShare: 0,
    });
    const ids = await idsOf(provider.address, machines);
    context.check(ids.length === machines, 'the provider has as many offers');
    // Interleaved, so that a busy moment of the machine affects all variants.
    try {
      for (let round = 0; round < ROUNDS; round++) {
        for (const threads of THREADS) {
          context.progress(`round ${round + 1} of ${ROUNDS}: ${threads} threads`);
          await measure(context, provider.address, ids, threads);
        }
      }
    } finally {
      await provider.close();
    }
  },
};

const replica: Scenario = {
  name: 'execute-replica',
  question: 'Is a provider call as fast with --directory as without?',
  defaults: { machines: 4_000, seconds: 20 },
  targets: [
    {
      name: 'CPU time of a call, with ÷ without',
      ratio: 'with ÷ without --directory',
      limit: 1.1,
      direction: 'below',
    },
  ],
  async run(context) {
    const { machines } = context.params;
    const provider = await ProviderProcess.start({
      machineCount: machines,
      configuredShare: 0,
      idleShare: 0,
    });
    const ids = await idsOf(provider.address, machines);
    context.check(ids.length === machines, 'the provider has as many offers');
    try {
      for (let round = 0; round < REPLICA_ROUNDS; round++) {
        context.progress(`round ${round + 1} of ${REPLICA_ROUNDS}`);
        // In turns, and each first as often, so that a busy moment of the machine affects both.
        const inTurn = [false, true];
        for (const isReplica of round % 2 === 0 ? inTurn : inTurn.reverse())
          await measure(
            context,
            provider.address,
            ids,
            1,
            isReplica ? 'with --directory' : 'without --directory',
          );
      }
    } finally {
      await provider.close();
    }
    context.ratio(
      'with ÷ without --directory',
      'with --directory: all threads',
      'without --directory: all threads',
    );
    for (const [name, tokens] of [
      ['check and token, without', FencingTokens.create('bench', 1, Pulse.create(CONFIRMED_MS))],
      ['check and token, with', replicaTokens()],
    ] as const) {
      let held = 0;
      await context.loop(
        name,
        'ns',
        () => {
          for (let call = 0; call < 1_000; call++) {
            if (tokens.whyHeld(true, 0) !== '') held++;
            tokens.take();
          }
        },
        { operations: 1_000 },
      );
      context.check(held === 0, 'no call is held');
    }
  },
};

export const scenarios: readonly Scenario[] = [threads, replica];

async function measure(
  context: BenchContext,
  address: string,
  ids: readonly string[],
  threads: number,
  name = `${threads} thread${threads === 1 ? '' : 's'}`,
): Promise<void> {
  const pool = openPool(address, threads, name === 'with --directory');
  try {
    await callAll(pool, 'create', ids.slice(0, IN_FLIGHT)); // threads start, connections open, code compiles
    await callAll(pool, 'delete', ids.slice(0, IN_FLIGHT));
    const mainBeforeMs = mainThreadCpuMs();
    const cpuBefore = process.cpuUsage();
    const startedMs = performance.now();
    const created = await callAll(pool, 'create', ids);
    const deleted = await callAll(pool, 'delete', ids);
    const wallMs = performance.now() - startedMs;
    const mainMs = mainThreadCpuMs() - mainBeforeMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    const callCount = 2 * ids.length;
    context.check(created + deleted === callCount, `every call is executed (${created + deleted})`);
    context.sample(name, 'calls/s', (1_000 * callCount) / wallMs);
    context.sample(`${name}: main thread`, 'µs', (1_000 * mainMs) / callCount);
    context.sample(`${name}: all threads`, 'µs', (user + system) / callCount);
  } finally {
    await pool.close({ graceMs: 1_000 });
  }
}

/** Keeps IN_FLIGHT calls in flight until all are done; returns how many were accepted. */
async function callAll(pool: ProviderPool, kind: CallKind, ids: readonly string[]): Promise<number> {
  let next = 0;
  let acceptedCount = 0;
  const work = async () => {
    while (next < ids.length) {
      const machineId = ids[next++]!;
      const deadlineUnixMs = Date.now() + CALL_TIMEOUT_MS;
      const { kind: outcome } = await pool.call({ kind, provider: 0, machineId, deadlineUnixMs });
      if (outcome === 'accepted') acceptedCount++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  return acceptedCount;
}

function openPool(address: string, threads: number, isReplica = false): ProviderPool {
  const { inventory } = createTables({ machinesMax: 65_536, hasRollupGuard: true });
  return new ProviderPool({
    endpoints: [{ name: 'bench', address }],
    // A provider fences per epoch: each pool is a shard that was started later.
    fencing: (isReplica
      ? replicaTokens()
      : FencingTokens.create('bench', nextEpoch(), Pulse.create(CONFIRMED_MS))
    ).shared,
    inventory: inventory.share(),
    threads,
    executeConcurrency: IN_FLIGHT,
    listingPartBytes: 2 ** 30, // all ids in one answer, however many are asked for
  });
}

function replicaTokens(): FencingTokens {
  const confirmation = Confirmation.create();
  confirmation.extend({ uptimeMs: systemUptime() + CONFIRMED_MS, wallMs: Date.now() + CONFIRMED_MS });
  const tokens = FencingTokens.createStandby('bench', confirmation, Pulse.create(CONFIRMED_MS));
  tokens.setEpoch(nextEpoch());
  return tokens;
}

let epoch = 0;
function nextEpoch(): number {
  return ++epoch;
}

async function idsOf(address: string, machines: number): Promise<string[]> {
  const pool = openPool(address, 1);
  try {
    const deadlineUnixMs = Date.now() + CALL_TIMEOUT_MS;
    const listing = await pool.list({ provider: 0, sinceRevision: new Uint8Array(0), deadlineUnixMs });
    if (listing.kind !== 'listed') return [];
    const { bytes, idStart, idEnd } = listing.rows;
    return Array.from({ length: Math.min(machines, listing.rows.count) }, (_, row) =>
      Buffer.from(bytes.subarray(idStart[row], idEnd[row])).toString('utf8'),
    );
  } finally {
    await pool.close({ graceMs: 0 });
  }
}
