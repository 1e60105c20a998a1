/**
 * A shard's reconcile without the rest of the shard: the inventory, a real pool with its threads, and the reconciler that
 * applies listings.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock, systemScheduler, systemStopwatch } from '../../src/base/clock.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { ProviderNames } from '../../src/listing/apply/provider-names.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import type { ListTimings } from '../../src/provider/pool/listing-thread.ts';
import { ProviderPool } from '../../src/provider/pool/pool.ts';
import { zeroCounters } from '../../src/shard/counters.ts';
import { MachineChanges } from '../../src/shard/machines/changes.ts';
import { Disputes } from '../../src/shard/machines/disputes.ts';
import { FollowUpReads, READS_MIN } from '../../src/shard/machines/reads.ts';
import type { ListingReport, ShardObserver } from '../../src/shard/ports/observer.ts';
import { Reconciler } from '../../src/shard/reconcile/reconciler.ts';
import { createTables } from '../../src/shard/tables.ts';
import type { BenchContext } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';

const LIST_TIMEOUT_MS = 120_000;
const NS_PER_MS = 1e6;

export interface MeasuredListing extends ListingReport {
  readonly timings: ListTimings;
  readonly wallMs: number;
  /** A run measures only one of the two: watching the delay wakes the main thread a thousand times a second. */
  readonly mainMs: number | null;
  readonly delayMs: { readonly p99: number; readonly max: number } | null;
}

export type Watch = 'main thread' | 'delay';

export class Reconciling {
  readonly pool: ProviderPool;
  readonly inventory: Inventory;
  readonly #reconciler: Reconciler;
  #report: ListingReport | null = null;
  #timings: ListTimings = { transferMs: 0, decodeMs: 0, compareMs: 0 };

  constructor(address: string, isIncremental: boolean) {
    const { inventory } = createTables({ machinesMax: 1_048_576, hasRollupGuard: true });
    this.inventory = inventory;
    this.pool = new ProviderPool({
      endpoints: [{ name: 'bench', address }],
      fencing: FencingTokens.create('bench', 1).shared,
      inventory: inventory.share(),
      threads: 1,
      onListed: (_, timings) => {
        this.#timings = timings;
      },
    });
    const observer: ShardObserver = {
      audits: false,
      cycleEnded: () => {},
      actionEnded: () => {},
      happened: () => {},
      listingEnded: (report) => {
        this.#report = report;
      },
    };
    const counters = zeroCounters();
    const { names } = this.pool;
    const resourceNames = new ProviderNames(inventory.shapes.vectors.dimensions, names);
    const changes = new MachineChanges(inventory, counters, observer, names, resourceNames);
    const shared = { changes, counters, observer, providers: this.pool, clock: systemClock };
    const reads = new FollowUpReads({
      ...shared,
      scheduler: systemScheduler,
      stopwatch: systemStopwatch,
      delayMsMax: 10_000,
      timeoutMs: 30_000,
      readsMax: READS_MIN,
      changeLists: { mayList: () => false, list: () => {} },
      listedMin: 0,
    });
    this.#reconciler = new Reconciler({
      ...shared,
      reads,
      stopwatch: systemStopwatch,
      scheduler: systemScheduler,
      isIncremental,
      lossRelistMs: 0,
      removalHoldMs: 0,
      vanishingHoldMs: 0,
      fullListEveryCycles: 0,
      listTimeoutMs: LIST_TIMEOUT_MS,
      optionalProviders: [],
      providerIdPrefixes: [],
      disputes: new Disputes(inventory, names.length),
      resourceNames,
      onFirstListing: () => {},
    });
  }

  async list(watch: Watch): Promise<MeasuredListing> {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const mainBeforeMs = mainThreadCpuMs();
    const startedMs = performance.now();
    if (watch === 'delay') delay.enable();
    await this.#reconciler.listAll();
    delay.disable();
    const wallMs = performance.now() - startedMs;
    const mainMs = watch === 'delay' ? null : mainThreadCpuMs() - mainBeforeMs;
    const delayMs =
      watch === 'delay' ? { p99: delay.percentile(99) / NS_PER_MS, max: delay.max / NS_PER_MS } : null;
    return { ...this.#report!, timings: this.#timings, wallMs, mainMs, delayMs };
  }

  close(): Promise<void> {
    return this.pool.close({ graceMs: 1_000 });
  }
}

/** The figures of a listing, under names that begin with `what`. */
export function sampleListing(context: BenchContext, what: string, listing: MeasuredListing): void {
  context.check(listing.failure === '', `the listing succeeds: ${listing.failure}`);
  context.sample(`${what}: wall`, 'ms', listing.wallMs);
  context.sample(`${what}: transfer`, 'ms', listing.timings.transferMs);
  context.sample(`${what}: decode`, 'ms', listing.timings.decodeMs);
  context.sample(`${what}: compare`, 'ms', listing.timings.compareMs);
  context.sample(`${what}: apply`, 'ms', listing.applyMs);
  context.sample(`${what}: longest slice`, 'ms', listing.sliceMsMax);
  if (listing.mainMs !== null) context.sample(`${what}: main thread`, 'ms', listing.mainMs);
  if (listing.delayMs === null) return;
  context.sample(`${what}: delay p99`, 'ms', listing.delayMs.p99);
  context.sample(`${what}: delay max`, 'ms', listing.delayMs.max);
}
