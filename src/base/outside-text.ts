/**
 * Text that others wrote and we show: in logs, in errors, on pages. It is cut, and what could forge a log
 * line or move a terminal's cursor is taken out, once, where it comes in.
 */

/** What a fleet of broken providers may write into our logs, per call. */
export const DETAIL_CHARS_MAX = 512;

/** One line, no control characters, at most DETAIL_CHARS_MAX characters. */
export function boundedDetail(text: string): string {
  const isCut = text.length > DETAIL_CHARS_MAX;
  const line = withoutControls(isCut ? text.slice(0, DETAIL_CHARS_MAX - 1) : text).trim();
  return isCut ? `${line}…` : line;
}

/** Line breaks and escapes would let the other side forge lines or move a terminal's cursor. */
export function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ');
}
