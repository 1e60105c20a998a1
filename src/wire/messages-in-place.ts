/**
 * Receives gRPC messages directly into their final memory. The library keeps every piece of a message until the last one
 * arrives, then joins them, and holds the pieces until the next message begins. So a listing of 250 MB is in memory twice,
 * and an operator's stream that is idle for ten seconds holds the pieces of its last roll-up, 90 KB for each of 2,000. But
 * the first five bytes of a message give its length: this module copies pieces into the message as they arrive, and holds none
 * of them. A peer may announce a length and send nothing. So a long message begins with little memory, and grows to sixteen
 * times what has arrived: a listing of 250 MB is copied twice, 68 MB in all.
 *
 * A server's call may begin with a small limit (`limitFirstMessage`): a peer must not make the server allocate 32 MiB before
 * it has said who it is. A sender need not wait before it sends a longer message, so what follows the first message is kept,
 * up to a limit, until the server has judged the first.
 *
 * It replaces a method of a class inside of @grpc/grpc-js, whose version is pinned; a test checks that the replacement
 * takes effect. If a later version looks different, the module changes nothing and messages cost as much as before.
 */
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import { messageMemory } from './message-memory.ts';

const FLAG_BYTES = 1;
const SIZE_BYTES = 4;
const HEADER_BYTES = FLAG_BYTES + SIZE_BYTES;

const NO_DATA = 0;
const READING_SIZE = 1;
const READING_MESSAGE = 2;

/** The state of the library's decoder. */
interface DecoderState {
  maxReadMessageLength: number;
  readState: number;
  /** A copy of one byte: a slice would keep the whole piece in memory. */
  readonly readCompressFlag: Buffer;
  readonly readPartialSize: Buffer;
  readSizeRemaining: number;
  readMessageSize: number;
  readMessageRemaining: number;
  /** Added by this module: the message so far, with its header. */
  wholeMessage?: Buffer | undefined;
  /** Added by this module: the limit of the first message, while it applies. */
  first?: FirstMessage | undefined;
}

interface FirstMessage {
  readonly whyTooLong: (bytes: number) => string;
  isReceived: boolean;
  /** Bytes behind the first message that begin with one above the limit. */
  kept: Buffer[] | null;
  keptBytes: number;
}

/** The library's call, below all interceptors. */
interface ServerCallState {
  readonly decoder: DecoderState;
  maxReceiveMessageSize: number;
  handleDataFrame(data: Buffer): void;
}

/** A longer message begins with this much memory. The usual roll-up of 130 KB fits. */
const FIRST_BYTES_MAX = 256 * 1024;
const GROWTH = 16;

/** The window of an HTTP/2 stream, which a peer may fill before the server reads, and one more piece. */
const KEPT_BYTES_MAX = 128 * 1024;

let isDone = false;
let onCopied: (bytes: number) => void = () => {};

/** Once per thread. Returns whether the library looks as expected. Calls `copied` for every piece that is now garbage. */
export function receiveMessagesInPlace(copied: (bytes: number) => void = () => {}): boolean {
  if (isDone || !isAsKnown()) return isDone;
  isDone = true;
  onCopied = copied;
  const prototype = StreamDecoder.prototype as unknown as { write: typeof writeInPlace };
  prototype.write = writeInPlace;
  return true;
}

/**
 * Limits the first message of a server's call to `bytesMax`. `raise` of the result applies the limit of all later messages.
 * Null if the library does not look as expected: its own limit applies.
 */
export function limitFirstMessage(
  call: unknown,
  bytesMax: number,
  whyTooLong: (bytes: number) => string,
): { raise(bytesMax: number): void } | null {
  const state = call as ServerCallState;
  const { decoder, handleDataFrame } = state;
  const isKnown = typeof handleDataFrame === 'function' && (decoder as object) instanceof StreamDecoder;
  if (!isDone || !isKnown) return null;
  const setLimit = (max: number) => {
    decoder.maxReadMessageLength = state.maxReceiveMessageSize = max;
  };
  setLimit(bytesMax);
  decoder.first = { whyTooLong, isReceived: false, kept: null, keptBytes: 0 };
  return {
    raise: (max) => {
      const kept = decoder.first?.kept ?? [];
      decoder.first = undefined;
      setLimit(max);
      for (const piece of kept) state.handleDataFrame(piece);
    },
  };
}

/** Takes a piece and returns the messages that it completes, each with its header. */
function writeInPlace(this: DecoderState, data: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  if (this.first?.kept != null) {
    keep(this.first, data);
    return messages;
  }
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
    if (this.first !== undefined) this.first.isReceived = true;
    this.wholeMessage = undefined;
    this.readState = NO_DATA;
  }
  return messages;
}

/** Returns the bytes taken. With the last byte of the size it begins the message, unless that is too long. */
function readSize(decoder: DecoderState, data: Buffer, at: number): number {
  const { readPartialSize: size, maxReadMessageLength: max } = decoder;
  const taken = data.copy(size, SIZE_BYTES - decoder.readSizeRemaining, at, at + decoder.readSizeRemaining);
  decoder.readSizeRemaining -= taken;
  if (decoder.readSizeRemaining > 0) return taken;
  const bytes = size.readUInt32BE(0);
  if (max !== -1 && bytes > max) return tooLong(decoder, bytes, data, at, taken);
  const whole = messageMemory.take(Math.min(HEADER_BYTES + bytes, FIRST_BYTES_MAX));
  decoder.readCompressFlag.copy(whole, 0);
  size.copy(whole, FLAG_BYTES);
  decoder.wholeMessage = whole;
  decoder.readMessageSize = decoder.readMessageRemaining = bytes;
  decoder.readState = READING_MESSAGE;
  return taken;
}

/** Returns the bytes taken: all, if they are kept for later. */
function tooLong(decoder: DecoderState, bytes: number, data: Buffer, at: number, taken: number): number {
  const { first, maxReadMessageLength: max } = decoder;
  // The library's own text: outcome.ts recognises it.
  if (first === undefined) throw new Error(`Received message larger than max (${bytes} vs ${max})`);
  if (!first.isReceived) throw new Error(first.whyTooLong(bytes));
  const header = Buffer.concat([decoder.readCompressFlag, decoder.readPartialSize]);
  first.kept = [];
  keep(first, header);
  keep(first, data.subarray(at + taken));
  decoder.readState = NO_DATA;
  return data.length - at;
}

function keep(first: FirstMessage, data: Buffer): void {
  first.keptBytes += data.length;
  if (first.keptBytes > KEPT_BYTES_MAX) throw new Error(first.whyTooLong(first.keptBytes));
  first.kept!.push(data);
}

function readMessage(decoder: DecoderState, data: Buffer, at: number): number {
  const { readMessageSize, readMessageRemaining: remaining } = decoder;
  const end = HEADER_BYTES + readMessageSize;
  const from = end - remaining;
  const taken = Math.min(remaining, data.length - at);
  const whole = withRoom(decoder, from, from + taken, end);
  data.copy(whole, from, at, at + taken);
  decoder.readMessageRemaining -= taken;
  onCopied(taken);
  return taken;
}

/** The message with memory for `needed` bytes, of which it has `filled` and will have `end`. */
function withRoom(decoder: DecoderState, filled: number, needed: number, end: number): Buffer {
  const whole = decoder.wholeMessage!;
  if (needed <= whole.length) return whole;
  const larger = messageMemory.take(Math.min(end, Math.max(needed, GROWTH * whole.length)));
  whole.copy(larger, 0, 0, filled);
  messageMemory.giveBack(whole);
  decoder.wholeMessage = larger;
  return larger;
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
