/** Message memory is reused after it was given back, and never by two messages at a time. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { MessageMemory } from '../../src/wire/message-memory.ts';

describe('message memory', () => {
  it('is reused for a message of about the same length, once it was given back', () => {
    const memory = new MessageMemory();
    const first = memory.take(130_000);
    const second = memory.take(130_000);
    expect(second.buffer).not.toBe(first.buffer);
    memory.giveBack(first.subarray(7)); // any view of it works
    const third = memory.take(131_072);
    expect(third.length).toBe(131_072);
    expect(third.buffer).toBe(first.buffer);
    expect(memory.take(130_000).buffer).not.toBe(first.buffer);
  });

  it('is kept once, however often it is given back, and only if `take` lent it', () => {
    const memory = new MessageMemory();
    const message = memory.take(100_000);
    memory.giveBack(message);
    memory.giveBack(message);
    memory.giveBack(Buffer.alloc(131_072));
    memory.giveBack(memory.take(100)); // from a block that Node shares among buffers
    expect(memory.keptBytes).toBe(131_072);
    const [a, b] = [memory.take(100_000), memory.take(100_000)];
    expect(a.buffer).not.toBe(b.buffer);
  });

  it('is bounded: after a burst not everything is kept', () => {
    const memory = new MessageMemory();
    const storm = Array.from({ length: 2_000 }, () => memory.take(130_000));
    for (const message of storm) memory.giveBack(message);
    expect(memory.keptBytes).toBeGreaterThan(4 << 20);
    expect(memory.keptBytes).toBeLessThanOrEqual(8 << 20);
    memory.giveBack(memory.take(20 << 20)); // a very long one is never kept
    expect(memory.keptBytes).toBeLessThanOrEqual(8 << 20);
  });

  it('never belongs to two messages, in any order of taking and giving back', () => {
    const random = new Random(1);
    const memory = new MessageMemory();
    const held: { message: Buffer; mark: number }[] = [];
    for (let step = 1; step <= 2_000; step++) {
      if (held.length > 0 && random.chance(0.5)) {
        const [{ message, mark }] = held.splice(random.below(held.length), 1) as [(typeof held)[0]];
        expect(message[0] === mark % 256 && message[message.length - 1] === mark % 256).toBe(true);
        memory.giveBack(message);
      } else {
        const message = memory.take(1 + random.below(300_000));
        message[0] = message[message.length - 1] = step % 256;
        held.push({ message, mark: step });
      }
    }
  });
});
