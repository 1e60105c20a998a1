/** Waits until the programs of a soak have settled. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../harness.ts';
import { parseExposition } from './samples.ts';

const SETTLE_MS_MAX = 240_000;
const SCRAPE_EVERY_MS = 2_000;
const SCRAPE_TIMEOUT_MS = 15_000;
/** After the last roll-up: queues drain, code is compiled, tables and heaps grow to their size. */
const SETTLED_MS = 40_000;

/** Resolves SETTLED_MS after every cluster has a session and the shard has read its roll-up. */
export async function settle(context: BenchContext, http: string, clusters: number): Promise<void> {
  const endMs = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const metrics = await scrape(http).catch(() => new Map<string, number>());
    const sessions = metrics.get('bigfleet_shard_active_sessions') ?? 0;
    const rollups = metrics.get('flotilla_rollups_total{result="changed"}') ?? 0;
    if (sessions >= clusters && rollups >= clusters) break;
    context.check(
      performance.now() < endMs,
      `every cluster reports in time (${sessions} sessions, ${rollups} of ${clusters} roll-ups)`,
    );
    await sleep(SCRAPE_EVERY_MS);
  }
  context.progress(`all clusters have reported; waiting ${SETTLED_MS / 1_000} s`);
  await sleep(SETTLED_MS);
}

export async function scrape(http: string): Promise<Map<string, number>> {
  const answer = await fetch(`${http}metrics`, { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
  return parseExposition(await answer.text());
}
