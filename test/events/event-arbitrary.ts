/** Random events over a few names, so that searches find some of them. */
import fc from 'fast-check';
import { blockOf } from '../../src/events/block.ts';
import { EventEncoder } from '../../src/events/record.ts';
import { EVENT_KINDS, type FleetEvent, NO_EVENT } from '../../src/machine/event.ts';

export const EPOCH = 7;
const names = (letter: string) =>
  fc.constantFrom('', `${letter}-1`, `${letter}-2`, `${letter}-ü3`, `${letter}-4`);

export const anyEvent: fc.Arbitrary<FleetEvent> = fc.record({
  kind: fc.constantFrom(...EVENT_KINDS.filter((kind) => kind !== 'none')),
  atMs: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
  epoch: fc.constant(EPOCH),
  cycle: fc.nat(4_294_967_295),
  machineId: names('m'),
  clusterId: names('c'),
  fingerprint: names('f'),
  group: names('g'),
  forClusterId: names('c'),
  priority: fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
  provider: names('p'),
  offering: names('o'),
  from: fc.nat(8),
  to: fc.nat(8),
  detail: fc.string({ maxLength: 40, unit: 'grapheme' }),
});

export const eventAt = (atMs: number, changes: Partial<FleetEvent> = {}): FleetEvent => ({
  ...NO_EVENT,
  kind: 'bound',
  epoch: EPOCH,
  atMs,
  ...changes,
});

export function blockWith(events: readonly FleetEvent[], lost = 0, epoch = EPOCH): Buffer {
  const encoder = new EventEncoder();
  for (const event of events) encoder.add(event);
  return blockOf(encoder.take(lost), epoch);
}
