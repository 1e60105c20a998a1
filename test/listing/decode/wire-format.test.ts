import { describe, expect, it } from 'vitest';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import { MalformedAnswerError } from '../../../src/listing/decode/errors.ts';
import { machineAt } from '../../../src/listing/decode/rows.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { meaningOf } from './expected.ts';
import { bytes, double, entry, fixed32, group, list, number, tag, varint } from './raw-wire.ts';

const SOUND = Buffer.concat([bytes(1, 'm-1'), number(2, MachineState.Idle), bytes(3, bytes(2, 'h'))]);

function machineOf(...chunks: Buffer[]) {
  const batch = new MachineDecoder().decodeList(list(Buffer.concat([SOUND, ...chunks])));
  expect(batch.rejectionTexts).toEqual([]);
  return machineAt(batch, 0);
}

function failureOf(listing: Buffer): MalformedAnswerError {
  const decoder = new MachineDecoder();
  try {
    decoder.decodeList(listing);
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedAnswerError);
    expect(decoder.batch.rowCount).toBe(0);
    return error as MalformedAnswerError;
  }
  throw new Error('the decoder accepted it');
}

describe('fields', () => {
  it('that are unknown are skipped, with every wire type', () => {
    const plain = machineOf();
    for (const unknown of [
      number(100, 2n ** 64n - 1n),
      double(100, 1),
      bytes(100, 'x'.repeat(300)),
      fixed32(100, 7),
      group(100, number(1, 1), group(101, bytes(2, 'm-9')), fixed32(3, 1)),
      bytes(11, 'reserved'),
      number(536870911, 1),
    ]) {
      expect(machineOf(unknown)).toEqual(plain);
    }
  });

  it('that are known but have another wire type are skipped too', () => {
    expect(machineOf(number(1, 5), bytes(2, 'x'), number(9, 1), fixed32(7, 1), double(2, 3))).toEqual(
      machineOf(),
    );
  });

  it('may repeat: the last scalar counts, messages merge, the last value of a map key counts', () => {
    const machine = machineOf(
      bytes(4, 'first'),
      bytes(4, 'second'),
      bytes(9, entry(1, 'cpu', '4')),
      bytes(9, Buffer.concat([entry(1, 'cpu', '8'), entry(1, 'pods', '10')])),
      entry(10, 'a', '1'),
      entry(10, 'a', '2'),
      bytes(3, bytes(1, 'provider')),
    );
    expect(machine.instanceType).toBe('second');
    expect(machine.capacity).toEqual({ cpu: 8000, pods: 10_000 });
    expect(machine.labels).toEqual({ a: '2' });
    expect(machine.host).toEqual({ provider: 'provider', ref: 'h' });
  });

  it('with a quantity: the last one counts, whether it is valid or not', () => {
    expect(machineOf(bytes(9, entry(1, 'cpu', 'x')), bytes(9, entry(1, 'cpu', '1'))).capacity).toEqual({
      cpu: 1000,
    });
    const batch = new MachineDecoder().decodeList(
      list(Buffer.concat([SOUND, bytes(9, Buffer.concat([entry(1, 'cpu', '1'), entry(1, 'cpu', 'x')]))])),
    );
    expect(batch.rejectedIds.count).toBe(1);
  });

  it('of a map entry may be missing or in reverse order', () => {
    const machine = machineOf(
      bytes(10, bytes(1, 'only-key')),
      bytes(10, Buffer.concat([bytes(2, 'v'), bytes(1, 'k')])),
      bytes(10, bytes(2, 'only-value')),
    );
    expect(machine.labels).toEqual({ 'only-key': '', k: 'v', '': 'only-value' });
    expect(machineOf(bytes(10, '')).labels).toEqual({ '': '' });
  });

  it('may have overlong varints of up to ten bytes', () => {
    const state = Buffer.concat([tag(2, 0), varint(MachineState.Idle, 9)]);
    expect(machineOf(state, bytes(4, 'type', 3)).instanceType).toBe('type');
    expect(machineOf(number(6, 2n ** 32n + 4n)).capacityType).toBe(4);
  });

  it('may need one to four length bytes', () => {
    for (const length of [127, 128, 16_383, 16_384, 2_097_152]) {
      const machine = machineOf(bytes(100, 'z'.repeat(length)), bytes(5, 'zone'));
      expect(machine.zone).toBe('zone');
    }
  });
});

