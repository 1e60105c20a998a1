/** Looks at the first gRPC message of a stream and puts its bytes back, so that the server or relay that gets the stream finds it unread. */
import type { ServerHttp2Stream } from 'node:http2';

/** A gRPC message begins with a byte of flags and its length. */
const PREFIX_BYTES = 5;

/** What became of the look: the message, or why there is none. */
export type FirstMessage =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** Compressed, or longer than the limit: the server that gets the stream refuses it. */
  | { readonly kind: 'other' }
  | { readonly kind: 'late' }
  | { readonly kind: 'closed' };

/** Calls back once. Returns a function that gives the look up without a call. */
export function lookAtFirstMessage(
  stream: ServerHttp2Stream,
  { bytesMax, timeoutMs }: { readonly bytesMax: number; readonly timeoutMs: number },
  done: (first: FirstMessage) => void,
): () => void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = () => {
    clearTimeout(timer);
    stream.off('data', onData);
    stream.off('end', onEnd);
    stream.off('close', onClosed);
    stream.pause();
    if (bytes > 0 && !stream.destroyed) stream.unshift(Buffer.concat(chunks));
  };
  const finish = (first: FirstMessage) => {
    stop();
    done(first);
  };
  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < PREFIX_BYTES) return;
    const all = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    const length = all.readUInt32BE(1);
    if (all[0] !== 0 || length > bytesMax) finish({ kind: 'other' });
    else if (bytes >= PREFIX_BYTES + length)
      finish({ kind: 'message', bytes: all.subarray(PREFIX_BYTES, PREFIX_BYTES + length) });
  };
  // A client that has ended its half without a whole message.
  const onEnd = () => finish({ kind: 'closed' });
  const onClosed = () => finish({ kind: 'closed' });
  const timer = setTimeout(() => finish({ kind: 'late' }), timeoutMs);
  stream.on('data', onData);
  stream.on('end', onEnd);
  stream.on('close', onClosed);
  return stop;
}
