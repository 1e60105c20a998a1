/**
 * X15: failures of many needs on machines of one offering, or of one provider, count against that, and not against the needs.
 * Its machines are then in back-off (X12), so that needs use others, and after the back-off one machine at a time is its probe,
 * until one succeeds. Drains count by cluster, and bar the drains of the offering or provider.
 *
 * A tenant with many broken needs must not take an offering from others. So clusters vote: those that only failed there must be
 * more than those that got a machine of it in the last hour. The inventory knows the latter.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { SharedFaultView } from '../ports/supply.ts';
import { BACKOFF_MS_MAX, type BackoffView, durationMs } from './backoff.ts';
import {
  holdOffering,
  type OfferingRefs,
  offeringKey,
  offeringName,
  offeringOf,
  releaseOffering,
  visitOffering,
} from './offerings.ts';
import type { Attempt, Outcome } from './outcomes.ts';

const S = MachineState;
/** Needs that failed on an offering, and offerings that failed of a provider. Two may be broken by chance. */
const MANY = 3;
const WINDOW_MS = 3_600_000;
/** Failed needs that one offering or provider remembers. More than MANY only make the vote of clusters finer. */
const REMEMBERED_MAX = 256;
/** By kind of attempt: the states of the machines that are in back-off. */
const BARRED_STATES = { bootstrap: [S.Idle, S.Speculative], drain: [S.Configured] } as const;

/** An offering or a provider on whose machines one kind of attempt failed. */
interface Scope {
  readonly kind: Attempt['kind'];
  /** Its refs are held by this object. Of a provider: one of its offerings. */
  readonly offering: OfferingRefs;
  readonly isProvider: boolean;
  /** By need, the one that failed last at the end. */
  readonly failed: Map<
    string,
    { readonly attempt: Attempt; readonly offering: string; readonly atMs: number }
  >;
  /** 0: it is not blamed. */
  backoffs: number;
  /** 0: not in back-off. */
  untilMs: number;
  lastMs: number;
  probe: number;
}

export interface SharedFaultsOptions {
  readonly inventory: Inventory;
  readonly observer: ShardObserver;
  readonly providerNames: readonly string[];
  /** The back-offs of this machine may have changed. */
  readonly refresh: (slot: number) => void;
  /** The failure does not count against the need any more. */
  readonly absolve: (attempt: Attempt) => void;
  /** Whether the machine is still being tried. */
  readonly isTried: (slot: number, kind: Attempt['kind']) => boolean;
}

export class SharedFaults {
  readonly #options: SharedFaultsOptions;
  readonly #scopes = new Map<string, Scope>();
  #blamedCount = 0;

  constructor(options: SharedFaultsOptions) {
    this.#options = options;
  }

  /** Offerings and providers that are blamed: in back-off, or with one probe at a time. */
  get blamedCount(): number {
    return this.#blamedCount;
  }

