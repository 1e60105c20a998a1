import fc from 'fast-check';
import { Builder } from 'flatbuffers';
import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../src/machine/machine.ts';
import { CALL_KINDS, CallEncoder, cutOut, decodeCalls } from '../../../src/provider/pool/call-batch.ts';
import { decodeResults, ResultEncoder } from '../../../src/provider/pool/result-batch.ts';
import type { ProviderAnswer, ProviderFailureKind } from '../../../src/shard/ports/providers.ts';

/** Any text that UTF-8 can carry. */
const text = () => fc.string({ unit: 'grapheme', maxLength: 12 });
const texts = () => fc.dictionary(fc.oneof(text(), fc.constant('__proto__')), text(), { maxKeys: 5 });
const plain = <Value>(record: Record<string, Value>) => Object.fromEntries(Object.entries(record));

const calls = () =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...CALL_KINDS),
      call: fc.nat(2 ** 32 - 1),
      provider: fc.nat(255),
      machineId: text(),
      deadlineUnixMs: fc.integer({ min: 0, max: 2 ** 50 }),
      stretch: fc.nat(),
      graceSeconds: fc.nat(),
      clusterId: text(),
      bootstrapBlob: fc.uint8Array({ maxLength: 64 }),
      shardMetadata: texts().map(plain),
    }),
    { maxLength: 20 },
  );

const machines = (): fc.Arbitrary<Machine> =>
  fc.record({
    id: text(),
    state: fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8),
    host: fc.option(fc.record({ provider: text(), ref: text() })),
    instanceType: text(),
    zone: text(),
    capacityType: fc.constantFrom(0, 1, 2, 3, 4),
    pricePerHourUsd: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((price) => price + 0),
    interruptionProbability: fc.double({ min: 0, max: 1, noNaN: true }).map((chance) => chance + 0),
    capacity: fc.dictionary(text(), fc.nat()).map(plain),
    labels: texts().map(plain),
    cluster: text(),
    assignment: fc.option(
      fc.record({
        fingerprint: text(),
        group: text(),
        priority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        interruptionPenalty: fc.nat(27),
        reclamationPenalty: fc.nat(27),
      }),
    ),
    lastError: text(),
  });

const FAILURES: ProviderFailureKind[] = [
  'not_found',
  'unsupported',
  'fenced',
  'timeout',
  'unavailable',
  'worker_lost',
  'invalid',
  'malformed',
  'other',
];

const answers = (): fc.Arbitrary<ProviderAnswer> =>
  fc.oneof(
    machines().map((machine) => ({ kind: 'accepted', machine }) as const),
    fc.record({ kind: fc.constantFrom(...FAILURES), detail: text() }),
    fc.record({
      kind: fc.constant('malformed' as const),
      detail: text(),
      reason: fc.constantFrom('price' as const, 'interruption_probability' as const, 'structural' as const),
    }),
  );

describe('messages between threads', () => {
  it('carry calls unchanged, whatever they contain', () => {
    const encoder = new CallEncoder();
    fc.assert(
      fc.property(calls(), (batch) => {
        expect(decodeCalls(encoder.encode(batch))).toEqual(batch);
      }),
    );
  });

  it('carry results unchanged, whatever they contain', () => {
    const encoder = new ResultEncoder();
    const results = fc.array(fc.record({ call: fc.nat(2 ** 32 - 1), answer: answers() }), { maxLength: 20 });
    fc.assert(
      fc.property(results, (batch) => {
        expect(decodeResults(encoder.encode(batch))).toEqual(batch);
      }),
    );
  });

  it('X5: leave nothing of a bootstrap blob with the sender', () => {
    const builder = new Builder(64);
    builder.finish(builder.createByteVector(Buffer.from('do-not-tell-anyone')));
    expect(Buffer.from(cutOut(builder)).includes('do-not-tell-anyone')).toBe(true);
    const left = builder.dataBuffer().bytes();
    expect(left.length).toBeGreaterThanOrEqual(64);
    expect(left.every((byte) => byte === 0)).toBe(true);
  });
});
