/** N4: "Strings compare bytewise (UTF-8)". */
export function compareBytes(left: string, right: string): number {
  if (left === right) return 0;
  return Buffer.compare(Buffer.from(left, 'utf8'), Buffer.from(right, 'utf8'));
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
