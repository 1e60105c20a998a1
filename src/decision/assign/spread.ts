/**
 * Spread (A4): a need takes machines one by one, each in a domain that is not ahead of the emptiest one by more than the
 * skew allows. Phase 2 continues with the same counts, and adds drains and victims to them.
 */

import type { Profile } from '../../needs/profiles.ts';
import { WhenUnsatisfiable } from '../../needs/requirements.ts';
import type { Domains } from '../supply/domains.ts';

/** The first DO_NOT_SCHEDULE constraint, in the profile's order; null for a gang, because Same wins over spread. */
export function bindingSpread(profile: Profile): { key: string; skew: number } | null {
  if (profile.sameKeys.length > 0) return null;
  for (const { topologyKey, maxSkew, whenUnsatisfiable } of profile.spread) {
    if (whenUnsatisfiable === WhenUnsatisfiable.DoNotSchedule)
      return { key: topologyKey, skew: Math.max(1, maxSkew) };
  }
  return null;
}

export class Spreading {
  readonly domains: Domains;
  readonly #skew: number;
  /** Machines of the need by domain, for all domains that count for the minimum, those with none included. */
  readonly #counts = new Map<number, number>();
  /** The same for domains that do not count for the minimum. */
  readonly #outside = new Map<number, number>();

  constructor(domains: Domains, skew: number) {
    this.domains = domains;
    this.#skew = skew;
  }

  /** The domain counts for the minimum: a matching machine there is credited or unassigned. */
  open(domain: number): void {
    if (domain === 0 || this.#counts.has(domain)) return;
    this.#counts.set(domain, this.#outside.get(domain) ?? 0);
    this.#outside.delete(domain);
  }

  /** The need has one more machine there. */
  count(domain: number): void {
    if (domain === 0) return;
    const counts = this.#counts.has(domain) ? this.#counts : this.#outside;
    counts.set(domain, (counts.get(domain) ?? 0) + 1);
  }

  /** The need gives one of its machines there back. */
  uncount(domain: number): void {
    if (domain === 0) return;
    const counts = this.#counts.has(domain) ? this.#counts : this.#outside;
    counts.set(domain, counts.get(domain)! - 1);
  }

  /** Whether the need may give a machine there back: no domain is then ahead of the emptiest by more than the skew. */
  mayLose(domain: number): boolean {
    const after = (this.#counts.get(domain) ?? Number.POSITIVE_INFINITY) - 1;
    if (after >= this.#minimum()) return true;
    for (const counts of [this.#counts, this.#outside])
      for (const count of counts.values()) if (count > after + this.#skew) return false;
    return true;
  }

  /** The machine drains for the need: it counts as one of its machines, and its domain for the minimum. */
  countSlot(slot: number): void {
    const domain = this.domains.ofSlot(slot);
    this.open(domain);
    this.count(domain);
  }

  allows(domain: number): boolean {
    return domain !== 0 && this.countIn(domain) <= this.countMax();
  }

  countIn(domain: number): number {
    return this.#counts.get(domain) ?? this.#outside.get(domain) ?? 0;
  }

  /** A domain with more machines of the need may not get another. */
  countMax(): number {
    return this.#minimum() + this.#skew - 1;
  }

  #minimum(): number {
    let minimum = Number.POSITIVE_INFINITY;
    for (const count of this.#counts.values()) minimum = Math.min(minimum, count);
    return this.#counts.size === 0 ? 0 : minimum;
  }
}
