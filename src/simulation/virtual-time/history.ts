/**
 * One history: a world drawn from a seed, some cycles with accidents, then calm until shard, providers and operators agree,
 * and sometimes a restart at rest, which must change nothing. The same seed gives the same history, so the seed replays a
 * violation; a replay can leave accidents out.
 */
import { Random } from '../../base/random.ts';
import { BARRED } from '../../inventory/intent.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../shard/settings.ts';
import type { Shard } from '../../shard/shard.ts';
import { tenantLimits } from '../../shard/tenants.ts';
import { ACCIDENTS, calm, changeDemand } from './accidents.ts';
import { SIMULATED_BUDGETS } from './budget-checks.ts';
import { differences } from './convergence.ts';
import { Faults } from './faults.ts';
import { Violation } from './invariants.ts';
import { type PlannedAccident, PROFILES, type ProfileName, planAccidents } from './profiles.ts';
import { drawMachine, drawRow } from './scenery.ts';
import { assignmentKey, servedNeeds } from './served-needs.ts';
import { Watch } from './watch.ts';
import { SimulatedWorld, type WorldOptions } from './world.ts';

export type PlacementKind = ShardSettings['placement']['kind'];

export interface HistoryOptions {
  readonly seed: number;
  /** Cycles with accidents. */
  readonly cycles: number;
  readonly profile: ProfileName;
  /** E1: how needs acquire; default: by seed. */
  readonly placement?: PlacementKind;
  /** Numbers of the accidents that happen; default: all. */
  readonly only?: readonly number[];
  readonly trace?: (line: string) => void;
}

export interface HistoryResult {
  readonly cycles: number;
  readonly actions: number;
  /** How often each accident happened. */
  readonly accidents: Readonly<Record<string, number>>;
  readonly processes: number;
  readonly fencedProcesses: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Ordinary cycles from the last accident until all parts of the world agreed. */
  readonly calmCycles: number;
  /** Whether a restart at rest was tried. */
  readonly isRestartTried: boolean;
}
/** T7: rows of a part. Simulated clusters have about as many needs. */
const SMALL_PARTS = 3;

export const INTERVAL_MS = 10_000;
/** T9: off, the default, and one that lets a few machines go at a time. */
const PREEMPTION_CAPS = [0.2, 0, 0.5];
/** One history in seven acquires by value: a number that is prime to those of profiles and hostile tenants, so that all have some. */
const VALUE_EVERY = 7;
/**
 * Back-offs last up to 10 min and drains up to a minute, and a clock that jumped back an hour makes each last an hour
 * longer. Two hours are enough for everything that ends at all.
 */
const CALM_CYCLES_MAX = 720;
/** The world must agree in this many further cycles. */
const REST_CYCLES = 3;
/** Enough for a restarted process to list all providers, receive all roll-ups and decide. */
const RESTARTED_CYCLES = 6;

/** The accidents of a history. */
export function planOf({ seed, cycles, profile }: HistoryOptions): PlannedAccident[] {
  return planAccidents(PROFILES[profile], cycles * INTERVAL_MS, new Random(seed).fork());
}

