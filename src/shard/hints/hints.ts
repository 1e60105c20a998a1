/**
 * O5: hints to operators about available capacity. For each profile that its cluster demands, an operator learns how many
 * unassigned machines match, how certain that is, and what the cheapest costs. No part waits for hints, so they get only
 * spare time: an answer is computed once per requirement set, clusters and their keys take turns so that the stalest goes
 * first, and each run limits how much it reads and sends.
 *
 *   by key (a cluster with a session, a profile it demands)
 *     profile, set      u32   refs; a key holds a reference to its profile, and so to the set
 *     count             i32   what was last sent; -1 = nothing
 *     confidence        u8
 *     costUsd, sentMs   f64
 */
import type { StringTable } from '../../base/string-table.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { HintConfidence, OperatorsPort } from '../ports/operators.ts';
import { HintSupply } from './hint-supply.ts';

export const HINT_INTERVAL_MS = 5_000;
export const HINTS_PER_SECOND_MAX = 2_000;

/** A longer hint counts as several of this size: it has the requirements, and the fingerprint that repeats them. Usual ones have 300 bytes. */
const HINT_CHARS = 512;

/** Keys visited and shapes matched in one run: half a millisecond each. */
const KEYS_PER_RUN = 32_768;
const MATCHES_PER_RUN = 8_192;
/** Rows read in one run, of clusters whose needs changed: a fraction of a millisecond. */
const ROWS_PER_RUN = 8_192;
const BYTES_PER_KEY = 29;

export interface CapacityHintsOptions {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  /** The table that inventory and needs share. */
  readonly clusters: StringTable;
  readonly operators: Pick<OperatorsPort, 'hintCapacity'>;
  /** Shortest time between two hints with one key. */
  readonly intervalMs?: number;
  readonly perSecondMax?: number;
}

interface ClusterKeys {
  readonly clusterId: string;
  readonly cluster: number;
  /** Version of the needs that the keys were read from; -1 = not read yet. */
  needsVersion: number;
  profile: Uint32Array;
  set: Uint32Array;
  count: Int32Array;
  confidence: Uint8Array;
  costUsd: Float64Array;
  sentMs: Float64Array;
}

export class CapacityHints {
  readonly #options: CapacityHintsOptions;
  readonly #intervalMs: number;
  readonly #perSecondMax: number;
  readonly #supply: HintSupply;
  readonly #byCluster = new Map<string, ClusterKeys>();
  /** The clusters take turns: `#turn` is the current one, `#nextKey` its next key. */
  #clusters: ClusterKeys[] = [];
  #turn = 0;
  #nextKey = 0;
  #keyCount = 0;
  /** By profile: number of the reading that last found it. */
  #seenIn = new Uint32Array(0);
  #reading = 0;
  /** Keys not visited yet since the last change. */
  #keysToVisit = 0;
  /** When the first hint that came too early may be sent. */
  #nextDueMs = Number.POSITIVE_INFINITY;
  #allowance: number;
  #lastRunMs = Number.NEGATIVE_INFINITY;

  constructor(options: CapacityHintsOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? HINT_INTERVAL_MS;
    this.#perSecondMax = options.perSecondMax ?? HINTS_PER_SECOND_MAX;
    this.#allowance = this.#perSecondMax;
    this.#supply = new HintSupply(options.inventory, options.needs.profiles.requirementSets);
  }

  /** A new session has received no hints. */
  sessionOpened(clusterId: string): void {
    this.sessionClosed(clusterId);
    const cluster = this.#options.clusters.intern(clusterId);
    const keys: ClusterKeys = { clusterId, cluster, needsVersion: -1, ...columnsFor(0) };
    this.#byCluster.set(clusterId, keys);
    this.#clusters.push(keys);
  }

