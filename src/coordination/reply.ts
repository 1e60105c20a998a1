/**
 * Reads a coordinator's reply. An instruction of two bytes becomes an object of some hundred, so the number of instructions is
 * checked in the bytes, before any of them is decoded.
 */
import { ShardError } from '../base/errors.ts';
import { decode } from '../wire/codec.ts';
import { ProtobufReader, WIRE_BYTES } from '../wire/protobuf-reader.ts';
import type { ReportAck } from '../wire/protocol.generated.ts';
import { INSTRUCTIONS_PER_REPLY_MAX } from './limits.ts';

const INSTRUCTION = 3;

export class ReplyRefusedError extends ShardError {
  readonly code = 'reply_refused';
  readonly next = 'reject-input';

  constructor(what: string) {
    super(
      `The coordinator's reply has ${what}. The shard executed none of its instructions and sends the next report as usual. ` +
        'Check the coordinator.',
    );
  }
}

class ReplyReader extends ProtobufReader {
  override fail(offset: number, what: string): never {
    throw new ReplyRefusedError(`${what} at byte ${offset}`);
  }
}

/** Throws ReplyRefusedError, or what the codec throws. */
export function readReply(bytes: Uint8Array): ReportAck {
  const reader = new ReplyReader();
  reader.open(bytes);
  let instructions = 0;
  while (reader.at < bytes.length) {
    const tag = reader.tag(bytes.length);
    reader.skip(tag, bytes.length);
    if (tag === 8 * INSTRUCTION + WIRE_BYTES && ++instructions > INSTRUCTIONS_PER_REPLY_MAX)
      throw new ReplyRefusedError(`more than ${INSTRUCTIONS_PER_REPLY_MAX} instructions`);
  }
  return decode('ReportAck', bytes);
}
