/**
 * Question: how long is it from a need to a node, and does the shard's main thread stay free meanwhile? `flotilla provider`,
 * `shard` and `operators` as processes of their own over gRPC on loopback; 2,000 clusters of 388 needs, each with a session and
 * a roll-up every ten seconds, in which 1 % of the rows differ. Operations finish 100 ms after their ack (X13). As the
 * operators see it, from the roll-up that asked to the node that is Configured. Listings are incremental: full ones, 450 MB every
 * ten seconds, are more than two cores can do beside all this. Watched for four minutes: what piles up shows later than in the first
 * one. After five or six the cheapest zone is full (needs that any zone serves go there), and what is measured is the wait for machines.
 */
import type { Scenario } from '../harness.ts';
import { watchBindings } from '../soak/watch.ts';

export const scenario: Scenario = {
  name: 'binding',
  question: 'How long is it from a need to a node with 2,000 sessions, and does the main thread stay free?',
  defaults: { machines: 500_000, seconds: 240, isWatched: true },
  targets: [
    { name: 'loop delay', metric: 'loop delay p99', limit: 50, direction: 'below' },
    { name: 'from a need to a node', metric: 'binding p99', limit: 3_000, direction: 'below' },
  ],
  run: (context) => watchBindings(context, '1%', { provider: ['--latency', '100ms'] }),
};
