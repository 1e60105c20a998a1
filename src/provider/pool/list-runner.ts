/**
 * Lists providers, for the thread that does nothing else: receives the answer, decodes it into columns, compares them
 * with the inventory and gives what is news. One decoder for all providers: between the answer's arrival and the
 * result nothing waits, so two listings never need it at a time. After a large answer decoder and comparison are made anew:
 * their columns for 500,000 rows are 70 MB, which would lie idle until the next one.
 *
 * An answer that finds the inventory empty is handed over in parts, each when it is asked for (first-listing.ts), with a
 * decoder of its own. There is one such listing at a time: an answer of another provider that comes meanwhile is given
 * as a whole, because the first part of the other one is about to be in the inventory.
 */
import { systemClock } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import type { SharedInventory } from '../../inventory/inventory.ts';
import { ListingComparison } from '../../listing/compare/comparison.ts';
import { FirstListing } from '../../listing/compare/first-listing.ts';
import { MachineDecoder } from '../../listing/decode/decoder.ts';
import { collectGarbageOf, isLarge } from '../../listing/garbage.ts';
import { giveBack } from '../../listing/give-back.ts';
import type { ProviderFailure } from '../../shard/ports/providers.ts';
import { ProviderDirectory } from '../client/directory.ts';
import type { ListTaskAnswer, WholeListTask } from './listing-thread.ts';
import type { ListSetup } from './setup.ts';

const NO_BYTES = new Uint8Array(0);

/** The main thread asks for the next part before it applies the last one: whoever is so late is not coming back. */
const PART_WAIT_MS_MAX = 30_000;

interface OpenListing {
  readonly provider: number;
  readonly listing: FirstListing;
  readonly transferMs: number;
  readonly patience: NodeJS.Timeout;
}

export class ListRunner {
  readonly #names: readonly string[];
  readonly #directory: ProviderDirectory;
  readonly #inventory: SharedInventory;
  readonly #partBytes: number;
  readonly #partWaitMsMax: number;
  #comparison: ListingComparison;
  #decoder: MachineDecoder;
  #open: OpenListing | null = null;

  constructor(setup: ListSetup, partWaitMsMax = PART_WAIT_MS_MAX) {
    this.#names = setup.endpoints.map(({ name }) => name);
    this.#directory = new ProviderDirectory(setup, { limits: setup.limits, clock: systemClock });
    this.#inventory = setup.inventory as SharedInventory;
    this.#partBytes = setup.partBytes;
    this.#partWaitMsMax = partWaitMsMax;
    this.#comparison = this.#newComparison();
    this.#decoder = this.#newDecoder();
  }

  async list({ provider, sinceRevision, deadlineUnixMs }: WholeListTask): Promise<ListTaskAnswer> {
    this.drop(provider); // whoever lists anew does not come back for the rest
    const startedMs = performance.now();
    const { client } = this.#directory.reader(this.#names[provider]!);
    const outcome = await client.list({ sinceRevision, deadlineUnixMs });
    const transferMs = performance.now() - startedMs;
    if (outcome.kind !== 'answered') {
      const answer = { kind: outcome.kind, detail: outcome.detail };
      return { answer, hasMore: false, timings: { transferMs, decodeMs: 0, compareMs: 0 } };
    }
    const { bytes } = outcome;
    await collectGarbageOf(bytes.length); // the pieces that it was joined from
    const isFull = sinceRevision.length === 0;
    if (isFull && this.#open === null && this.#comparison.knowsNothing) {
      const listing = new FirstListing(bytes, this.#newDecoder(), this.#partBytes);
      const patience = setTimeout(() => this.drop(provider), this.#partWaitMsMax);
      this.#open = { provider, listing, transferMs, patience: patience.unref() };
      return this.next(provider);
    }
    const answerBytes = bytes.length;
    const result = this.#compare(bytes, provider, isFull, transferMs);
    if (isLarge(answerBytes)) {
      this.#comparison = this.#newComparison();
      this.#decoder = this.#newDecoder();
    }
    // The answer itself, and what it was decoded into. While the kernel takes 450 MB back, 30 ms, no thread of the process gets
    // memory: the main thread would stand still over the first rows.
    await collectGarbageOf(answerBytes);
    return result;
  }

  /** The next part of the listing that this provider has begun. */
  next(provider: number): ListTaskAnswer {
    const open = this.#open;
    if (open?.provider !== provider) {
      const detail = 'the rest of the listing is gone: the listing thread was replaced, or gave up waiting';
      const timings = { transferMs: 0, decodeMs: 0, compareMs: 0 };
      return { answer: { kind: 'worker_lost', detail }, hasMore: false, timings };
    }
    const { listing, transferMs, patience } = open;
    patience.refresh();
    const answer = orMalformed(() => listing.next());
    const { hasMore, decodeMs, compareMs } = listing;
    if (!hasMore) this.#close(open);
    return { answer, hasMore, timings: { transferMs, decodeMs, compareMs } };
  }

  /** Nobody will ask this provider for the rest of its listing. */
  drop(provider: number): void {
    if (this.#open?.provider === provider) this.#close(this.#open);
  }

  #close({ listing, patience }: OpenListing): void {
    this.#open = null;
    clearTimeout(patience);
    listing.end();
    void collectGarbageOf(listing.answerBytes); // the answer itself, and what it was decoded into
  }

  #newComparison(): ListingComparison {
    return new ListingComparison(this.#inventory, this.#names);
  }

  #newDecoder(): MachineDecoder {
    return new MachineDecoder({ ownLabelKeys: this.#comparison.ownLabelKeys });
  }

  #compare(bytes: Uint8Array, provider: number, isFull: boolean, transferMs: number): ListTaskAnswer {
    const startedMs = performance.now();
    let decodedMs = startedMs;
    try {
      const answer = orMalformed(() => {
        const batch = this.#decoder.decodeList(bytes);
        decodedMs = performance.now();
        return this.#comparison.compare(batch, provider, isFull);
      });
      const compareMs = performance.now() - decodedMs;
      return { answer, hasMore: false, timings: { transferMs, decodeMs: decodedMs - startedMs, compareMs } };
    } finally {
      this.#decoder.decodeList(NO_BYTES); // lets go of the answer, which may be 400 MB, so that …
      giveBack(bytes); // … it is gone before the next one comes
    }
  }
}

function orMalformed<Answer>(read: () => Answer): Answer | ProviderFailure {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ShardError)) throw error; // our own bug, not the provider's
    return { kind: 'malformed', detail: boundedDetail(error.message) };
  }
}
