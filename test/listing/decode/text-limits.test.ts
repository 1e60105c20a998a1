/** T3: texts of a provider record that are too long. */
import { describe, expect, it } from 'vitest';
import { ASSIGNMENT_KEY_NAMES, AssignmentKey } from '../../../src/listing/decode/assignment.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { idAt, lastErrorAt, machineAt } from '../../../src/listing/decode/rows.ts';
import {
  cutEnd,
  FINGERPRINT_BYTES_MAX,
  GROUP_BYTES_MAX,
  LAST_ERROR_BYTES_MAX,
} from '../../../src/listing/decode/text-limits.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { encode } from '../../../src/wire/codec.ts';
import type { MachineInit } from '../../../src/wire/protocol.generated.ts';
import { meaningOf } from './expected.ts';

const GOOD: MachineInit = { id: 'good', state: MachineState.Idle, host: { provider: 'p', ref: 'h' } };
const BOUND: MachineInit = { ...GOOD, state: MachineState.Configured, cluster: 'c' };

function decode(...machines: MachineInit[]) {
  return new MachineDecoder().decodeList(encode('MachineList', { machines }));
}

const long = (bytes: number) => 'x'.repeat(bytes);

describe('T3: limits on the texts of a record', () => {
  for (const [what, bytesMax, withText] of [
    ['the id', 512, (text: string) => ({ ...GOOD, id: text })],
    ['the instance type', 512, (text: string) => ({ ...GOOD, instanceType: text })],
    ['the zone', 512, (text: string) => ({ ...GOOD, zone: text })],
    ['the cluster id', 512, (text: string) => ({ ...BOUND, cluster: text })],
    ["the host's provider", 1024, (text: string) => ({ ...GOOD, host: { provider: text, ref: 'h' } })],
    ["the host's ref", 1024, (text: string) => ({ ...GOOD, host: { provider: 'p', ref: text } })],
    ['a label key', 317, (text: string) => ({ ...GOOD, labels: { [text]: 'v' } })],
    ['a label value', 1024, (text: string) => ({ ...GOOD, labels: { k: text } })],
    ['a label value', 1024, (text: string) => ({ ...GOOD, labels: { 'kubernetes.io/hostname': text } })],
    ['a resource name', 317, (text: string) => ({ ...GOOD, resources: { resources: { [text]: '4' } } })],
    ['a resource name', 317, (text: string) => ({ ...GOOD, allocatable: { resources: { [text]: '4' } } })],
  ] as const) {
    it(`T3: ${what} may have ${bytesMax} bytes, and one more rejects that record alone`, () => {
      expect(decode(withText(long(bytesMax))).rowCount).toBe(1);
      for (const length of [bytesMax + 1, 2 * bytesMax, 900_000]) {
        const batch = decode({ ...GOOD, id: 'first' }, withText(long(length)), withText(long(length)), GOOD);
        expect(meaningOf(batch).machines.map(({ id }) => id)).toEqual(['first', 'good']);
        expect(meaningOf(batch).rejectedCounts).toEqual({
          price: 0,
          interruption_probability: 0,
          structural: 2,
        });
        expect(batch.rejectionTexts[0]).toContain(
          `${what} that begins with "${long(64)}…" has ${length} bytes, and the limit is ${bytesMax}`,
        );
        expect(batch.rejectionTexts[0]!.length).toBeLessThan(500);
      }
    });
  }

  it('T3: a long text counts as structural, whatever else is wrong with the record', () => {
    const batch = decode({ ...GOOD, zone: long(600), pricePerHour: -1 });
    expect(meaningOf(batch).rejectedCounts).toEqual({ price: 0, interruption_probability: 0, structural: 1 });
  });

  for (const [what, key, bytesMax] of [
    ['group', AssignmentKey.Group, GROUP_BYTES_MAX],
    ['fingerprint', AssignmentKey.Fingerprint, FINGERPRINT_BYTES_MAX],
  ] as const) {
    it(`T3: X10: a ${what} of more than ${bytesMax} bytes is malformed: only that key is skipped`, () => {
      const stamped = (text: string): MachineInit => ({
        ...BOUND,
        shardMetadata: { [ASSIGNMENT_KEY_NAMES[key]]: text, [ASSIGNMENT_KEY_NAMES[1]]: '7' },
      });
      const whole = machineAt(decode(stamped(long(bytesMax))), 0).assignment!;
      expect([whole.group.length, whole.fingerprint.length]).toContain(bytesMax);
      const cut = machineAt(decode(stamped(long(bytesMax + 1))), 0).assignment!;
      expect(cut).toMatchObject({ group: '', fingerprint: '', priority: 7 });
    });
  }

  it('T3: cuts a long last_error between two characters, and keeps the record', () => {
    const failed: MachineInit = { id: 'm', state: MachineState.Failed, lastError: `x${'€'.repeat(400_000)}` };
    const batch = decode(failed);
    expect(idAt(batch, 0)).toBe('m');
    expect(lastErrorAt(batch, 0)).toBe(`x${'€'.repeat((LAST_ERROR_BYTES_MAX - 1) / 3)}`);
  });

  it('cuts at any limit without half a character, and bytes that are no text at the limit', () => {
    const text = Buffer.from('a€😀b');
    const cuts = Array.from({ length: 10 }, (_, max) => text.subarray(0, cutEnd(text, 0, 9, max)).toString());
    expect(cuts).toEqual(['', 'a', 'a', 'a', 'a€', 'a€', 'a€', 'a€', 'a€😀', 'a€😀b']);
    const noise = Buffer.alloc(20, 0x80);
    expect(cutEnd(noise, 0, 20, 10)).toBe(7);
  });
});
