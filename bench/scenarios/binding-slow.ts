/**
 * Question: how many machines become nodes in a second when the provider is slow? As `binding`, but 7 % of the machines are not
 * bound yet, and each call takes 3 s on average and 7 s at the 99th percentile: with 256 in flight, at most 85 a second.
 */
import type { Scenario } from '../harness.ts';
import { watchBindings } from '../soak/watch.ts';

export const scenario: Scenario = {
  name: 'binding-slow',
  question: 'How many machines become nodes in a second, with 2,000 sessions and calls that take 3 s?',
  defaults: { machines: 500_000, seconds: 60, isWatched: true },
  targets: [{ name: 'nodes a second', metric: 'binds', limit: 80, direction: 'above' }],
  run: (context) =>
    watchBindings(context, '0', {
      provider: ['--configured', '90%', '--idle', '10%', '--answer-after', '3s/7s'],
    }),
};
