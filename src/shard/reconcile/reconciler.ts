/**
 * Keeps the inventory in step with the providers' listings (S1–S7). One listing per provider at a time is compared in its
 * own thread; the differences are applied here in slices, so that sessions and health checks get answers meanwhile. A
 * failed listing changes only a count, and a suspect one removes no machine.
 */
import type { Clock, Scheduler, Stopwatch } from '../../base/clock.ts';
import { type ApplyContext, ListingApplication } from '../../listing/apply/apply.ts';
import { IdPrefixes, type ProviderIdPrefix } from '../../listing/apply/id-prefixes.ts';
import type { ProviderNames } from '../../listing/apply/provider-names.ts';
import { RefusedMachines } from '../../listing/apply/refused-machines.ts';
import type { MachineChanges } from '../machines/changes.ts';
import type { Disputes } from '../machines/disputes.ts';
import type { FollowUpReads } from '../machines/reads.ts';
import type { HeldListingView, ListingReport, ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { ListAnswer, Listing, ProviderPort } from '../ports/providers.ts';
import { type HoldVerdict, RemovalHold } from './removal-hold.ts';

/** S2: a doubted row needs a second observation; beyond this number the next listing gives it, not single reads. */
const DOUBTS_READ_MAX = 256;
/** S6: a hold is logged when it begins or changes, and then as often as this. */
const HOLD_SAID_MS = 60_000;
/**
 * A slice ends at the first look at the watch after this long. Where threads outnumber cores, the system may suspend a slice
 * for 4 ms per other thread: the shorter the slice, the rarer that is.
 */
const SLICE_MS = 2;
/**
 * On a busy thread a turn of the event loop takes 200 ms. With one slice of 2 ms in each, a listing of 30,000 changes took ten
 * seconds, while the shard read the same machines one by one. So a slice may take this share of the turn before it, …
 */
const SLICE_SHARE = 1 / 8;
/** … up to this. */
const SLICE_MS_MAX = 25;
/** Few, because the first sixteen rows run before the code is compiled and take 4 to 8 ms. */
const ROWS_BETWEEN_LOOKS = 16;

export interface ReconcilerOptions {
  readonly changes: MachineChanges;
  readonly reads: FollowUpReads;
  readonly providers: ProviderPort;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly scheduler: Scheduler;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly isIncremental: boolean;
  readonly fullListEveryCycles: number;
  readonly lossRelistMs: number;
  readonly removalHoldMs: number;
  readonly vanishingHoldMs: number;
  readonly listTimeoutMs: number;
  readonly optionalProviders: readonly string[];
  readonly providerIdPrefixes: readonly ProviderIdPrefix[];
  readonly disputes: Disputes;
  readonly resourceNames: ProviderNames;
  /** A provider's first listing is complete. */
  readonly onFirstListing: () => void;
  /** F4: by provider, where the standby's listings ended. The first listing begins there. */
  readonly cursors?: ListingCursors;
}

/** By provider; empty: list everything. */
export type ListingCursors = readonly Uint8Array[];

interface ProviderState {
  readonly index: number;
  readonly name: string;
  readonly isOptional: boolean;
  cursor: Uint8Array;
  listings: number;
  /** Ordinary cycles since the last full listing. */
  cyclesSinceFull: number;
  wantsFull: boolean;
  /** When a listing was full because the connection was lost; by the shard's clock. */
  relistedMs: number;
  /** Doubted machines of the last listing, too many to read one by one: the next listing decides. */
  doubted: readonly number[];
  /** S6: holds removals while listings lack many machines. */
  readonly hold: RemovalHold;
  /** When the log last named the held listing; by the stopwatch. */
  saidMs: number;
  readonly refused: RefusedMachines;
  /** The listing under way. */
  running: Promise<void> | null;
  lastFailure: string;
  /** T6: the shard refused every row of the last full listing. The first error, '' if it accepted some. */
  refusal: string;
}

/** Time of the main thread, ms: in all, and in the longest slice. */
interface Slices {
  applyMs: number;
  sliceMsMax: number;
}

const NO_CURSOR = new Uint8Array(0);
const NONE_DOUBTED: readonly number[] = [];
const NONE_REJECTED = { price: 0, interruption_probability: 0, structural: 0 };

export interface ProviderListingView {
  readonly name: string;
  readonly isOptional: boolean;
  readonly hasListed: boolean;
  readonly isListing: boolean;
  /** Of the last listing; '' if it succeeded. */
  readonly lastFailure: string;
  /** T6: the first error if the shard refused every row of the last full listing; ''. */
  readonly refusal: string;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #providers: readonly ProviderState[];
  readonly #context: ApplyContext;
  #isStopped = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { providers, providerIdPrefixes } = options;
    const idPrefixes =
      providerIdPrefixes.length === 0 ? null : new IdPrefixes(providers.names, providerIdPrefixes);
    this.#context = { ...options, idPrefixes };
    this.#providers = options.providers.names.map((name, index) => ({
      index,
      name,
      isOptional: options.optionalProviders.includes(name),
      cursor: options.cursors?.[index] ?? NO_CURSOR,
      listings: 0,
      cyclesSinceFull: 0,
      wantsFull: false,
      relistedMs: Number.NEGATIVE_INFINITY,
      doubted: NONE_DOUBTED,
      hold: new RemovalHold(options),
      saidMs: 0,
      refused: new RefusedMachines(),
      running: null,
      lastFailure: '',
      refusal: '',
    }));
  }

  /** C2: no action before these providers have been listed once. Each name with the kind of its last failure. */
  notListedYet(): string[] {
    return this.#providers
      .filter((known) => !known.isOptional && known.listings === 0)
      .map(({ name, lastFailure }) =>
        lastFailure === '' ? name : `${name} (${lastFailure.split(':', 1)[0]!})`,
      );
  }

  /** By provider: a whole listing of it has been applied. */
  hasListed(provider: number): boolean {
    return this.#providers[provider]!.listings > 0;
  }

  /** T6: required providers of which the shard refused every row, each with the first error. */
  refusedWholly(): string[] {
    return this.#providers
      .filter(({ isOptional, refusal }) => !isOptional && refusal !== '')
      .map(({ name, refusal }) => `every machine of provider ${name} is refused: ${refusal}`);
  }

  /** A first listing is under way and has not failed: the inventory may hold any part of that fleet. */
  isFirstListingUnderWay(): boolean {
    return this.#providers.some(
      (known) => !known.isOptional && known.listings === 0 && known.lastFailure === '',
    );
  }

  view(): ProviderListingView[] {
    return this.#providers.map((known) => ({
      name: known.name,
      isOptional: known.isOptional,
      hasListed: known.listings > 0,
      isListing: known.running !== null,
      lastFailure: known.lastFailure,
      refusal: known.refusal,
    }));
  }

  holdOf(provider: number): RemovalHold {
    return this.#providers[provider]!.hold;
  }

  /** S6: providers whose listings remove nothing now. */
  heldListings(): HeldListingView[] {
    const nowMs = this.#options.stopwatch();
    return this.#providers.flatMap(({ name: provider, hold }) => {
      const { held } = hold;
      if (held === null) return [];
      const { knownCount, missing, sinceMs, confirmation } = held;
      const missingCount = missing.length;
      const confirmedBy = confirmation?.who ?? '';
      const leftMs = hold.leftMs(held, nowMs);
      return [{ provider, knownCount, missingCount, forMs: nowMs - sinceMs, leftMs, confirmedBy }];
    });
  }

  /** F4: for a shard that begins with this inventory. None where only a full listing could show everything. */
  cursors(): ListingCursors {
    const { changes, disputes } = this.#options;
    return this.#providers.map(({ cursor, wantsFull, refused }) =>
      wantsFull || refused.isAny || changes.doubtCount > 0 || disputes.count > 0 ? NO_CURSOR : cursor,
    );
  }

  /** Starts a listing of every provider without one under way, once a cycle; resolves when all of them are applied. */
  async listAll(): Promise<void> {
    for (const known of this.#providers) known.cyclesSinceFull++;
    await Promise.all(this.#providers.map((known) => this.#running(known)));
  }

  /** X13: whether a listing of the provider would begin now and show what changed since the last one, which succeeded. */
  mayListChanges(index: number): boolean {
    const provider = this.#providers[index]!;
    const isFree = !this.#isStopped && provider.running === null && provider.lastFailure === '';
    return isFree && !this.#mustBeFull(provider);
  }

  /** Lists a provider between cycles. */
  listChanges(index: number): void {
    void this.#running(this.#providers[index]!);
  }

  /** Resolves when the listings under way are applied. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#providers.map(({ running }) => running));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** The listing under way, or a new one. */
  #running(provider: ProviderState): Promise<void> {
    provider.running ??= this.#list(provider).finally(() => {
      provider.running = null;
    });
    return provider.running;
  }

  #mustBeFull(provider: ProviderState): boolean {
    const { changes, disputes, isIncremental, fullListEveryCycles } = this.#options;
    const mayUseCursor = isIncremental || provider.listings === 0; // F4: the first cursor is the standby's
    if (!mayUseCursor || provider.cursor.length === 0 || provider.wantsFull) return true;
    if (fullListEveryCycles > 0 && provider.cyclesSinceFull >= fullListEveryCycles) return true;
    // T10: only a full listing shows that a provider no longer claims the machine of another.
    return provider.refused.isAnyGone(changes.inventory) || disputes.hasClaims(provider.index);
  }

  async #list(provider: ProviderState): Promise<void> {
    const { changes, providers, clock, listTimeoutMs, lossRelistMs } = this.#options;
    const nowMs = clock.nowMs();
    const isFull = this.#mustBeFull(provider);
    const begun = changes.sequence;
    const answer = await providers.list({
      provider: provider.index,
      sinceRevision: isFull ? NO_CURSOR : provider.cursor,
      isFullAfterLoss: lossRelistMs > 0 && nowMs - provider.relistedMs >= lossRelistMs,
      wantsAllRows: changes.trusts(provider.listings + 1),
      deadlineUnixMs: nowMs + listTimeoutMs,
    });
    if (answer.kind === 'listed' && answer.isFull && !isFull) provider.relistedMs = nowMs;
    if (answer.kind === 'listed') await this.#apply(provider, answer, begun);
    else if (!this.#isStopped) this.#failed(provider, answer);
  }

  async #apply(provider: ProviderState, first: Listing, begun: number): Promise<void> {
    const { changes, counters, reads } = this.#options;
    if (this.#isStopped) {
      first.release?.();
      return;
    }
    const number = provider.listings + 1;
    const verdict = this.#judge(provider, first);
    const isSuspect = verdict === 'held';
    const heldInARow = provider.hold.held?.inARow ?? 0;
    if (first.isFull) provider.refused.clear(); // a full listing names all of them
    const application = new ListingApplication(this.#context, first, {
      provider: provider.index,
      number,
      begun,
      mayRemove: !isSuspect,
      refused: provider.refused,
      mayDispute: () => this.#isGateClosed(),
      listingOf: (other) => this.#providers[other]!.listings + 1,
    });
    const slices = { applyMs: 0, sliceMsMax: 0 };
    const listing = await this.#applyParts(application, first, slices);
    application.close();
    if (this.#isStopped) return;
    if (listing.kind !== 'listed') {
      this.#failed(provider, listing);
      return;
    }
    this.#countRejected(provider, listing);
    this.#settleClaims(provider, listing, application);
    const { counts, doubted } = application;
    if (listing.isFull) provider.refusal = refusalOf(listing, application);
    const isReadByOne = doubted.length <= DOUBTS_READ_MAX;
    if (isReadByOne) for (const slot of doubted) if (this.#exists(slot)) reads.recheck(slot);
    if (listing.isFull) for (const slot of provider.doubted) changes.dropDoubt(slot, number);
    provider.doubted = isReadByOne ? NONE_DOUBTED : doubted;
    // Machines that a suspect or empty listing did not show would stay hidden in an incremental one.
    const showsTooLittle = isSuspect || (listing.isFull && listing.listedCount === 0);
    provider.wantsFull = !isReadByOne || application.lacksRows || showsTooLittle;
    // S1: the cursor moves only after every row is applied or deferred; a lost row would never be listed again.
    provider.cursor = listing.revision;
    provider.listings = number;
    provider.lastFailure = '';
    if (listing.isFull) provider.cyclesSinceFull = 0;
    if (isSuspect) counters.suspectListings++;
    this.#report({
      ...reportOf(provider, listing, isSuspect),
      knownCount: provider.hold.held?.knownCount ?? first.knownCount,
      missingCount: first.removed.count,
      heldInARow,
      isRemovalBelieved: verdict === 'agreed' || verdict === 'confirmed',
      newCount: counts.new,
      changedCount: counts.changed,
      removedCount: counts.removed,
      deferredCount: counts.deferred,
      doubtedCount: doubted.length,
      foreignCount: counts.foreign,
      ...slices,
    });
    if (number === 1) this.#options.onFirstListing();
  }

  /** Applies each part while the next one is prepared. Returns the last one, or the failure in its place. */
  async #applyParts(application: ListingApplication, first: Listing, slices: Slices): Promise<ListAnswer> {
    for (let part = first; ; application.continueWith(part)) {
      const coming = this.#isStopped ? undefined : part.next?.();
      // A part that was ready early would else begin right after the last slice, without a turn for others.
      if (part !== first) await this.#options.scheduler.yield();
      await this.#applySlices(application, slices);
      part.release?.();
      if (coming === undefined) return part;
      const answer = await coming;
      if (answer.kind !== 'listed') return answer;
      part = answer;
    }
  }

  async #applySlices(application: ListingApplication, slices: Slices): Promise<void> {
    const { changes, clock, stopwatch, scheduler } = this.#options;
    const { inventory } = changes;
    let endedMs = stopwatch();
    while (!application.isDone && !this.#isStopped) {
      const beganMs = stopwatch();
      const sliceMs = Math.min(SLICE_MS_MAX, Math.max(SLICE_MS, (beganMs - endedMs) * SLICE_SHARE));
      do application.step(ROWS_BETWEEN_LOOKS, clock.nowMs());
      while (!application.isDone && stopwatch() - beganMs < sliceMs);
      endedMs = stopwatch();
      noteSlice(slices, endedMs - beganMs);
      if (inventory.lacksRanks) {
        // Ranking half a million ids at once would delay the first cycle by half a second.
        await scheduler.yield();
        const rankingMs = stopwatch();
        inventory.ensureRanks();
        noteSlice(slices, stopwatch() - rankingMs);
      }
      if (!application.isDone) await scheduler.yield();
    }
  }

  #exists(slot: number): boolean {
    return this.#options.changes.inventory.columns.state[slot] !== 0;
  }

  /** S6: whether the machines that the listing lacks may be removed, and how long they have to wait. */
  #judge(provider: ProviderState, listing: Listing): HoldVerdict {
    if (!listing.isFull) return 'usual';
    const { observer, stopwatch } = this.#options;
    const { hold, name } = provider;
    const nowMs = stopwatch();
    const before = hold.held;
    const { listedCount, knownCount, unnamedCount } = listing;
    const missing = listing.removed.slot;
    const missingCount = missing.length;
    const verdict = hold.judge({ listedCount, knownCount, missing, unnamedCount }, nowMs);
    if (verdict === 'usual') return verdict;
    const facts = { provider: name, knownCount: hold.held?.knownCount ?? knownCount, missingCount };
    if (verdict === 'ended') observer.happened({ kind: 'listing_suspect_ended', level: 'info', ...facts });
    else if (verdict !== 'held') {
      const { who = '', why = '' } = hold.believed?.confirmation ?? {};
      observer.happened({ kind: 'removal_believed', level: 'warn', ...facts, because: verdict, who, why });
    } else {
      const held = hold.held!;
      const { inARow, isVanishing, confirmation } = held;
      const isNews =
        inARow === 1 || before?.isVanishing !== isVanishing || before.confirmation !== confirmation;
      if (!isNews && nowMs - provider.saidMs < HOLD_SAID_MS) return verdict;
      provider.saidMs = nowMs;
      const leftMs = hold.leftMs(held, nowMs);
      const next = `the shard removes none until listings agree for that long, or: flotilla confirm-removal ${name} --why TEXT`;
      observer.happened({ kind: 'listing_suspect', level: 'warn', ...facts, inARow, leftMs, next });
    }
    return verdict;
  }

  #countRejected(provider: ProviderState, { rejected, rejectionTexts }: Listing): void {
    const { counters, observer } = this.#options;
    for (const reason of ['price', 'interruption_probability', 'structural'] as const) {
      counters.rejected[reason] += rejected[reason];
    }
    const detail = rejectionTexts[0];
    if (detail === undefined) return;
    const reason =
      rejected.price > 0 ? 'price' : rejected.structural > 0 ? 'structural' : 'interruption_probability';
    observer.happened({ kind: 'record_rejected', level: 'warn', provider: provider.name, reason, detail });
  }

  /** C2: no action has been emitted yet. */
  #isGateClosed(): boolean {
    return this.#providers.some(({ isOptional, listings }) => !isOptional && listings === 0);
  }

  /** T10: reports new disputes, and ends those whose claim a full listing did not repeat. */
  #settleClaims(provider: ProviderState, listing: Listing, application: ListingApplication): void {
    const { changes, disputes, observer } = this.#options;
    const { counts, firstDisputed } = application;
    if (counts.disputed > 0) {
      const { inventory } = changes;
      const owners = [inventory.columns.provider[firstDisputed]!, ...disputes.claimantsOf(firstDisputed)];
      observer.happened({
        kind: 'machines_disputed',
        level: 'error',
        provider: provider.name,
        count: counts.disputed,
        machineId: inventory.idOf(firstDisputed),
        claimedBy: owners.map((index) => this.#providers[index]!.name).join(', '),
      });
    }
    const ended = listing.isFull ? disputes.listed(provider.index, provider.listings + 1) : 0;
    if (ended > 0) {
      observer.happened({ kind: 'disputes_ended', level: 'info', provider: provider.name, count: ended });
    }
  }

  /** S7: a failed listing changes nothing. */
  #failed(provider: ProviderState, answer: Exclude<ListAnswer, Listing>): void {
    this.#options.counters.failedListings++;
    provider.lastFailure = `${answer.kind}: ${answer.detail}`;
    this.#report({
      provider: provider.name,
      isFull: provider.cursor.length === 0,
      failure: provider.lastFailure,
      durationMs: answer.durationMs,
      answerBytes: 0,
      listedCount: 0,
      newCount: 0,
      changedCount: 0,
      removedCount: 0,
      deferredCount: 0,
      doubtedCount: 0,
      foreignCount: 0,
      rejected: NONE_REJECTED,
      isSuspect: false,
      knownCount: 0,
      missingCount: 0,
      heldInARow: 0,
      isRemovalBelieved: false,
      sliceMsMax: 0,
      applyMs: 0,
    });
  }

  #report(report: ListingReport): void {
    this.#options.observer.listingEnded(report);
  }
}

function noteSlice(slices: Slices, sliceMs: number): void {
  slices.applyMs += sliceMs;
  slices.sliceMsMax = Math.max(slices.sliceMsMax, sliceMs);
}

/** The first error if the shard refused every row of a listing; '' if it has no rows, or the shard accepted one. */
function refusalOf(listing: Listing, { counts, firstRefusal }: ListingApplication): string {
  const { price, interruption_probability, structural } = listing.rejected;
  const decodedOut = price + interruption_probability + structural;
  if (decodedOut + counts.rejected === 0 || listing.listedCount > counts.rejected) return '';
  return listing.rejectionTexts[0] ?? firstRefusal;
}

function reportOf(provider: ProviderState, listing: Listing, isSuspect: boolean) {
  const { isFull, durationMs, answerBytes, listedCount, rejected } = listing;
  return {
    provider: provider.name,
    failure: '',
    isFull,
    durationMs,
    answerBytes,
    listedCount,
    rejected,
    isSuspect,
  };
}
