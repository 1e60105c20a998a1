/**
 * Keeps the last refusal of each tenant. A roll-up has no error frame, so the person whose operator sends a bad one finds the
 * reason in the log, in a counter, and on the page of tenants, which reads this book.
 */
import type { Clock } from '../base/clock.ts';
import { cutText } from '../base/cut-text.ts';
import type { ListingReport, ShardEvent, ShardObserver } from '../shard/ports/observer.ts';
import type { ListingFacts, TenantKind, TenantRefusal, TenantRefusals } from '../shard/ports/tenants.ts';

/** Twice the clusters that a shard serves; 1 KB each. Beyond it, the tenant whose refusal is oldest is forgotten. */
export const TENANTS_KEPT_MAX = 4_096;
const REASON_CHARS_MAX = 512;

export class TenantBook implements TenantRefusals, Pick<ShardObserver, 'happened' | 'listingEnded'> {
  readonly #clock: Clock;
  /** In the order of their last refusal. */
  readonly #refusals = new Map<string, TenantRefusal>();
  /** As many as there are settings --provider-addr. */
  readonly #listings = new Map<string, ListingFacts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  happened(event: ShardEvent): void {
    if (event.kind === 'rollup_rejected') this.#note('cluster', event.clusterId, event.detail, 1);
    else if (event.kind === 'record_rejected') this.#note('provider', event.provider, event.detail, 1);
  }

  /** The listing's first rejected row came as an event, with its reason; the others are only counted. */
  listingEnded({ provider, isFull, isSuspect, rejected, failure, ...listed }: ListingReport): void {
    const rows = Object.values(rejected).reduce((sum, count) => sum + count, 0);
    const known = this.of('provider', provider);
    if (rows > 1) this.#note('provider', provider, known?.reason ?? 'the shard rejected rows', rows - 1);
    const last = this.listing(provider);
    const isRead = failure === '';
    const { heldInARow: inARow, missingCount: missing } = listed;
    const held = isSuspect ? { inARow, known: listed.knownCount, missing } : null;
    this.#listings.set(provider, {
      atMs: this.#clock.nowMs(),
      completeAtMs: isRead ? this.#clock.nowMs() : (last?.completeAtMs ?? 0),
      held: isRead && isFull ? held : (last?.held ?? null),
      machines: isRead ? listed.listedCount : (last?.machines ?? 0),
      foreignIds: isRead && isFull ? listed.foreignCount : (last?.foreignIds ?? 0),
      failure,
    });
  }

  of(kind: TenantKind, name: string): TenantRefusal | null {
    return this.#refusals.get(`${kind} ${name}`) ?? null;
  }

  all(): Iterable<TenantRefusal> {
    return this.#refusals.values();
  }

  listing(provider: string): ListingFacts | null {
    return this.#listings.get(provider) ?? null;
  }

  /** Rejected rows by provider, for metrics. */
  rejectedRows(): Record<string, number> {
    const rows: Record<string, number> = {};
    for (const provider of this.#listings.keys())
      rows[provider] = this.of('provider', provider)?.refused ?? 0;
    return rows;
  }

  #note(kind: TenantKind, name: string, reason: string, count: number): void {
    const key = `${kind} ${name}`;
    const refused = (this.#refusals.get(key)?.refused ?? 0) + count;
    this.#refusals.delete(key);
    this.#refusals.set(key, {
      kind,
      name,
      refused,
      reason: cutText(reason, REASON_CHARS_MAX),
      atMs: this.#clock.nowMs(),
    });
    if (this.#refusals.size <= TENANTS_KEPT_MAX) return;
    const [oldest] = this.#refusals.keys();
    this.#refusals.delete(oldest!);
  }
}
