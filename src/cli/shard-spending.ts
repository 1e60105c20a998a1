/** The history of what a shard's fleet costs, as a part of its process. */
import { join } from 'node:path';
import type { ShardReader } from '../shard/ports/reader.ts';
import { SpendingSampler } from '../spending/sampler.ts';
import { SpendingStore } from '../spending/store.ts';
import type { Closer, ProcessParts } from './shard-parts.ts';

/** E5: samples what the fleet costs once a minute. A sample that cannot be written is logged, and the next is tried. */
export async function openSpending(
  { config, log, clock, interruptions }: ProcessParts,
  view: () => ShardReader,
  closers: Closer[],
): Promise<SpendingStore | null> {
  if (!config.spendingHistory) return null;
  const folder = join(config.dataDir, 'spending');
  const store = await SpendingStore.open({ folder, teams: config.teams }, clock.nowMs());
  const sampler = new SpendingSampler({
    store,
    read: () => view().spending(),
    interruptions,
    onProblem: (detail) => log.error('spending_not_kept', { detail }),
  });
  closers.push(() => sampler.close());
  return store;
}
