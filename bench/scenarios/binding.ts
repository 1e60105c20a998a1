/**
 * Question: how long is it from a need to a node, and does the shard's main thread stay free meanwhile? `flotilla provider`,
 * `shard` and `operators` run as processes over gRPC on loopback: 2,000 clusters of 388 needs, each with a session and a
 * roll-up every ten seconds in which 1 % of the rows differ. Operations finish 100 ms after their ack; follow-up reads find
 * out (X13). The operators measure from the roll-up that asks to the Configured node. Listings are incremental: full ones,
 * 450 MB every ten seconds, are more than two cores can do beside the rest. The scenario runs for four minutes, because a
 * queue that grows shows only after the first. After five or six minutes the cheapest zone is full (needs that any zone
 * serves go there), and the figure would be the wait for machines.
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
