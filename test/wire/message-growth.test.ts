import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { receiveMessagesInPlace } from '../../src/wire/messages-in-place.ts';

const MEBIBYTE = 2 ** 20;

it('T11: a message of any length arrives whole, in pieces of any size', () => {
  receiveMessagesInPlace();
  const random = new Random(1);
  const decoder = new StreamDecoder(64 * MEBIBYTE);
  for (const length of [0, 1, 262_138, 262_139, 262_140, MEBIBYTE, 4 * MEBIBYTE + 1, 9 * MEBIBYTE]) {
    const sent = Buffer.alloc(5 + length);
    sent.writeUInt32BE(length, 1);
    for (let at = 5; at < sent.length; at += 97) sent[at] = random.below(256);
    const received: Buffer[] = [];
    for (let at = 0; at < sent.length; ) {
      const piece = random.between(1, 200_000);
      received.push(...decoder.write(sent.subarray(at, at + piece)));
      at += piece;
    }
    expect(received).toHaveLength(1);
    expect(received[0]!.equals(sent), `${length} bytes`).toBe(true);
  }
});

it('T11: a message that only announces its length takes little memory', () => {
  receiveMessagesInPlace();
  const header = Buffer.alloc(5);
  header.writeUInt32BE(31 * MEBIBYTE, 1);
  const before = process.memoryUsage().arrayBuffers;
  const decoders = Array.from({ length: 20 }, () => new StreamDecoder(32 * MEBIBYTE));
  for (const decoder of decoders) decoder.write(Buffer.from(header));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * MEBIBYTE);
});
