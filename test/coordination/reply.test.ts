import { expect, it } from 'vitest';
import { INSTRUCTIONS_PER_REPLY_MAX } from '../../src/coordination/limits.ts';
import { ReplyRefusedError, readReply } from '../../src/coordination/reply.ts';
import { encode } from '../../src/wire/codec.ts';

const replyOf = (count: number) =>
  encode('ReportAck', {
    coordinatorTerm: 3,
    instructions: Array.from({ length: count }, (_, index) => ({ instructionId: `i-${index}` })),
  });

it('a reply has at most 4,096 instructions; one more refuses it before any is decoded', () => {
  expect(readReply(replyOf(INSTRUCTIONS_PER_REPLY_MAX)).instructions).toHaveLength(4_096);
  expect(() => readReply(replyOf(INSTRUCTIONS_PER_REPLY_MAX + 1))).toThrow(ReplyRefusedError);
});
