/** Ends HTTP/2 streams of gRPC calls that the gRPC library does not know: refused ones and relayed ones. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { status } from '@grpc/grpc-js';

/** The server closes an ended stream this long after it has sent the status, if the peer has not. */
export const ENDED_STREAM_MS = 5_000;

/** The trailers that carry a status. */
export function statusTrailers(code: status, details: string): OutgoingHttpHeaders {
  return { 'grpc-status': code, 'grpc-message': encodeURI(details) };
}

/** A response of trailers only, as the library sends for an unknown method. The stream has no response yet. */
export function respondWithStatus(stream: ServerHttp2Stream, code: status, details: string): void {
  stream.on('error', () => {}); // the peer may be gone already
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc+proto', ...statusTrailers(code, details) },
    { endStream: true },
  );
  stream.resume(); // what the peer still sends is not kept
}

/** The status was sent; a peer that leaves its half of the stream open would keep the stream for ever. */
export function closeWhenEnded(stream: ServerHttp2Stream): void {
  stream.once('finish', () => {
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), ENDED_STREAM_MS);
    timer.unref();
    stream.once('close', () => clearTimeout(timer));
  });
}
