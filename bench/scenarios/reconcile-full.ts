/**
 * Question: what does a full listing of the fleet cost, and whom? A provider in its own process, real gRPC, the listing
 * thread, and the reconciler that applies the changes. At first every machine is new; then nothing changed; then one machine
 * in a hundred has another price. Seed 1, 97 % of the machines bound.
 */
import type { Scenario } from '../harness.ts';
import { ProviderProcess } from '../providers/process.ts';
import { Reconciling, sampleListing } from '../providers/reconciling.ts';

const ROUNDS_MAX = 8;
const ROUNDS_MIN = 4;
const CHANGED_SHARE = 0.01;
const KIB = 1024;

export const scenario: Scenario = {
  name: 'reconcile-full',
  question: 'What does a full listing of the fleet cost, and whom?',
  defaults: { machines: 500_000, seconds: 30 },
  isAsShipped: true,
  targets: [
    { name: 'main thread, nothing changed', metric: 'unchanged: main thread', limit: 20, direction: 'below' },
    {
      name: 'main loop delay, nothing changed',
      metric: 'unchanged: delay p99',
      limit: 20,
      direction: 'below',
    },
    { name: 'longest slice, first', metric: 'first: longest slice', limit: 20, direction: 'below' },
    {
      name: 'longest slice, 1 % changed',
      metric: '1 % changed: longest slice',
      statistic: 'p99',
      limit: 20,
      direction: 'below',
    },
    { name: 'main thread, 1 % changed', metric: '1 % changed: main thread', limit: 100, direction: 'below' },
    { name: 'memory at its peak', metric: 'RSS peak', limit: 1_300, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    const provider = await ProviderProcess.startBound(context);
    const reconciling = new Reconciling(provider.address, false);
    try {
      context.progress('the first listing');
      const first = await reconciling.list('delay');
      sampleListing(context, 'first', first);
      context.sample('answer', 'MB', first.answerBytes / 1e6);
      context.check(first.newCount === machines, `every machine is new (${first.newCount})`);
      const endMs = performance.now() + context.params.seconds * 1_000;
      for (let round = 0; round < ROUNDS_MAX; round++) {
        if (round >= ROUNDS_MIN && performance.now() > endMs) break;
        context.progress(`round ${round + 1} of at most ${ROUNDS_MAX}`);
        const watch = round % 2 === 0 ? 'main thread' : 'delay';
        const unchanged = await reconciling.list(watch);
        sampleListing(context, 'unchanged', unchanged);
        context.check(unchanged.listedCount === machines, 'every machine is listed');
        context.check(
          unchanged.newCount + unchanged.changedCount + unchanged.removedCount === 0,
          'no change is found',
        );
        const changedCount = Math.floor(machines * CHANGED_SHARE);
        await provider.reprice(changedCount);
        const changed = await reconciling.list(watch);
        sampleListing(context, '1 % changed', changed);
        context.check(
          changed.changedCount === changedCount,
          `every changed machine is found (${changed.changedCount})`,
        );
      }
      context.sample('RSS peak', 'MiB', process.resourceUsage().maxRSS / KIB);
      context.check(reconciling.inventory.count === machines, 'the inventory holds every machine');
    } finally {
      await reconciling.close();
      await provider.close();
    }
  },
};
