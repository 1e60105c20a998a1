/**
 * N4: "Strings compare bytewise (UTF-8)". UTF-8 keeps the order of characters, so the first that differs decides. Halves of a
 * surrogate pair are no characters: there the bytes decide.
 */
export function compareBytes(left: string, right: string): number {
  if (left === right) return 0;
  let at = 0;
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++;
  if (isSurrogate(left, at) || isSurrogate(right, at)) {
    return Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8'));
  }
  if (at === left.length) return -1;
  return at < right.length && left.charCodeAt(at) < right.charCodeAt(at) ? -1 : 1;
}

function isSurrogate(text: string, at: number): boolean {
  return at < text.length && (text.charCodeAt(at) & 0xf800) === 0xd800;
}

/** Without subtraction, because two infinite costs would give NaN. */
export function compareNumbers(left: number, right: number): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** The first difference decides. */
export function firstDifference(...comparisons: number[]): number {
  return comparisons.find((comparison) => comparison !== 0) ?? 0;
}
