import { describe, expect, it } from 'vitest';
import { AssignmentKey } from '../../../src/listing/decode/assignment.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { assignmentAt, machineAt } from '../../../src/listing/decode/rows.ts';
import { BUCKET_DOLLARS, PenaltyBucket } from '../../../src/machine/penalty.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { encode } from '../../../src/wire/codec.ts';
import { bytes, number } from './raw-wire.ts';

const P = 'bigfleet.lucy.sh/assigned-';
const WHOLE = {
  [`${P}priority`]: '1000000',
  [`${P}interruption-penalty-dollars`]: '64',
  [`${P}reclamation-penalty-dollars`]: '+Inf',
  [`${P}need-fingerprint`]: 'p=1000000|ipb=9|rpb=27|reqs=|spr=',
  [`${P}group`]: 'gang-1',
};

function decodeAssignment(shardMetadata: Record<string, string>) {
  const machine = {
    id: 'm-1',
    state: MachineState.Configured,
    host: { ref: 'h' },
    cluster: 'c-1',
    shardMetadata,
  };
  return new MachineDecoder().decodeMachine(encode('Machine', machine), 'm-1');
}

describe('X10: the assignment is read from shard_metadata', () => {
  it('X10: reads all five keys', () => {
    const batch = decodeAssignment(WHOLE);
    expect(machineAt(batch, 0).assignment).toEqual({
      priority: 1_000_000,
      interruptionPenalty: 9,
      reclamationPenalty: PenaltyBucket.Pinned,
      fingerprint: 'p=1000000|ipb=9|rpb=27|reqs=|spr=',
      group: 'gang-1',
    });
    expect(batch.assignmentKeys[0]).toBe(31);
  });

  it('X10: an empty group counts as written', () => {
    const batch = decodeAssignment({ [`${P}group`]: '' });
    expect(batch.assignmentKeys[0]).toBe(AssignmentKey.Group);
    expect(machineAt(batch, 0).assignment).not.toBeNull();
  });

  it('X10: unknown keys are ignored, and without a known one there is no assignment', () => {
    const batch = decodeAssignment({ [`${P}grouq`]: 'x', other: 'y', [`${P}priority2`]: '5' });
    expect(batch.assignmentKeys[0]).toBe(0);
    expect(machineAt(batch, 0).assignment).toBeNull();
  });

  for (const [text, bucket] of [
    ['0', PenaltyBucket.Zero],
    ['0.5', PenaltyBucket.HalfDollar],
    ['.5', PenaltyBucket.HalfDollar],
    ['0.50000000000000000000001', PenaltyBucket.HalfDollar],
    ['0.51', PenaltyBucket.OneDollar],
    ['1', PenaltyBucket.OneDollar],
    ['1.', PenaltyBucket.OneDollar],
    ['1.0000000000000002', PenaltyBucket.OneDollar + 1],
    ['+2', PenaltyBucket.OneDollar + 1],
    ['8.388608e+06', PenaltyBucket.Largest],
    ['8388608', PenaltyBucket.Largest],
    ['8.388608E6', PenaltyBucket.Largest],
    ['8388608.01', PenaltyBucket.Pinned],
    ['1e300', PenaltyBucket.Pinned],
    ['+Inf', PenaltyBucket.Pinned],
    ['Inf', PenaltyBucket.Pinned],
    ['infinity', PenaltyBucket.Pinned],
  ] as const) {
    it(`X10: $${text} is bucket ${bucket}`, () => {
      const { interruptionPenalty } = assignmentAt(
        decodeAssignment({ ...WHOLE, [`${P}interruption-penalty-dollars`]: text }),
        0,
      );
      expect(interruptionPenalty).toBe(bucket);
    });
  }

  it('X10: the shortest form of every bucket reads as that bucket', () => {
    for (let bucket: number = PenaltyBucket.Zero; bucket < PenaltyBucket.Pinned; bucket++) {
      for (const text of [String(BUCKET_DOLLARS[bucket]), BUCKET_DOLLARS[bucket]!.toExponential()]) {
        const batch = decodeAssignment({ [`${P}reclamation-penalty-dollars`]: text });
        expect(batch.reclamationPenalty[0]).toBe(bucket);
      }
    }
  });

  for (const [key, text] of [
    ['priority', ''],
    ['priority', '1.5'],
    ['priority', 'high'],
    ['priority', '2147483648'],
    ['priority', '-2147483649'],
    ['priority', '99999999999999999999'],
    ['priority', ' 5'],
    ['priority', '+'],
    ['interruption-penalty-dollars', ''],
    ['interruption-penalty-dollars', '-1'],
    ['interruption-penalty-dollars', '-Inf'],
    ['interruption-penalty-dollars', 'NaN'],
    ['interruption-penalty-dollars', '1e'],
    ['interruption-penalty-dollars', '0x10'],
    ['interruption-penalty-dollars', '1.2.3'],
    ['interruption-penalty-dollars', '.'],
    ['interruption-penalty-dollars', `1${'0'.repeat(70)}`],
  ] as const) {
    it(`X10: ${key} of ${JSON.stringify(text.slice(0, 20))} is malformed and skips that key alone`, () => {
      const whole = assignmentAt(decodeAssignment(WHOLE), 0);
      const batch = decodeAssignment({ ...WHOLE, [`${P}${key}`]: text });
      const spoilt = key === 'priority' ? { priority: 0 } : { interruptionPenalty: 0 };
      expect(assignmentAt(batch, 0)).toEqual({ ...whole, ...spoilt });
      expect(batch.assignmentKeys[0]).toBe(
        key === 'priority' ? 31 - AssignmentKey.Priority : 31 - AssignmentKey.InterruptionPenalty,
      );
    });
  }

  for (const [text, priority] of [
    ['-7', -7],
    ['+12', 12],
    ['0000000000012', 12],
    ['-0', 0],
    ['2147483647', 2147483647],
    ['-2147483648', -2147483648],
  ] as const) {
    it(`X10: priority ${text} is ${priority}`, () => {
      expect(assignmentAt(decodeAssignment({ [`${P}priority`]: text }), 0).priority).toBe(priority);
    });
  }

  it('X10: a fingerprint that is not UTF-8 skips that key alone', () => {
    const bad = Buffer.from([0xc3, 0x28, 0xff]);
    const machine = Buffer.concat([
      bytes(1, 'm-1'),
      number(2, MachineState.Configured),
      bytes(3, bytes(2, 'h')),
      bytes(14, 'c-1'),
      bytes(15, Buffer.concat([bytes(1, `${P}need-fingerprint`), bytes(2, bad)])),
      bytes(15, Buffer.concat([bytes(1, `${P}group`), bytes(2, 'g')])),
    ]);
    const batch = new MachineDecoder().decodeMachine(machine, 'm-1');
    expect(batch.rowCount).toBe(1);
    expect(assignmentAt(batch, 0)).toMatchObject({ fingerprint: '', group: 'g' });
    expect(batch.assignmentKeys[0]).toBe(AssignmentKey.Group);
  });

  it('X10: the last value of a repeated key counts, even if it is malformed', () => {
    const entry = (value: string) => bytes(15, Buffer.concat([bytes(1, `${P}priority`), bytes(2, value)]));
    const sound = [bytes(1, 'm-1'), number(2, 5), bytes(3, bytes(2, 'h')), bytes(14, 'c-1')];
    const decode = (...values: string[]) =>
      new MachineDecoder().decodeMachine(Buffer.concat([...sound, ...values.map(entry)]), 'm-1');
    expect(decode('1', '2').priority[0]).toBe(2);
    expect(decode('1', 'x').assignmentKeys[0]).toBe(0);
    expect(decode('1', 'x').priority[0]).toBe(0);
  });
});
