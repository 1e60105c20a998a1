/** Messages in place: the same messages for any pieces, and in memory only once. */
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { receiveMessagesInPlace } from '../../src/wire/messages-in-place.ts';

const LARGE_BYTES = 1 << 20;

function framed(length: number, seed: number): Buffer {
  const message = Buffer.alloc(5 + length, seed);
  message[0] = 0;
  message.writeUInt32BE(length, 1);
  return message;
}

describe('messages in place', () => {
  it('are received in place with the installed version of the library', () => {
    expect(receiveMessagesInPlace()).toBe(true);
    expect(receiveMessagesInPlace()).toBe(true); // a second time changes nothing
    const decoder = new StreamDecoder(-1);
    const message = framed(LARGE_BYTES, 7);
    expect(decoder.write(message.subarray(0, 100))).toEqual([]);
    expect(decoder.write(message.subarray(100, 200))).toEqual([]);
    const [whole] = decoder.write(message.subarray(200));
    expect(whole!.equals(message)).toBe(true);
    // No piece is kept, nor a slice of one byte, which would keep the whole piece.
    for (const kept of Object.values(decoder).flat()) {
      if (Buffer.isBuffer(kept)) expect(kept.buffer).not.toBe(message.buffer);
    }
  });

  it('arrive unchanged, small and large, for any pieces', () => {
    receiveMessagesInPlace();
    let largeCount = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const random = new Random(seed);
      const messages = Array.from({ length: random.between(1, 5) }, (_, index) => {
        const isLarge = random.chance(0.5);
        if (isLarge) largeCount++;
        return framed(isLarge ? LARGE_BYTES + random.below(1_000) : random.below(5_000), seed + index);
      });
      const bytes = Buffer.concat(messages);
      const decoder = new StreamDecoder(-1);
      const received: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = Math.min(bytes.length, at + 1 + random.below(random.chance(0.3) ? 8 : 400_000));
        received.push(...decoder.write(bytes.subarray(at, end)));
        at = end;
      }
      expect(Buffer.concat(received).equals(bytes), `seed ${seed}`).toBe(true);
      expect(received.map(({ length }) => length)).toEqual(messages.map(({ length }) => length));
    }
    expect(largeCount).toBeGreaterThan(20);
  });

  it('above the limit are refused before memory is allocated', () => {
    receiveMessagesInPlace();
    const decoder = new StreamDecoder(LARGE_BYTES);
    expect(() => decoder.write(framed(LARGE_BYTES + 1, 1).subarray(0, 50))).toThrow(/larger than max/);
  });
});
