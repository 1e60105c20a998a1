/**
 * Large answers without two copies of them. The library keeps every piece of a message until the last one is there and then
 * joins them: a listing of 250 MB is there twice, once in 16,000 small blocks, which the C library's allocator never gives
 * back to the system afterwards. But the first bytes of a message say how long it is; so a long one gets its memory
 * at once, pieces are copied into it as they come, and are garbage at once.
 *
 * This changes a class inside of @grpc/grpc-js, whose version is pinned; a test sees to it that it still takes effect. If
 * a later version has another shape, nothing is changed and large messages only cost what they used to.
 */
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';

/** Shorter ones are not worth it: what is joined is small and short-lived. */
export const LARGE_BYTES_MIN = 1 << 20;

const HEADER_BYTES = 5;
const NO_DATA = 0;
const READING_MESSAGE = 2;

/** What the library's decoder keeps of the message that it reads. */
interface DecoderState {
  readState: number;
  readCompressFlag: Buffer;
  readPartialSize: Buffer;
  readMessageSize: number;
  readPartialMessage: Buffer[];
  readMessageRemaining: number;
  /** Ours: the message so far, with its header. */
  wholeMessage?: Buffer | undefined;
}

type Write = (this: DecoderState, data: Buffer) => Buffer[];

let isDone = false;

/** For this thread, once. Whether the library is as we know it. */
export function receiveLargeMessagesInPlace(): boolean {
  const prototype = StreamDecoder.prototype as unknown as { write: Write };
  const write = prototype.write;
  if (isDone || !isAsKnown()) return isDone;
  isDone = true;
  prototype.write = function writeInPlace(this: DecoderState, data: Buffer): Buffer[] {
    if (this.readState !== READING_MESSAGE || this.readMessageSize < LARGE_BYTES_MIN) {
      return write.call(this, data);
    }
    this.wholeMessage ??= beginWhole(this);
    const length = Math.min(data.length, this.readMessageRemaining);
    const at = HEADER_BYTES + this.readMessageSize - this.readMessageRemaining;
    data.copy(this.wholeMessage, at, 0, length);
    this.readMessageRemaining -= length;
    if (this.readMessageRemaining > 0) return [];
    const whole = this.wholeMessage;
    this.wholeMessage = undefined;
    this.readState = NO_DATA;
    return length === data.length ? [whole] : [whole, ...write.call(this, data.subarray(length))];
  };
  return true;
}

/** Memory of its own, and what of the message came with its header. */
function beginWhole(decoder: DecoderState): Buffer {
  const whole = Buffer.allocUnsafeSlow(HEADER_BYTES + decoder.readMessageSize);
  decoder.readCompressFlag.copy(whole, 0, 0, 1);
  decoder.readPartialSize.copy(whole, 1, 0, HEADER_BYTES - 1);
  let at = HEADER_BYTES;
  for (const piece of decoder.readPartialMessage) at += piece.copy(whole, at);
  decoder.readPartialMessage = [];
  return whole;
}

function isAsKnown(): boolean {
  const state = new StreamDecoder(-1) as unknown as DecoderState;
  return (
    state.readState === NO_DATA &&
    Buffer.isBuffer(state.readCompressFlag) &&
    Buffer.isBuffer(state.readPartialSize) &&
    Array.isArray(state.readPartialMessage) &&
    state.readMessageSize === 0 &&
    state.readMessageRemaining === 0
  );
}
