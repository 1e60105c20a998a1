/** A loader hook that changes the text of a module before it is compiled. */
let mutant;

export function initialize(data) {
  mutant = data;
}

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith(`/dist/src/${mutant.file}`)) return loaded;
  const source = String(loaded.source);
  const parts = source.split(mutant.find);
  if (parts.length !== 2) throw new Error(`${mutant.find} occurs ${parts.length - 1} times in ${url}`);
  return { ...loaded, source: parts.join(mutant.replace) };
}
