/**
 * Finds out which of an operator's messages a frame contains. It reads only the outermost tag, so routing a roll-up of
 * megabytes costs no more than routing a bootstrap answer, and neither delays the other.
 */
import { WIRE_BYTES } from '../wire/protobuf-reader.ts';
import { FrameReader } from './frame-reader.ts';
import { FRAME_FIELDS_MAX } from './limits.ts';

export const FRAME_KINDS = ['unknown', 'hello', 'rollup', 'bootstrap_response', 'reclaim_ack'] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

export interface Frame {
  readonly kind: FrameKind;
  /** The bytes of the payload: a view of the frame. */
  readonly payload: Uint8Array;
}

const reader = new FrameReader();

/**
 * Of several payloads the last counts, as in every oneof; parts of the same payload are joined, as protobuf merges them.
 * Throws a MalformedFrameError for bytes that are not a message.
 */
export function readFrame(bytes: Uint8Array): Frame {
  reader.open(bytes);
  const end = bytes.length;
  let kind: FrameKind = 'unknown';
  let parts: Uint8Array[] = [];
  for (let fields = 1; reader.at < end; fields++) {
    if (fields > FRAME_FIELDS_MAX)
      reader.fail(reader.at, `a field beyond the ${FRAME_FIELDS_MAX} of a frame`);
    const tag = reader.tag(end);
    const named = (tag & 7) === WIRE_BYTES ? FRAME_KINDS[tag >>> 3] : undefined;
    if (named === undefined || named === 'unknown') {
      reader.skip(tag, end);
      continue;
    }
    const payloadEnd = reader.lengthEnd(end);
    if (named !== kind) parts = [];
    parts.push(bytes.subarray(reader.at, payloadEnd));
    kind = named;
    reader.at = payloadEnd;
  }
  reader.close();
  return { kind, payload: parts.length === 1 ? parts[0]! : Buffer.concat(parts) };
}
