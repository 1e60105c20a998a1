/** A first listing in parts has the same rows as the whole, and always frees its answer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ComparedListing, ListingComparison } from '../../../src/listing/compare/comparison.ts';
import { FirstListing } from '../../../src/listing/compare/first-listing.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { MalformedAnswerError } from '../../../src/listing/decode/errors.ts';
import type { Machine } from '../../../src/machine/machine.ts';
import { encode } from '../../../src/wire/codec.ts';
import type { MachineInit } from '../../../src/wire/protocol.generated.ts';
import { inState, inventory } from '../../inventory/machines.ts';
import { S } from '../../simulation/provider/fixture.ts';
import { machinesOf, OWN_LABEL, onWire } from './listing-fixture.ts';

const decoder = () => new MachineDecoder({ ownLabelKeys: [OWN_LABEL] });

function wholeOf(bytes: Uint8Array): ComparedListing {
  const comparison = new ListingComparison(inventory().share(), ['p0']);
  return comparison.compare(decoder().decodeList(bytes), { provider: 0, isFull: true });
}

/** A machine with few possible ids and facts, or one that is rejected. */
const record: fc.Arbitrary<MachineInit> = fc
  .record({
    id: fc.nat(15).map((number) => `m-${number}`),
    state: fc.constantFrom(S.Idle, S.Configured, S.Failed),
    rack: fc.constantFrom('r1', 'r2', 'r3'),
    cluster: fc.constantFrom('east', 'west'),
    hostname: fc.constantFrom('h1', 'h2'),
    price: fc.constantFrom(1, 2, 3, -1, Number.NaN),
  })
  .map(({ id, state, rack, cluster, hostname, price }) => {
    const labels = { rack, [OWN_LABEL]: hostname };
    const bound = state === S.Configured ? { cluster } : {};
    return { ...onWire(inState(state, { id, labels, ...bound })), pricePerHour: price };
  });

/** Large enough to be given back. */
function largeAnswer(...tail: number[]): Uint8Array {
  const lastError = 'x'.repeat(10_000);
  const machines = Array.from({ length: 200 }, (_, index) =>
    onWire(inState(S.Failed, { id: `m-${index}`, lastError })),
  );
  const bytes = encode('MachineList', { machines });
  const large = new Uint8Array(bytes.length + tail.length);
  large.set(bytes);
  large.set(tail, bytes.length);
  return large;
}

describe('a first listing in parts', () => {
  it('V1, S1: has the same rows and counts as the whole listing, even if an id is in two parts', () => {
    const seen = { parts: 0, repeated: 0, rejected: 0 };
    const answers = fc.tuple(
      fc.array(record, { maxLength: 40, size: 'max' }),
      fc.integer({ min: 1, max: 1_000 }),
    );
    fc.assert(
      fc.property(answers, ([machines, partBytes]) => {
        const bytes = encode('MachineList', { machines, revision: Buffer.from('r-7') });
        const whole = wholeOf(bytes);
        const listing = new FirstListing(bytes, decoder(), partBytes);
        const said = new Map<string, Machine>();
        let last = listing.next();
        for (let part = last; ; part = listing.next()) {
          const rows = machinesOf(part.rows);
          const newCount = rows.length - part.repeatedCount;
          for (const [index, machine] of rows.entries()) {
            expect(said.has(machine.id), machine.id).toBe(index >= newCount);
            said.set(machine.id, machine);
          }
          seen.parts++;
          seen.repeated += part.repeatedCount;
          last = part;
          if (!listing.hasMore) break;
        }
        expect([...said.values()]).toEqual(machinesOf(whole.rows));
        const { rows: _rows, repeatedCount: _repeated, ...totals } = last;
        expect(whole).toMatchObject(totals);
        seen.rejected += totals.rejected.price;
      }),
      { numRuns: 300 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(300);
  });

  it('keeps hundreds of shapes and clusters of its parts apart', () => {
    const machines = Array.from({ length: 600 }, (_, index) =>
      inState(S.Configured, {
        id: `m-${index}`,
        labels: { rack: `r-${index % 250}` },
        cluster: `c-${index % 90}`,
      }),
    );
    const listing = new FirstListing(
      encode('MachineList', { machines: machines.map(onWire) }),
      decoder(),
      9_000,
    );
    const said: Machine[] = [];
    while (listing.hasMore) said.push(...machinesOf(listing.next().rows));
    expect(said).toEqual(machines);
  });

  it('frees its answer with the last part, and not before', () => {
    const bytes = largeAnswer();
    const { buffer } = bytes;
    const listing = new FirstListing(bytes, decoder(), 500_000);
    let partCount = 0;
    for (; listing.hasMore; partCount++) {
      expect(buffer.byteLength).toBeGreaterThan(2_000_000);
      listing.next();
    }
    expect(partCount).toBeGreaterThan(2);
    expect(buffer.byteLength).toBe(0);
  });

  it('frees its answer when the rest is dropped', () => {
    const bytes = largeAnswer();
    const { buffer } = bytes;
    const listing = new FirstListing(bytes, decoder(), 500_000);
    listing.next();
    listing.end();
    expect(listing.hasMore).toBe(false);
    expect(buffer.byteLength).toBe(0);
  });

  it('S7: frees its answer when a later part is malformed, and reports the offset', () => {
    const bytes = largeAnswer(0x0a, 0xff);
    const { buffer, length } = bytes;
    const listing = new FirstListing(bytes, decoder(), 500_000);
    expect(listing.next().rows.count).toBeGreaterThan(10);
    const readAll = () => {
      while (listing.hasMore) listing.next();
    };
    expect(readAll).toThrow(MalformedAnswerError);
    expect(listing.hasMore).toBe(false);
    expect(buffer.byteLength).toBe(0);
    expect(length).toBeGreaterThan(2_000_000);
  });
});