describe('T5: a malformed record of an intact listing', () => {
  for (const [what, tail, text] of [
    [
      'a length beyond the end',
      Buffer.concat([tag(4, 2), varint(50), Buffer.from('abc')]),
      /length of 50 bytes where 3 are left/,
    ],
    ['a varint that never ends', Buffer.from([0x10, 0x80, 0x80]), /varint that does not end/],
    ['a varint of eleven bytes', Buffer.from([0x10, ...Array(10).fill(0xff), 1]), /more than 10 bytes/],
    ['half a double', Buffer.concat([tag(7, 1), Buffer.from([1, 2])]), /field of 8 bytes where 2 are left/],
    ['a double at the very end', tag(7, 1), /field of 8 bytes where 0 are left/],
    ['wire type 6', tag(4, 6), /wire type 6/],
    ['wire type 7', tag(100, 7), /wire type 7/],
    ['field number 0', Buffer.from([0x02, 0x00]), /field number 0/],
    ['a tag of 35 bits', Buffer.from([0x92, 0x80, 0x80, 0x80, 0x10, 0]), /tag of more than 32 bits/],
    ['the end of a group that never began', tag(16, 4), /never began/],
    ['a group that does not end', tag(16, 3), /varint that does not end/],
    ['a group that ends as another', Buffer.concat([tag(16, 3), tag(17, 4)]), /another group/],
    ['groups a thousand deep', Buffer.concat(Array(1000).fill(tag(16, 3))), /nested deeper than 100/],
    ['a broken label', bytes(10, Buffer.from([0x0a, 5, 65])), /length of 5 bytes where 1 are left/],
    ['a broken resource', bytes(9, Buffer.from([0x0a, 5, 65])), /length of 5 bytes where 1 are left/],
    ['a broken host', bytes(3, Buffer.from([0x12])), /varint that does not end/],
    ['a broken assignment', bytes(15, Buffer.from([0x0a, 0x80])), /varint that does not end/],
    ['a length of 2 GB', Buffer.from([0x22, 0xff, 0xff, 0xff, 0xff, 0x07]), /length of 2147483647 bytes/],
    ['a length of more than 2 GB', Buffer.from([0x22, 0xff, 0xff, 0xff, 0xff, 0x0f]), /more than 31 bits/],
  ] as const) {
    it(`T5: ${what} rejects that row alone, named by position and id`, () => {
      const good = (id: string) => Buffer.concat([SOUND, bytes(1, id)]);
      const bad = Buffer.concat([SOUND, tail]);
      const batch = new MachineDecoder().decodeList(list(good('a'), good('b'), bad, good('c'), bad));
      expect(meaningOf(batch).machines.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      expect(meaningOf(batch)).toMatchObject({
        rejectedIds: ['m-1', 'm-1'],
        rejectedCounts: { price: 0, interruption_probability: 0, structural: 2 },
      });
      expect(batch.unnamedCount).toBe(0);
      expect(batch.rejectionTexts[0]).toMatch(text);
      expect(batch.rejectionTexts[0]).toMatch(
        /^Machine "m-1" is not valid: record 3 of the listing .* at byte \d+\./,
      );
      expect(batch.rejectionTexts[1]).toMatch(/record 5 of the listing/);
      const offset = Number(/at byte (\d+)/.exec(batch.rejectionTexts[0]!)![1]);
      const prefix = list(good('a'), good('b')).length + 2 + SOUND.length;
      expect(offset).toBeGreaterThanOrEqual(prefix);
      expect(offset).toBeLessThanOrEqual(prefix + tail.length);
    });
  }

  it('T5: whose id cannot be read is counted as unnamed', () => {
    const nameless = Buffer.concat([tag(4, 6), SOUND]);
    const batch = new MachineDecoder().decodeList(list(SOUND, nameless, nameless));
    expect(batch.rowCount).toBe(1);
    expect(batch.unnamedCount).toBe(2);
    expect(meaningOf(batch)).toMatchObject({ rejectedIds: ['', ''], rejectedCounts: { structural: 2 } });
  });

  it('T5: with a broken entry that a later record repeats does not spoil the entries in between', () => {
    const broken = bytes(10, Buffer.from([0x0a, 5, 65, 65, 65]));
    const brokenResource = bytes(9, bytes(1, Buffer.from([0x0a, 5, 65, 65, 65])));
    const good = Buffer.concat([
      SOUND,
      bytes(1, 'good'),
      entry(10, 'k', 'v'),
      bytes(9, entry(1, 'cpu', '4')),
    ]);
    for (const spoilt of [broken, brokenResource]) {
      const bad = Buffer.concat([SOUND, spoilt]);
      const batch = new MachineDecoder().decodeList(list(bad, good, bad, good, bad));
      expect(batch.rowCount).toBe(1);
      expect(machineAt(batch, 0)).toMatchObject({ id: 'good', labels: { k: 'v' }, capacity: { cpu: 4000 } });
      expect(meaningOf(batch).rejectedCounts.structural).toBe(3);
    }
  });

  it('T5: leaves a listing of 20,000 malformed records readable: the last machine is there', () => {
    const bad = Buffer.concat([bytes(1, 'bad'), tag(4, 6)]);
    const batch = new MachineDecoder().decodeList(list(...Array(20_000).fill(bad), SOUND));
    expect(meaningOf(batch).machines.map(({ id }) => id)).toEqual(['m-1']);
    expect(batch.rejectedIds.count).toBe(20_000);
  });
});

describe('S7: a malformed answer is refused as a whole', () => {
  it('S7: the error names the offset', () => {
    const error = failureOf(Buffer.concat([list(SOUND), Buffer.from([0x12, 0x09])]));
    expect(error.offset).toBe(SOUND.length + 3);
    expect(error.message).toContain(`at byte ${error.offset}`);
    expect(error.next).toBe('reject-input');
  });

  it('S7: a machine that runs past the end of the listing is an error of the whole', () => {
    expect(failureOf(list(SOUND, SOUND).subarray(0, -1)).message).toMatch(/where \d+ are left/);
  });

  it('S7: an answer of which no record is a machine is an error of the whole', () => {
    const noise = Buffer.concat([tag(4, 6), SOUND]);
    expect(failureOf(list(noise, noise)).message).toMatch(/wire type 6/);
  });

  it('S7: the decoder reads the next answer', () => {
    const decoder = new MachineDecoder();
    expect(() => decoder.decodeList(Buffer.from([0x0a, 0x05]))).toThrow(MalformedAnswerError);
    expect(() => decoder.decodeMachine(Buffer.from([0x0a]), 'm-1')).toThrow(MalformedAnswerError);
    expect(() => decoder.decodeAck(Buffer.from([0x0a]), 'm-1')).toThrow(MalformedAnswerError);
    expect(decoder.decodeList(list(SOUND)).rowCount).toBe(1);
  });
});