export async function runHistory(options: HistoryOptions): Promise<HistoryResult> {
  const random = new Random(options.seed);
  const plan = planAccidents(PROFILES[options.profile], options.cycles * INTERVAL_MS, random.fork());
  const watch = new Watch(options.trace ?? null);
  const faults = new Faults(options.seed);
  const world = drawWorld(random, options, watch, { probe: faults.probe });
  const look = () => {
    if (watch.violation !== null) throw watch.violation;
  };
  const onUnhandled = (error: unknown) => {
    watch.violation ??= error as Error;
  };
  process.on('unhandledRejection', onUnhandled);
  try {
    world.startShard();
    const accidents = await runAccidents(world, watch, plan, options.only ?? null, look);
    faults.isOver = true;
    const calmCycles = await settle(world, watch, look);
    const isRestartTried = random.chance(0.15) && (await restartAtRest(world, watch, random, look));
    const { cycles, actions, processes, fencedProcesses, outcomes } = watch;
    return {
      cycles,
      actions,
      accidents,
      processes,
      fencedProcesses,
      outcomes,
      calmCycles,
      isRestartTried,
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

export async function runAccidents(
  world: SimulatedWorld,
  watch: Watch,
  plan: readonly PlannedAccident[],
  only: readonly number[] | null,
  look: () => void,
): Promise<Record<string, number>> {
  const happened: Record<string, number> = {};
  const beganMs = world.time.nowMs();
  for (const [number, { atMs, name, seed }] of plan.entries()) {
    if (only !== null && !only.includes(number)) continue;
    await world.time.advance(beganMs + atMs - world.time.nowMs(), look);
    const what = ACCIDENTS[name](world, new Random(seed));
    watch.trace(null, () => `--- ${number} ${name}: ${what}`);
    happened[name] = (happened[name] ?? 0) + 1;
  }
  return happened;
}

/** Runs calm cycles until the world agrees and stays so. Returns how many cycles that took. */
export async function settle(world: SimulatedWorld, watch: Watch, look: () => void): Promise<number> {
  calm(world);
  watch.trace(null, () => '--- calm');
  let agreed = 0;
  let found: string[] = [];
  for (let cycle = 1; cycle <= CALM_CYCLES_MAX; cycle++) {
    await world.time.advance(INTERVAL_MS, look);
    found = differences(world);
    agreed = found.length === 0 ? agreed + 1 : 0;
    if (agreed > REST_CYCLES) return cycle - REST_CYCLES;
  }
  throw new Violation(
    `shard, providers and operators do not agree after ${CALM_CYCLES_MAX} calm cycles: ${found.slice(0, 8).join('; ')}`,
  );
}

/**
 * I2: if every need is covered, a restart causes no call. The check first draws new demand, because the rule does not hold
 * while a machine serves another need than that of its stored assignment: arrival is not stored, so needs of equal priority
 * may swap machines after a restart.
 */
async function restartAtRest(
  world: SimulatedWorld,
  watch: Watch,
  random: Random,
  look: () => void,
): Promise<boolean> {
  for (const cluster of world.clusters.values()) world.setDemand(cluster, []);
  await settle(world, watch, look);
  for (const cluster of world.clusters.values()) world.setDemand(cluster, [drawRow(random)]);
  await settle(world, watch, look);
  const { shard } = world.process!;
  const hasOwnMachines = [...servedNeeds(shard).values()].every(
    ({ key, claimed, isSatisfied }) =>
      isSatisfied && claimed.every((slot) => assignmentKey(shard, slot) === key),
  );
  if (!hasOwnMachines || isAnyInBackoff(shard)) return false;
  const before = callsOf(world);
  watch.trace(null, () => '--- restart at rest');
  world.killShard();
  await world.time.advance(INTERVAL_MS, look);
  world.startShard();
  await world.time.advance(RESTARTED_CYCLES * INTERVAL_MS, look);
  const after = callsOf(world);
  if (before !== after)
    throw new Violation(`I2: a restart at rest caused calls: ${before} before, ${after} after`);
  return true;
}

/** A restart ends back-offs, so the new process would act on these machines. */
function isAnyInBackoff({ inventory }: Shard): boolean {
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    if (inventory.columns.state[slot] !== 0 && inventory.hasFlag(slot, BARRED)) return true;
  }
  return false;
}

/** Without Delete: releases of idle machines continue with or without a restart. */
function callsOf(world: SimulatedWorld): string {
  const count = (event: 'create' | 'configure' | 'drain') =>
    world.links.reduce((sum, { provider }) => sum + provider.ledger.count(event), 0);
  return `${count('create')} creates, ${count('configure')} configures, ${count('drain')} drains`;
}

/** E7: in one history of so many the fleet may cost only part of what its machines would. */
const CEILING_EVERY = 6;
/** E8: one history in five has a minimum share of machines that are not spot. */
const SPOT_SHARE_EVERY = 5;
const SPOT_SHARE = { cluster: '*', minNonSpotShare: 0.5 };
const CEILING = {
  maxDollarsPerHour: 6,
  maxByCapacityType: new Array<number>(5).fill(Number.POSITIVE_INFINITY),
};

/** H9: in one history of so many. */
const BUDGETS_EVERY = 5;

/** Not drawn: one more number would change every history that a seed names. */
function placementOf(seed: number): PlacementKind {
  return seed % VALUE_EVERY === VALUE_EVERY - 1 ? 'value' : 'cheapest';
}

/** `change` replaces what is drawn. */
export function drawWorld(
  random: Random,
  { profile, seed, placement = placementOf(seed) }: HistoryOptions,
  watch: Watch,
  change: Pick<WorldOptions, 'settings' | 'probe' | 'shareRowsMin' | 'isNetworkByMachine'>,
): SimulatedWorld {
  const { hasWeakProviders } = PROFILES[profile];
  const meanMs = random.between(50, 20_000);
  const operation = {
    latency: random.chance(0.7) ? { meanMs, p99Ms: 3 * meanMs } : null,
    failProbability: hasWeakProviders && random.chance(0.3) ? 0.05 : 0,
    silenceProbability: hasWeakProviders && random.chance(0.3) ? 0.05 : 0,
  };
  const hasTombstones = random.chance(0.8);
  const provider = {
    operations: { create: operation, configure: operation, drain: operation, delete: operation },
    deletedIds: hasTombstones,
    weather: { repairAfterMs: 60_000 },
  };
  const world = new SimulatedWorld({
    // T7: in one history of three most roll-ups are large. Not drawn, as below.
    ...(seed % 3 === 0 ? { takeUpRows: SMALL_PARTS } : {}),
    ...change,
    seed: random.uint32(),
    clusterIds: Array.from({ length: random.between(1, 3) }, (_, index) => `cluster-${index}`),
    settings: {
      // Only in some histories: a decision from scratch costs as much as a start.
      checkEveryCycles: random.pick([0, 0, 1]),
      isIncremental: random.chance(0.5),
      // Without deleted_ids, or after a restart of the provider, only a full listing reveals removals.
      fullListEveryCycles: random.pick([20, 100]),
      executeConcurrency: random.pick([2, 8, 256]),
      reclaimCapFraction: random.pick([0, 0.05, 0.5]),
      // Not drawn: one more number would change every history that a seed names.
      preemptionCapFraction: PREEMPTION_CAPS[seed % PREEMPTION_CAPS.length]!,
      readsListedMin: seed % 4 < 2 ? 1 : 32,
      placement: { ...SHARD_DEFAULTS.placement, kind: placement },
      budgets: seed % BUDGETS_EVERY === 2 ? SIMULATED_BUDGETS : [],
      ceilings: seed % CEILING_EVERY === 1 ? CEILING : null,
      tenants: seed % SPOT_SHARE_EVERY === 2 ? [tenantLimits(SPOT_SHARE)] : [],
      stuckAfterMs: random.pick([120_000, 900_000]),
      actionsPerCycleMax: random.pick([0, 0, 0, 3]),
      ...change.settings,
    },
    providers: random.chance(0.3) ? [provider, provider] : [provider],
    watcher: watch,
  });
  watch.world = world;
  for (const [index, link] of world.links.entries()) {
    const machineCount = random.between(5, 40);
    for (let machine = 0; machine < machineCount; machine++) {
      link.provider.add(drawMachine(random, `m-${index}-${machine}`));
    }
  }
  for (const cluster of world.clusters.values()) changeDemand(world, cluster, random);
  return world;
}
