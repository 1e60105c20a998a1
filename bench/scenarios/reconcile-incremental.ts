/**
 * Question: what does a listing from a cursor cost when 1,000 machines of the fleet changed, and when none did? The setup is
 * that of reconcile-full; the first, full listing is not counted.
 */
import type { Scenario } from '../harness.ts';
import { ProviderProcess } from '../providers/process.ts';
import { Reconciling, sampleListing } from '../providers/reconciling.ts';

const CHANGED_COUNT = 1_000;
const ROUNDS_MAX = 60;
const ROUNDS_MIN = 6;

export const scenario: Scenario = {
  name: 'reconcile-incremental',
  question: 'What does a listing after a cursor cost when 1,000 machines changed?',
  defaults: { machines: 500_000, seconds: 20 },
  isAsShipped: true,
  targets: [
    { name: '1,000 changed, all in all', metric: '1,000 changed: wall', limit: 250, direction: 'below' },
    {
      name: '1,000 changed, main thread',
      metric: '1,000 changed: main thread',
      limit: 5,
      direction: 'below',
    },
    { name: 'nothing changed, main thread', metric: 'unchanged: main thread', limit: 5, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    const provider = await ProviderProcess.startBound(context);
    const reconciling = new Reconciling(provider.address, true);
    try {
      context.progress('the first listing');
      context.check((await reconciling.list('delay')).newCount === machines, 'every machine is new');
      const changedCount = Math.min(CHANGED_COUNT, machines);
      const endMs = performance.now() + context.params.seconds * 1_000;
      for (let round = 0; round < ROUNDS_MAX; round++) {
        if (round >= ROUNDS_MIN && performance.now() > endMs) break;
        const watch = round % 2 === 0 ? 'main thread' : 'delay';
        const unchanged = await reconciling.list(watch);
        sampleListing(context, 'unchanged', unchanged);
        context.check(!unchanged.isFull && unchanged.listedCount === 0, 'nothing is listed');
        await provider.reprice(changedCount);
        const changed = await reconciling.list(watch);
        sampleListing(context, '1,000 changed', changed);
        context.check(
          changed.changedCount === changedCount,
          `every changed machine is found (${changed.changedCount})`,
        );
      }
    } finally {
      await reconciling.close();
      await provider.close();
    }
  },
};
