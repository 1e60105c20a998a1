/** Shortens a text for people and says so: `aaaa… (cut, 900000 characters)`. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // Flattened through bytes: a slice of a string would keep the whole of it in memory.
  const head = Buffer.from(text.slice(0, charsMax)).toString();
  return `${head}… (cut, ${text.length} characters)`;
}