  /** Those in back-off. */
  inBackoff(): SharedFaultView[] {
    const { inventory, providerNames } = this.#options;
    const { instanceTypes, zones } = inventory.shapes;
    return [...this.#scopes.values()]
      .filter(({ untilMs }) => untilMs > 0)
      .map(({ kind, offering, isProvider, failed, backoffs, untilMs }) => ({
        kind,
        provider: providerNames[offering.provider] ?? '',
        isProvider,
        instanceType: instanceTypes.get(offering.instanceType),
        zone: zones.get(offering.zone),
        capacityType: offering.capacityType as CapacityType,
        sinceMs: untilMs - durationMs(backoffs),
        untilMs,
        needs: failed.size,
      }));
  }

  ended(outcome: Outcome, nowMs: number): void {
    if (outcome.isSuccess) {
      if (this.#scopes.size > 0)
        for (const [key] of this.#scopesOf(outcome.kind, outcome.slot)) this.#drop(key);
      return;
    }
    const isBlamed = [false, true]
      .map((isProvider) => this.#failed(outcome, isProvider, nowMs))
      .some(Boolean);
    if (isBlamed) this.#options.absolve(outcome);
  }

  /** Whether the machine's offering or provider is in back-off for what the shard would do with it. */
  bars(slot: number): boolean {
    if (this.#blamedCount === 0) return false;
    return this.untilMs(slot) > 0;
  }

  /** When that back-off ends; 0 if there is none. */
  untilMs(slot: number): number {
    const state = this.#options.inventory.columns.state[slot]!;
    const kind = state === S.Configured ? 'drain' : 'bootstrap';
    if (kind === 'bootstrap' && state !== S.Idle && state !== S.Speculative) return 0;
    return this.#scopesOf(kind, slot).reduce((latest, [, { untilMs }]) => Math.max(latest, untilMs), 0);
  }

  /** The back-off of the machine's offering or provider; null if there is none. */
  ofMachine(slot: number): BackoffView | null {
    const untilMs = this.#blamedCount === 0 ? 0 : this.untilMs(slot);
    if (untilMs === 0) return null;
    const kind = this.#options.inventory.columns.state[slot] === S.Configured ? 'drain' : 'bootstrap';
    const failed = this.#scopesOf(kind, slot).map(([, scope]) => scope.failed.size);
    return { untilMs, failuresInARow: Math.max(...failed) };
  }

  /** Whether the machine belongs to an offering or provider that tries one machine at a time. */
  isOnProbation(slot: number, kind: Attempt['kind']): boolean {
    return this.#blamedCount > 0 && this.#scopesOf(kind, slot).some(([, { backoffs }]) => backoffs > 0);
  }

  /** Whether the machine may be tried now. */
  mayTry(slot: number, kind: Attempt['kind']): boolean {
    if (this.#blamedCount === 0) return true;
    return this.#scopesOf(kind, slot).every(
      ([, { backoffs, untilMs, probe }]) =>
        backoffs === 0 || (untilMs === 0 && (probe === 0 || probe === slot)),
    );
  }

  /** The machine is the probe of its offering or provider, if that is on probation. */
  tried(slot: number, kind: Attempt['kind']): void {
    if (this.#blamedCount === 0) return;
    for (const [, scope] of this.#scopesOf(kind, slot)) if (scope.backoffs > 0) scope.probe = slot;
  }

  /** Before each cycle. */
  expire(nowMs: number): void {
    for (const [key, scope] of this.#scopes) {
      if (scope.probe !== 0 && !this.#options.isTried(scope.probe, scope.kind)) scope.probe = 0;
      if (scope.untilMs > nowMs) continue;
      if (scope.untilMs > 0) {
        scope.lastMs = scope.untilMs;
        scope.untilMs = 0;
        this.#refresh(scope);
      }
      const keptMs = scope.backoffs > 0 ? BACKOFF_MS_MAX : WINDOW_MS;
      if (Math.abs(nowMs - scope.lastMs) >= keptMs && scope.probe === 0) this.#drop(key);
    }
  }

  /** Returns whether the offering or the provider is to blame. */
  #failed(outcome: Outcome, isProvider: boolean, nowMs: number): boolean {
    const { inventory } = this.#options;
    const { kind, slot, cluster, fingerprint, group } = outcome;
    const scope = this.#scopeOf(kind, slot, isProvider);
    const need = `${cluster}|${fingerprint}|${group}`;
    scope.lastMs = nowMs;
    scope.failed.delete(need);
    const attempt = { kind, cluster, fingerprint, group };
    scope.failed.set(need, { attempt, offering: offeringKey(inventory, slot), atMs: nowMs });
    for (const [key, { atMs }] of scope.failed) {
      if (scope.failed.size > REMEMBERED_MAX || Math.abs(nowMs - atMs) >= WINDOW_MS) scope.failed.delete(key);
    }
    const isProbe = scope.probe === slot;
    if (isProbe) scope.probe = 0;
    if (scope.backoffs > 0) {
      // Attempts that began before the back-off are no news.
      if (isProbe && scope.untilMs === 0) this.#bar(scope, nowMs);
      return true;
    }
    if (!this.#isToBlame(scope, nowMs)) return false;
    this.#blamedCount++;
    this.#bar(scope, nowMs);
    for (const failure of scope.failed.values()) this.#options.absolve(failure.attempt);
    return true;
  }

  #isToBlame({ kind, offering, isProvider, failed }: Scope, nowMs: number): boolean {
    if (failed.size < MANY) return false;
    const failures = [...failed.values()];
    if (isProvider && new Set(failures.map((one) => one.offering)).size < MANY) return false;
    const clusters = new Set(failures.map(({ attempt }) => attempt.cluster));
    if (kind === 'drain') return true; // MANY clusters
    const { inventory } = this.#options;
    const { columns } = inventory;
    const others = new Set<number>();
    const isOutvoted = () => clusters.size <= others.size;
    // A cluster whose bootstraps there are under way, and that has not failed, may still succeed.
    visitOffering(inventory, offering, isProvider, S.Configuring, (slot) => {
      const cluster = columns.cluster[slot]!;
      if (cluster !== 0 && !clusters.has(cluster)) others.add(cluster);
      return isOutvoted();
    });
    visitOffering(inventory, offering, isProvider, S.Configured, (slot) => {
      if (Math.abs(nowMs - columns.stateSinceMsOf(slot)) >= WINDOW_MS) return false;
      others.add(columns.cluster[slot]!);
      clusters.delete(columns.cluster[slot]!);
      return isOutvoted();
    });
    return !isOutvoted();
  }

  #bar(scope: Scope, nowMs: number): void {
    const { inventory, observer, providerNames } = this.#options;
    const forMs = durationMs(++scope.backoffs);
    scope.untilMs = nowMs + forMs;
    this.#refresh(scope);
    observer.happened({
      kind: 'shared_fault',
      level: 'warn',
      attempt: scope.kind,
      provider: providerNames[scope.offering.provider] ?? '',
      offering: scope.isProvider ? '' : offeringName(inventory, scope.offering),
      needs: scope.failed.size,
      forMs,
    });
  }

  /** Flags, or no longer flags, every machine: thousands of rows, twice per back-off. */
  #refresh({ kind, offering, isProvider }: Scope): void {
    const { inventory, refresh } = this.#options;
    for (const state of BARRED_STATES[kind]) {
      // A flag does not move the machine in the index that is visited.
      visitOffering(inventory, offering, isProvider, state, (slot) => {
        refresh(slot);
        return false;
      });
    }
  }

  #keyOf(kind: Attempt['kind'], slot: number, isProvider: boolean): string {
    const { inventory } = this.#options;
    return `${kind}|${isProvider ? inventory.columns.provider[slot] : offeringKey(inventory, slot)}`;
  }

  #scopesOf(kind: Attempt['kind'], slot: number): [string, Scope][] {
    const found: [string, Scope][] = [];
    for (const isProvider of [false, true]) {
      const key = this.#keyOf(kind, slot, isProvider);
      const scope = this.#scopes.get(key);
      if (scope !== undefined) found.push([key, scope]);
    }
    return found;
  }

  #scopeOf(kind: Attempt['kind'], slot: number, isProvider: boolean): Scope {
    const key = this.#keyOf(kind, slot, isProvider);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const { inventory } = this.#options;
    const offering = offeringOf(inventory, slot);
    holdOffering(inventory, offering);
    const scope: Scope = {
      kind,
      offering,
      isProvider,
      failed: new Map(),
      backoffs: 0,
      untilMs: 0,
      lastMs: 0,
      probe: 0,
    };
    this.#scopes.set(key, scope);
    return scope;
  }

  #drop(key: string): void {
    const scope = this.#scopes.get(key)!;
    this.#scopes.delete(key);
    if (scope.backoffs > 0) this.#blamedCount--;
    if (scope.untilMs > 0) this.#refresh(scope);
    releaseOffering(this.#options.inventory, scope.offering);
  }
}
