/**
 * Text that others wrote and we show: in logs, in errors, on pages. It is cut, and what could forge a log
 * line or move a terminal's cursor is taken out, once, where it comes in.
 */

/** What a fleet of broken providers may write into our logs, per call. */
export const DETAIL_CHARS_MAX = 512;

/** One line, no control characters, at most DETAIL_CHARS_MAX characters. */
export function boundedDetail(text: string): string {
  const isCut = text.length > DETAIL_CHARS_MAX;
  // Line breaks and escapes would let the other side forge log lines or move a terminal's cursor.
  const line = (isCut ? text.slice(0, DETAIL_CHARS_MAX - 1) : text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ')
    .trim();
  return isCut ? `${line}…` : line;
}
