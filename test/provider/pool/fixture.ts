/** Shared by the pool's tests: real threads (from the build), everything closed when a test ends. */
import { existsSync } from 'node:fs';
import type { Inventory } from '../../../src/inventory/inventory.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { ProviderPool, type ProviderPoolOptions } from '../../../src/provider/pool/pool.ts';
import { workerFiles } from '../../../src/provider/pool/setup.ts';
import type { ProviderAnswer, ProviderObservation } from '../../../src/shard/ports/providers.ts';
import type { ProviderCalls } from '../../../src/simulation/provider/server.ts';
import { inventory } from '../../inventory/machines.ts';
import { closeAfterwards } from '../client/fixture.ts';

/** Long enough for a busy machine; no test waits for it. */
export const LATER_MS = 60_000;

/** Threads that fail as a call's machine id tells them to (odd-worker.mjs). */
export const ODD_FILES = {
  ...workerFiles(),
  calls: new URL('./odd-worker.mjs', import.meta.url),
  list: new URL('./odd-list-worker.mjs', import.meta.url),
};

export interface TestPool {
  readonly pool: ProviderPool;
  readonly inventory: Inventory;
  /** The calls of `onWorkerLost`. */
  readonly lost: string[];
}

export function startPool(
  addresses: readonly string[],
  options: Partial<ProviderPoolOptions> & { readonly known?: Inventory } = {},
): TestPool {
  if (!existsSync(workerFiles().calls)) throw new Error('npm run build comes before the tests');
  const known = options.known ?? inventory({ machinesMax: 4_096 });
  const lost: string[] = [];
  const pool = new ProviderPool({
    endpoints: addresses.map((address, index) => ({ name: `p${index}`, address })),
    fencing: FencingTokens.create('shard-1', 1).shared,
    inventory: known.share(),
    threads: 1,
    onWorkerLost: ({ thread, detail }) => lost.push(`${thread}: ${detail}`),
    ...options,
  });
  closeAfterwards({ close: () => pool.close({ graceMs: 0 }) });
  return { pool, inventory: known, lost };
}

export function later(ms = LATER_MS): { readonly provider: 0; readonly deadlineUnixMs: number } {
  return { provider: 0, deadlineUnixMs: Date.now() + ms };
}

export function accepted(answer: ProviderAnswer): ProviderObservation {
  if (answer.kind !== 'accepted') throw new Error(`${answer.kind}: ${answer.detail}`);
  return answer;
}

/** A provider that never answers calls for machines whose id begins with `slow`. */
export function withSilence(provider: ProviderCalls): ProviderCalls {
  const silent = { kind: 'silent' } as const;
  const isSlow = (machineId: string) => machineId.startsWith('slow');
  return {
    create: (call) => (isSlow(call.machineId) ? silent : provider.create(call)),
    configure: (call) => (isSlow(call.machineId) ? silent : provider.configure(call)),
    drain: (call) => (isSlow(call.machineId) ? silent : provider.drain(call)),
    delete: (call) => (isSlow(call.machineId) ? silent : provider.delete(call)),
    get: (call) => (isSlow(call.id) ? silent : provider.get(call)),
    list: (call) => provider.list(call),
  };
}

/** Whether a promise has settled by now. */
export async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}
