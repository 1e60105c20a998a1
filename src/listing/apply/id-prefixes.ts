/**
 * T10: a prefix of machine ids that belongs to one provider. With a prefix for a provider, the shard accepts from it only ids
 * that begin with one of its prefixes, and accepts such ids from no other provider, even if that one listed them first.
 */

/** One prefix of one provider, which may have several. */
export interface ProviderIdPrefix {
  /** Of the provider. */
  readonly name: string;
  readonly prefix: string;
}

interface Prefix {
  readonly provider: number;
  readonly text: string;
  readonly bytes: Uint8Array;
}

export class IdPrefixes {
  readonly #names: readonly string[];
  readonly #prefixes: readonly Prefix[];

  /** `names`: the providers' names by index. */
  constructor(names: readonly string[], prefixes: readonly ProviderIdPrefix[]) {
    this.#names = names;
    this.#prefixes = prefixes.map(({ name, prefix }) => ({
      provider: names.indexOf(name),
      text: prefix,
      bytes: new TextEncoder().encode(prefix),
    }));
  }

  /** Why a provider may not have this id; '' if it may. */
  refusal(id: Uint8Array, start: number, end: number, provider: number): string {
    let hasPrefix = false;
    for (const prefix of this.#prefixes) {
      if (prefix.provider === provider) hasPrefix = true;
      if (!beginsWith(id, start, end, prefix.bytes)) continue;
      if (prefix.provider === provider) return '';
      return `ids that begin with ${JSON.stringify(prefix.text)} belong to provider ${this.#names[prefix.provider]}`;
    }
    return hasPrefix ? `the id begins with no id prefix of provider ${this.#names[provider]}` : '';
  }
}

function beginsWith(id: Uint8Array, start: number, end: number, prefix: Uint8Array): boolean {
  if (end - start < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (id[start + at] !== prefix[at]) return false;
  return true;
}
