/**
 * T6: the resource names that each provider brings. A shard holds 256 names, so a provider may bring at most 64 that no other
 * provider has: four providers at their limit still fit, and one that invents names is refused before it shuts out the others.
 *
 * A listing is checked once for each distinct capacity, not for each row or shape.
 */
import { ShardError } from '../../base/errors.ts';

/** 256 names of a shard, a quarter for each provider. A fleet has about ten. */
export const OWN_NAMES_MAX = 64;

export class TooManyResourceNamesError extends ShardError {
  readonly code = 'too_many_resource_names';
  readonly next = 'reject-input';

  constructor(provider: string, name: string) {
    super(
      `Resource ${JSON.stringify(name)} would be more than the ${OWN_NAMES_MAX} resource names that provider ${provider} may ` +
        'have alone. The shard refused the machines with that name and keeps the others. Remove names that no need asks ' +
        'for at the provider.',
    );
  }
}

/** The part of base/dimensions.ts that this needs. */
export interface KnownNames {
  /** -1: the shard holds no such name. */
  find(name: string): number;
  /** Whether a machine has the resource. A name that none has keeps its number until another name takes it. */
  isSupplied(dim: number): boolean;
}

export class ProviderNames {
  readonly #known: KnownNames;
  readonly #providerNames: readonly string[];
  readonly #ofProvider: readonly Set<string>[];

  constructor(known: KnownNames, providerNames: readonly string[]) {
    this.#known = known;
    this.#providerNames = providerNames;
    this.#ofProvider = providerNames.map(() => new Set());
  }

  /** Notes that a machine of this provider has these resources. Throws if they are too many; then it notes none. */
  admit(provider: number, names: readonly string[]): void {
    const own = this.#ofProvider[provider];
    if (own === undefined) return; // a machine that no configured provider listed
    const added = names.filter((name) => !own.has(name));
    if (added.length === 0) return;
    if (this.#aloneCount(provider, added) > OWN_NAMES_MAX) {
      for (const name of own) if (!this.#isHad(name)) own.delete(name);
      if (this.#aloneCount(provider, added) > OWN_NAMES_MAX) {
        const alone = added.find((name) => this.#isAlone(provider, name)) ?? added[0]!;
        throw new TooManyResourceNamesError(this.#providerNames[provider]!, alone);
      }
    }
    for (const name of added) own.add(name);
  }

  #isHad(name: string): boolean {
    const dim = this.#known.find(name);
    return dim !== -1 && this.#known.isSupplied(dim);
  }

  #aloneCount(provider: number, added: readonly string[]): number {
    let count = 0;
    for (const name of this.#ofProvider[provider]!) if (this.#isAlone(provider, name)) count++;
    for (const name of added) if (this.#isAlone(provider, name)) count++;
    return count;
  }

  #isAlone(provider: number, name: string): boolean {
    return !this.#ofProvider.some((names, other) => other !== provider && names.has(name));
  }
}
