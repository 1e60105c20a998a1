/** Waits until a world is at rest: everybody is connected, all demand was read, and some time passed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../harness.ts';
import { parseExposition } from './samples.ts';

const SETTLE_MS_MAX = 240_000;
const SCRAPE_EVERY_MS = 2_000;
const SCRAPE_TIMEOUT_MS = 15_000;
/** After everybody was heard: what waited is worked off, code is compiled, tables and heaps have their size. */
const SETTLED_MS = 40_000;

/** Until every cluster has a session, the demand of all has been read, and some time has passed. */
export async function settle(context: BenchContext, http: string, clusters: number): Promise<void> {
  const endMs = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const metrics = await scrape(http).catch(() => new Map<string, number>());
    const sessions = metrics.get('bigfleet_shard_active_sessions') ?? 0;
    const heard = metrics.get('flotilla_rollups_total{result="changed"}') ?? 0;
    if (sessions >= clusters && heard >= clusters) break;
    context.check(
      performance.now() < endMs,
      `everybody is heard in time (${sessions} sessions, ${heard} of ${clusters} roll-ups)`,
    );
    await sleep(SCRAPE_EVERY_MS);
  }
  context.progress('everybody was heard; waiting for rest');
  await sleep(SETTLED_MS);
}

export async function scrape(http: string): Promise<Map<string, number>> {
  const answer = await fetch(`${http}metrics`, { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MS) });
  return parseExposition(await answer.text());
}
