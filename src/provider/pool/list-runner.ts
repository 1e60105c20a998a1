/**
 * Lists providers, in the listing thread: receives the answer, decodes it into columns, compares them with the
 * inventory and returns the rows that are new or changed. All providers share one decoder: decoding and comparing never
 * wait, so two listings never need it at once. After a large answer the runner replaces decoder and comparison: their
 * columns for 500,000 rows are 70 MB, which would stay unused until the next listing.
 *
 * While the inventory is empty, the runner hands an answer over in parts, each on request (first-listing.ts), with a
 * separate decoder. There is one such listing at a time. If another provider answers meanwhile, its answer is compared
 * as a whole, because the first part of the open listing is about to be in the inventory.
 */
import { systemClock } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import type { SharedInventory } from '../../inventory/inventory.ts';
import { type ListedBy, ListingComparison } from '../../listing/compare/comparison.ts';
import { FirstListing } from '../../listing/compare/first-listing.ts';
import { MachineDecoder } from '../../listing/decode/decoder.ts';
import { collectGarbageOf, isLarge } from '../../listing/garbage.ts';
import { giveBack } from '../../listing/give-back.ts';
import type { ProviderFailure } from '../../shard/ports/providers.ts';
import type { ProviderClient } from '../client/client.ts';
import { ProviderDirectory } from '../client/directory.ts';
import type { RawOutcome } from '../client/outcome.ts';
import type { ListTaskAnswer, WholeListTask } from './listing-thread.ts';
import type { ListSetup } from './setup.ts';

const NO_BYTES = new Uint8Array(0);

/** The main thread requests the next part before it applies the last one: after this long it will not come back. */
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

  async list(task: WholeListTask): Promise<ListTaskAnswer> {
    const { provider } = task;
    this.drop(provider); // a new listing replaces the rest of an open one
    const startedMs = performance.now();
    const { client } = this.#directory.reader(this.#names[provider]!);
    const { outcome, isFull } = await ask(client, task);
    const transferMs = performance.now() - startedMs;
    if (outcome.kind !== 'answered') {
      const answer = { kind: outcome.kind, detail: outcome.detail };
      return { answer, hasMore: false, timings: { transferMs, decodeMs: 0, compareMs: 0 } };
    }
    const { bytes } = outcome;
    await collectGarbageOf(bytes.length); // the pieces of which gRPC assembled it
    if (isFull && this.#open === null && this.#comparison.knowsNothing) {
      const listing = new FirstListing(bytes, this.#newDecoder(), this.#partBytes);
      const patience = setTimeout(() => this.drop(provider), this.#partWaitMsMax);
      this.#open = { provider, listing, transferMs, patience: patience.unref() };
      return this.next(provider);
    }
    const answerBytes = bytes.length;
    const wantsAllRows = task.wantsAllRows === true && !isFull;
    const result = this.#compare(bytes, { provider, isFull, wantsAllRows }, transferMs);
    if (isLarge(answerBytes)) {
      this.#comparison = this.#newComparison();
      this.#decoder = this.#newDecoder();
    }
    // The answer and its columns. While the kernel unmaps 450 MB, for 30 ms, no thread of the process gets memory; later
    // than this, the main thread would stall on the first rows.
    await collectGarbageOf(answerBytes);
    return result;
  }

  /** The next part of this provider's open listing. */
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

  /** The main thread will not request the rest of this provider's listing. */
  drop(provider: number): void {
    if (this.#open?.provider === provider) this.#close(this.#open);
  }

  #close({ listing, patience }: OpenListing): void {
    this.#open = null;
    clearTimeout(patience);
    listing.end();
    void collectGarbageOf(listing.answerBytes); // the answer and its columns
  }

  #newComparison(): ListingComparison {
    return new ListingComparison(this.#inventory, this.#names);
  }

  #newDecoder(): MachineDecoder {
    return new MachineDecoder({ ownLabelKeys: this.#comparison.ownLabelKeys });
  }

  #compare(bytes: Uint8Array, listed: ListedBy, transferMs: number): ListTaskAnswer {
    const startedMs = performance.now();
    let decodedMs = startedMs;
    try {
      const answer = orMalformed(() => {
        const batch = this.#decoder.decodeList(bytes);
        decodedMs = performance.now();
        return this.#comparison.compare(batch, listed);
      });
      const compareMs = performance.now() - decodedMs;
      return { answer, hasMore: false, timings: { transferMs, decodeMs: decodedMs - startedMs, compareMs } };
    } finally {
      // Frees the answer, which may be 400 MB, before the next one arrives. The decoder must not refer to it any more.
      this.#decoder.decodeList(NO_BYTES);
      giveBack(bytes);
    }
  }
}

/**
 * S1: a full listing if the connection was lost and the task allows it. It may be lost while the call is under way: the
 * answer then comes from a provider that does not know the cursor, so the listing is repeated.
 */
async function ask(
  client: ProviderClient,
  { sinceRevision, isFullAfterLoss = false, deadlineUnixMs }: WholeListTask,
): Promise<{ readonly outcome: RawOutcome; readonly isFull: boolean }> {
  const mustBeFull = () => sinceRevision.length === 0 || (isFullAfterLoss && client.hasLostConnection);
  if (!mustBeFull()) {
    const outcome = await client.list({ sinceRevision, deadlineUnixMs });
    if (outcome.kind !== 'answered' || !mustBeFull()) return { outcome, isFull: false };
  }
  const outcome = await client.list({ deadlineUnixMs });
  if (outcome.kind === 'answered') client.forgetLostConnection();
  return { outcome, isFull: true };
}

function orMalformed<Answer>(read: () => Answer): Answer | ProviderFailure {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ShardError)) throw error; // a bug of this shard, not of the provider
    return { kind: 'malformed', detail: boundedDetail(error.message) };
  }
}
