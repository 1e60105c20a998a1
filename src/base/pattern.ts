/** Patterns of names, in which `*` stands for any characters. */

/** Takes the first place for each part: whatever follows a `*` may begin anywhere later, so no other choice fits more. */
export function matchesPattern(id: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0]!;
  if (parts.length === 1) return id === pattern;
  const last = parts[parts.length - 1]!;
  if (id.length < first.length + last.length || !id.startsWith(first) || !id.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = id.indexOf(part, at);
    if (found < 0 || found + part.length > id.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
