/**
 * T10: machine ids that two providers listed before the shard had acted, so that it cannot know which of them owns the machine.
 * The machine stays with one of them and carries Flag.Disputed: needs keep counting it, and the shard makes no call for it. The
 * dispute ends when a full listing of a claimant no longer has the id, or when the machine is removed.
 */
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';

interface Claim {
  readonly provider: number;
  /** The number of the last listing of that provider that had the id. */
  listing: number;
}

export class Disputes {
  readonly #inventory: Inventory;
  /** By slot: the providers that claim it besides its own. */
  readonly #claims = new Map<number, Claim[]>();
  /** By provider: its claims. */
  readonly #counts: Uint32Array;

  constructor(inventory: Inventory, providerCount: number) {
    this.#inventory = inventory;
    this.#counts = new Uint32Array(providerCount);
  }

  /** Machines in dispute. */
  get count(): number {
    return this.#claims.size;
  }

  /** Whether a provider claims machines of others: its listings must be full, or the dispute would not end. */
  hasClaims(provider: number): boolean {
    return (this.#counts[provider] ?? 0) > 0;
  }

  /** Providers that claim the machine besides its own. */
  claimantsOf(slot: number): number[] {
    return (this.#claims.get(slot) ?? []).map(({ provider }) => provider);
  }

  /** A listing of another provider has the id. Returns whether its claim is new. */
  claim(slot: number, provider: number, listing: number): boolean {
    const claims = this.#claims.get(slot);
    const known = claims?.find((claim) => claim.provider === provider);
    if (known !== undefined) {
      known.listing = Math.max(known.listing, listing);
      return false;
    }
    if (claims === undefined) {
      this.#claims.set(slot, [{ provider, listing }]);
      this.#inventory.setFlag(slot, Flag.Disputed, true);
    } else claims.push({ provider, listing });
    this.#counts[provider]!++;
    return true;
  }

  /** The claim is known: the listing repeats it. Returns false if there is none. */
  repeat(slot: number, provider: number, listing: number): boolean {
    const known = this.#claims.get(slot)?.find((claim) => claim.provider === provider);
    if (known === undefined) return false;
    known.listing = listing;
    return true;
  }

  /** A full listing of a provider is applied: drops its claims that the listing did not repeat. Returns the disputes that ended. */
  listed(provider: number, listing: number): number {
    if (!this.hasClaims(provider)) return 0;
    let ended = 0;
    for (const [slot, claims] of this.#claims) {
      const at = claims.findIndex((claim) => claim.provider === provider && claim.listing < listing);
      if (at < 0) continue;
      claims.splice(at, 1);
      this.#counts[provider]!--;
      if (claims.length > 0) continue;
      this.#claims.delete(slot);
      this.#inventory.setFlag(slot, Flag.Disputed, false);
      ended++;
    }
    return ended;
  }

  /** The machine is about to be removed. */
  forget(slot: number): void {
    const claims = this.#claims.get(slot);
    if (claims === undefined) return;
    for (const { provider } of claims) this.#counts[provider]!--;
    this.#claims.delete(slot);
  }
}
