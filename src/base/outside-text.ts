/**
 * Text from providers and operators that the shard shows in logs, errors and pages. It is cut to a length and
 * stripped of control characters once, where it enters.
 */

/** Bounds what a fleet of broken providers can write into the logs with each call. */
export const DETAIL_CHARS_MAX = 512;

/** One line, no control characters, at most DETAIL_CHARS_MAX characters. */
export function boundedDetail(text: string): string {
  const isCut = text.length > DETAIL_CHARS_MAX;
  const line = withoutControls(isCut ? text.slice(0, DETAIL_CHARS_MAX - 1) : text).trim();
  return isCut ? `${line}…` : line;
}

/** Line breaks and escapes would let a peer forge log lines or move a terminal's cursor. */
export function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ');
}