  sessionClosed(clusterId: string): void {
    const keys = this.#byCluster.get(clusterId);
    if (keys === undefined) return;
    this.#byCluster.delete(clusterId);
    this.#keyCount -= keys.profile.length;
    for (const profile of keys.profile) this.#options.needs.profiles.release(profile);
    this.#options.clusters.release(keys.cluster);
    const place = this.#clusters.indexOf(keys);
    this.#clusters.splice(place, 1);
    if (place < this.#turn) this.#turn--;
    else if (place === this.#turn) this.#nextKey = 0;
  }

  /** Sends due hints as far as the limits allow. Returns whether another run soon would find more. */
  run(nowMs: number): boolean {
    this.#earn(nowMs);
    const hasNewSupply = this.#supply.refresh();
    const hasNewNeeds = this.#readNeeds();
    if (hasNewSupply || hasNewNeeds || nowMs >= this.#nextDueMs) {
      this.#keysToVisit = this.#keyCount;
      this.#nextDueMs = Number.POSITIVE_INFINITY;
    }
    if (this.#keysToVisit > 0) this.#visitKeys(nowMs);
    return this.#keysToVisit > 0 || this.#nextDueMs < Number.POSITIVE_INFINITY;
  }

  #earn(nowMs: number): void {
    const earned = ((nowMs - this.#lastRunMs) / 1_000) * this.#perSecondMax;
    this.#lastRunMs = nowMs;
    this.#allowance = Math.min(this.#perSecondMax, this.#allowance + Math.max(0, earned));
  }

  /** Reads the profiles of clusters whose needs changed. Returns whether there were any. */
  #readNeeds(): boolean {
    const { needs } = this.#options;
    let hasChanged = false;
    let rowsLeft = ROWS_PER_RUN;
    for (const keys of this.#clusters) {
      const version = needs.versionOf(keys.cluster);
      if (keys.needsVersion === version) continue;
      hasChanged = true;
      if (rowsLeft <= 0) break;
      rowsLeft -= needs.sliceCount(keys.cluster);
      keys.needsVersion = version;
      this.#readProfiles(keys);
    }
    return hasChanged;
  }

  /** Reads each profile of the cluster once, and keeps what was sent for those that it had before. */
  #readProfiles(keys: ClusterKeys): void {
    const profiles = this.#profilesOf(keys.cluster);
    const table = this.#options.needs.profiles;
    const before = { ...keys };
    Object.assign(keys, columnsFor(profiles.length));
    this.#keyCount += profiles.length - before.profile.length;
    for (let key = 0, old = 0; key < profiles.length; key++) {
      const profile = profiles[key]!;
      keys.profile[key] = profile;
      keys.set[key] = table.get(profile).requirementSet;
      table.retain(profile);
      while (old < before.profile.length && before.profile[old]! < profile) old++;
      if (before.profile[old] !== profile) continue;
      keys.count[key] = before.count[old]!;
      keys.confidence[key] = before.confidence[old]!;
      keys.costUsd[key] = before.costUsd[old]!;
      keys.sentMs[key] = before.sentMs[old]!;
    }
    for (const profile of before.profile) table.release(profile);
    if (this.#clusters[this.#turn] === keys) this.#nextKey = 0;
  }

  #profilesOf(cluster: number): Uint32Array {
    const { needs } = this.#options;
    const { profile } = needs;
    if (needs.profiles.refLimit > this.#seenIn.length) {
      this.#seenIn = new Uint32Array(2 * needs.profiles.refLimit);
      this.#reading = 0;
    }
    this.#reading++;
    const found: number[] = [];
    const end = needs.sliceStart(cluster) + needs.sliceCount(cluster);
    for (let row = needs.sliceStart(cluster); row < end; row++) {
      if (this.#seenIn[profile[row]!] === this.#reading) continue;
      this.#seenIn[profile[row]!] = this.#reading;
      found.push(profile[row]!);
    }
    return Uint32Array.from(found).sort();
  }

  /** Visits clusters in turn until all keys are visited or a limit is reached. */
  #visitKeys(nowMs: number): void {
    const matchesMax = this.#supply.matchesAsked + MATCHES_PER_RUN;
    this.#keysToVisit = Math.min(this.#keysToVisit, this.#keyCount);
    let keysLeft = Math.min(KEYS_PER_RUN, this.#keysToVisit);
    while (keysLeft > 0 && this.#allowance >= 1 && this.#supply.matchesAsked < matchesMax) {
      if (this.#turn >= this.#clusters.length) this.#turn = 0;
      const keys = this.#clusters[this.#turn]!;
      if (this.#nextKey < keys.profile.length) {
        if (!this.#supply.answer(keys.set[this.#nextKey]!, matchesMax)) return;
        this.#visit(keys, this.#nextKey++, nowMs);
        this.#keysToVisit--;
        keysLeft--;
      } else {
        this.#turn++;
        this.#nextKey = 0;
      }
    }
  }

  #visit(keys: ClusterKeys, key: number, nowMs: number): void {
    const supply = this.#supply;
    const set = keys.set[key]!;
    const count = supply.availableCount[set]!;
    const confidence = supply.confidence[set]!;
    const costUsd = supply.cheapestUsd[set]!;
    if (keys.count[key] === count && keys.confidence[key] === confidence && keys.costUsd[key] === costUsd) {
      return;
    }
    const dueMs = keys.sentMs[key]! + this.#intervalMs;
    if (dueMs > nowMs) {
      if (dueMs < this.#nextDueMs) this.#nextDueMs = dueMs;
      return;
    }
    keys.count[key] = count;
    keys.confidence[key] = confidence;
    keys.costUsd[key] = costUsd;
    keys.sentMs[key] = nowMs;
    const { fingerprint, requirements } = this.#options.needs.profiles.get(keys.profile[key]!);
    this.#allowance -= Math.max(1, (2 * fingerprint.length) / HINT_CHARS);
    this.#options.operators.hintCapacity(keys.clusterId, {
      fingerprint,
      requirements,
      availableCount: count,
      confidence: confidence as HintConfidence,
      costPerHourUsd: costUsd,
    });
  }
}

/** In one buffer: every buffer has an overhead, and a fleet has thousands of clusters. */
function columnsFor(keyCount: number) {
  const buffer = new ArrayBuffer(keyCount * BYTES_PER_KEY);
  return {
    costUsd: new Float64Array(buffer, 0, keyCount),
    sentMs: new Float64Array(buffer, 8 * keyCount, keyCount).fill(Number.NEGATIVE_INFINITY),
    profile: new Uint32Array(buffer, 16 * keyCount, keyCount),
    set: new Uint32Array(buffer, 20 * keyCount, keyCount),
    count: new Int32Array(buffer, 24 * keyCount, keyCount).fill(-1),
    confidence: new Uint8Array(buffer, 28 * keyCount, keyCount),
  };
}
