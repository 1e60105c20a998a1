/**
 * Messages are received in the memory that they end in. The library keeps every piece of a message until the last one is
 * there, then joins them, and goes on holding the pieces until the next message begins: a listing of 250 MB is in memory
 * twice, and an operator's stream that says nothing for ten seconds holds the blocks of its last roll-up all the while, 90
 * KB for each of 2,000. But the first five bytes of a message say how long it is: so it gets its memory at once, pieces
 * are copied into it as they come, and nothing holds them afterwards.
 *
 * This changes a class inside of @grpc/grpc-js, whose version is pinned; a test sees to it that it still takes effect. If
 * a later version has another shape, nothing is changed and messages only cost what they used to.
 */
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import { messageMemory } from './message-memory.ts';

const FLAG_BYTES = 1;
const SIZE_BYTES = 4;
const HEADER_BYTES = FLAG_BYTES + SIZE_BYTES;

const NO_DATA = 0;
const READING_SIZE = 1;
const READING_MESSAGE = 2;

/** What the library's decoder keeps of the message that it reads. */
interface DecoderState {
  readonly maxReadMessageLength: number;
  readState: number;
  /** One byte of its own: a piece of what arrived would hold all of that. */
  readonly readCompressFlag: Buffer;
  readonly readPartialSize: Buffer;
  readSizeRemaining: number;
  readMessageSize: number;
  readMessageRemaining: number;
  /** Ours: the message so far, with its header. */
  wholeMessage?: Buffer | undefined;
}

let isDone = false;
let onCopied: (bytes: number) => void = () => {};

/** For this thread, once. Whether the library is as we know it. `copied` is told of every piece that is garbage from then on. */
export function receiveMessagesInPlace(copied: (bytes: number) => void = () => {}): boolean {
  if (isDone || !isAsKnown()) return isDone;
  isDone = true;
  onCopied = copied;
  const prototype = StreamDecoder.prototype as unknown as { write: typeof writeInPlace };
  prototype.write = writeInPlace;
  return true;
}

/** Takes what arrived; the messages that are complete with it, each with its header. */
function writeInPlace(this: DecoderState, data: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < data.length; ) {
    if (this.readState === NO_DATA) {
      this.readCompressFlag[0] = data[at]!;
      this.readSizeRemaining = SIZE_BYTES;
      this.readState = READING_SIZE;
      at += FLAG_BYTES;
    } else if (this.readState === READING_SIZE) {
      at += readSize(this, data, at);
    } else {
      at += readMessage(this, data, at);
    }
    if (this.readState !== READING_MESSAGE || this.readMessageRemaining > 0) continue;
    messages.push(this.wholeMessage!);
    this.wholeMessage = undefined;
    this.readState = NO_DATA;
  }
  return messages;
}

/** Bytes taken. With the last one of them the message gets its memory, unless it is longer than allowed. */
function readSize(decoder: DecoderState, data: Buffer, at: number): number {
  const { readPartialSize: size, maxReadMessageLength: max } = decoder;
  const taken = data.copy(size, SIZE_BYTES - decoder.readSizeRemaining, at, at + decoder.readSizeRemaining);
  decoder.readSizeRemaining -= taken;
  if (decoder.readSizeRemaining > 0) return taken;
  const bytes = size.readUInt32BE(0);
  // In the words of the library, which tells this error from others by where it comes from.
  if (max !== -1 && bytes > max) throw new Error(`Received message larger than max (${bytes} vs ${max})`);
  const whole = messageMemory.take(HEADER_BYTES + bytes);
  decoder.readCompressFlag.copy(whole, 0);
  size.copy(whole, FLAG_BYTES);
  decoder.wholeMessage = whole;
  decoder.readMessageSize = decoder.readMessageRemaining = bytes;
  decoder.readState = READING_MESSAGE;
  return taken;
}

function readMessage(decoder: DecoderState, data: Buffer, at: number): number {
  const { wholeMessage, readMessageRemaining: remaining } = decoder;
  const taken = data.copy(wholeMessage!, wholeMessage!.length - remaining, at, at + remaining);
  decoder.readMessageRemaining -= taken;
  onCopied(taken);
  return taken;
}

function isAsKnown(): boolean {
  const state = new StreamDecoder(-1) as unknown as DecoderState;
  return (
    state.maxReadMessageLength === -1 &&
    state.readState === NO_DATA &&
    Buffer.isBuffer(state.readCompressFlag) &&
    Buffer.isBuffer(state.readPartialSize) &&
    state.readSizeRemaining === SIZE_BYTES &&
    state.readMessageSize === 0 &&
    state.readMessageRemaining === 0
  );
}
