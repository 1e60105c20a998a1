/**
 * Question: what does looking at a shard cost it? The main thread makes every answer, between cycles: the polls of an open
 * page, a search through the whole fleet, an explanation; and the longest stretch that any of them blocks the event loop.
 * Then every path of the API and a scrape while clusters report changed demand, 1 % of the machines come and go every ten seconds,
 * a tenth of a second at a time, and cycles decide: how long does a reader wait? Seed 1; 1 % of the machines have failed, so
 * that needs are unmet; fleet built untimed.
 */

import { Random } from '../../src/base/random.ts';
import type { ApiGangs } from '../../src/dashboard/api/gang-types.ts';
import { type ApiContext, answerApi } from '../../src/dashboard/api/routes.ts';
import type { ApiMachines, ApiNeeds, ApiOfferings } from '../../src/dashboard/api/types.ts';
import { ShardHistory } from '../../src/dashboard/history.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { ShardMetrics } from '../../src/observe/shard-metrics.ts';
import { sourcesOf as metricSourcesOf, type WatchedShard } from '../../src/observe/shard-sources.ts';
import { zeroCounters } from '../../src/shard/counters.ts';
import { ShardView } from '../../src/shard/view/shard-view.ts';
import type { ViewSources } from '../../src/shard/view/sources.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { FleetChurn } from '../catalogue/churn.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import type { Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';

const S = MachineState;
/** The overview polls every two seconds. */
const POLL_MS = 2_000;
const FAILED_EVERY = 100;
/** 1 % of the machines in ten seconds, in steps of a tenth of a second; each is back after ten steps. */
const FAILED_A_STEP = 10_000;
const FAILED_STEPS = 10;
/** Answers of each kind under churn. */
const ROUNDS = 6;
/** Rows of demand that half a million machines have. */
const NEEDS_AT_FULL_SIZE = 760_000;

class Watcher {
  readonly context: ApiContext;
  #turnBegan = process.cpuUsage();
  /** CPU time: the wall clock of a busy machine says nothing. */
  turnMsMax = 0;
  nowMs: number;

  constructor(fleet: EngineFleet) {
    this.nowMs = fleet.nowMs;
    const view = new ShardView(sourcesOf(fleet, this));
    const history = new ShardHistory();
    history.watch(view);
    this.context = { view, history, spending: null, version: 'bench', nowMs: () => this.nowMs };
  }

  /** One request, as the server would answer it. The clock moves a second first, so that no answer comes from a cache. */
  async ask(path: string): Promise<string> {
    this.nowMs += 1_000;
    const [name, query] = path.split('?');
    this.#turnBegan = process.cpuUsage();
    const body = JSON.stringify(await answerApi(this.context, `/${name}`, new URLSearchParams(query)));
    this.#endTurn();
    return body;
  }

  /** Resolves when the churn has decided; at once while there is none. */
  nextCycle: () => Promise<void> = () => Promise.resolve();

  async nextTurn(): Promise<void> {
    this.#endTurn();
    await new Promise((resolve) => setImmediate(resolve));
    this.#turnBegan = process.cpuUsage();
  }

  #endTurn(): void {
    const { user, system } = process.cpuUsage(this.#turnBegan);
    this.turnMsMax = Math.max(this.turnMsMax, (user + system) / 1_000);
  }
}

const GAUGES = {
  queueDepth: 0,
  actionsWaiting: 0,
  inFlight: 0,
  readsWaiting: 0,
  readsInFlight: 0,
  listingsInFlight: 0,
  deferredRows: 0,
  stuckMachines: 0,
  machinesInBackoff: 0,
  offeringsInBackoff: 0,
  needsInBackoff: 0,
  sharedFaults: 0,
  burnedMachines: 0,
  clustersOverBurnBudget: 0,
  disputedMachines: 0,
  pauses: {
    create: 0,
    bind: 0,
    reclaim: 0,
    preempt: 0,
    release: 0,
    cordon: 0,
    drain: 0,
    'drain-now': 0,
    retire: 0,
  },
  heldListings: [],
  suspendedClusters: 0,
  isPaused: false,
  isDryRun: false,
  isFenced: false,
};

function sourcesOf({ inventory, needs, engine, nowMs }: EngineFleet, watcher: Watcher): ViewSources {
  const rails = {
    isPaused: false,
    isDryRun: false,
    isFenced: false,
    heldBack: '',
    preemptionFraction: 0.2,
    reclaimFraction: 0.05,
    actionsPerCycleMax: 0,
    cycleIntervalMs: 10_000,
    holdOnDemandMs: 600_000,
    holdSpotMs: 60_000,
    stuckAfterMs: 900_000,
    concurrency: 256,
    queueMax: 512,
  };
  return {
    inventory,
    needs,
    engine,
    clock: { nowMs: () => watcher.nowMs },
    budgets: () => [],
    machineBudget: () => null,
    providerNames: ['bench'],
    refusals: { of: () => null, all: () => [], listing: () => null },
    rollupLimits: { rollupRowsMax: 131_072, rowBytesMax: 65_536 },
    nextCycle: () => watcher.nextCycle(),
    nextTurn: () => watcher.nextTurn(),
    cycle: () => 1,
    status: () => ({
      shardId: 'bench',
      epoch: 1,
      startedAtMs: nowMs,
      cycle: 1,
      lastCycleAtMs: nowMs,
      isReady: true,
      notReadyReason: '',
      isFenced: false,
      replica: null,
      machines: inventory.count,
      needs: needs.count,
      clusters: 0,
    }),
    rails: () => rails,
    gauges: () => GAUGES,
    hasSession: () => true,
    limitsOf: () => null,
    ceilings: () => null,
    sessions: () => [],
    clusterPause: () => null,
    machinePause: () => null,
    foreignDrainUntil: () => 0,
    suspension: () => null,
    needBackoff: () => null,
    offeringsInBackoff: () => [],
    sharedFaults: () => [],
    providerWork: () => ({
      ...{ isOptional: false, isListing: false, refusal: '' },
      ...{ callsInFlight: 0, readsInFlight: 0, readsWaiting: 0 },
    }),
    claimantsOf: () => [],
    machineBackoff: () => null,
    offeringBackoff: () => null,
    actionOf: () => null,
  };
}

export const scenario: Scenario = {
  name: 'view',
  question: 'What does looking at a shard cost it?',
  defaults: { machines: 500_000, seconds: 5 },
  targets: [
    { name: 'an open overview, of a core', metric: 'share of a core', limit: 5, direction: 'below' },
    { name: 'a page of unmet needs', metric: 'unmet needs', limit: 20, direction: 'below' },
    { name: 'longest wait of the event loop', metric: 'longest stretch', limit: 50, direction: 'below' },
    {
      name: 'any answer under churn',
      metric: 'wait for an answer under churn',
      statistic: 'p99',
      limit: 1_000,
      direction: 'below',
    },
  ],
  async run(context) {
    const { machines } = context.params;
    const steady = new SteadyFleet(machines);
    const fleet = new EngineFleet(machines);
    for (const machine of steady.machines()) fleet.insert(machine);
    for (const { clusterId, rows } of steady.rollups()) fleet.rollUp(clusterId, rows);
    const bound = fleet.inventory.indexes.slotsInState(S.Configured).slice();
    for (let index = 0; index < bound.length; index += FAILED_EVERY) {
      const change = { state: S.Failed, lastError: 'lost power' };
      fleet.inventory.apply(bound[index]!, change, fleet.nowMs, { force: true });
    }
    fleet.decide();
    const watcher = new Watcher(fleet);
    const answers = new Map<string, string>();
    const time = async (name: string, path: string) => {
      await watcher.ask(path); // work done once per cycle is not part of a request's cost
      watcher.turnMsMax = 0;
      await context.time(name, 'ms', async () => answers.set(name, await watcher.ask(path)), { samples: 30 });
      context.sample('longest stretch', 'ms', watcher.turnMsMax);
    };
    await time('overview', 'overview');
    await time('all needs', 'needs?limit=100');
    await time('unmet needs', 'needs?unmet=true&limit=100');
    await time('machines', 'machines?limit=100');
    await time('machines, a search that finds none', 'machines?zone=eu-north-1a&stuck=true');
    await time('clusters', 'clusters?limit=100');
    const unmet = JSON.parse(answers.get('unmet needs')!) as ApiNeeds;
    context.check(
      machines < 500_000 || fleet.needs.count >= NEEDS_AT_FULL_SIZE,
      'the demand has its full size',
    );
    const { clusterId, fingerprint, group } = unmet.needs[0]!;
    const name = new URLSearchParams({ cluster: clusterId, fingerprint, group });
    await time('explain a need', `needs/explain?${name}`);
    const found = JSON.parse(answers.get('machines')!) as ApiMachines;
    await time('explain a machine', `machines/${encodeURIComponent(found.machines[50]!.id)}`);
    context.check(unmet.needs.length === 100 && unmet.unmet > 100, 'needs are unmet and shown');
    context.check(found.matching === machines, 'every machine was counted');
    context.check(answers.get('explain a need')!.includes('Unmet: needs'), 'the need was explained');
    const beganCpu = process.cpuUsage();
    const polls = 50;
    for (let poll = 0; poll < polls; poll++) {
      await watcher.ask('overview');
      await watcher.ask('history');
    }
    const { user, system } = process.cpuUsage(beganCpu);
    context.sample('share of a core', '%', (100 * (user + system)) / 1_000 / polls / POLL_MS);
    const gangs = JSON.parse(await watcher.ask('gangs?limit=1')) as ApiGangs;
    const offerings = JSON.parse(await watcher.ask('offerings?limit=1')) as ApiOfferings;
    const { clusterId: gangCluster, group: gangGroup } = gangs.gangs[0]!;
    context.check(gangs.total > machines / 2 && offerings.total > 50, 'there are gangs and offerings');
    const paths = [
      ['status', 'status'],
      ['overview', 'overview'],
      ['history', 'history'],
      ['all needs', 'needs?limit=100'],
      ['needs of a group, all clusters', `needs?group=${encodeURIComponent(gangGroup)}`],
      ['gangs', 'gangs?limit=100'],
      ['gangs of several machines', 'gangs?limit=100&spanning=1'],
      ['a gang', `gangs/${encodeURIComponent(`${gangCluster}/${gangGroup}`)}`],
      ['machines', 'machines?limit=100'],
      ['providers', 'providers'],
      ['offerings', 'offerings?limit=100'],
      ['an offering', `offerings/${encodeURIComponent(offerings.offerings[0]!.name)}`],
      ['shard', 'shards/bench'],
      ['shortfalls', 'shortfalls'],
      ['actions', 'actions?limit=100'],
      ['unmet needs', 'needs?unmet=true&limit=100'],
      ['machines, a search that finds none', 'machines?zone=eu-north-1a&stuck=true'],
      ['clusters', 'clusters?limit=100'],
      ['a cluster', `clusters/${encodeURIComponent(clusterId)}`],
      ['tenants', 'tenants?limit=100'],
      ['explain a need', `needs/explain?${name}`],
      ['explain a cluster', `needs/explain?cluster=${encodeURIComponent(clusterId)}`],
      ['explain a machine', `machines/${encodeURIComponent(found.machines[50]!.id)}`],
    ] as const;
    const metrics = new ShardMetrics();
    metrics.watch(metricSourcesOf(watchedOf(fleet)));
    const churning = new Churning(fleet, new FleetChurn(steady), watcher);
    const waited = async (what: string, work: () => Promise<unknown>) => {
      const beganMs = performance.now();
      const beganCpu = mainThreadCpuMs();
      await work();
      const waitedMs = performance.now() - beganMs;
      context.sample(`${what}, under churn`, 'ms', waitedMs);
      context.sample('wait for an answer under churn', 'ms', waitedMs);
      context.sample('main thread while a reader waits', 'ms', mainThreadCpuMs() - beganCpu);
    };
    try {
      for (let round = 0; round < ROUNDS; round++) await waited('a scrape', () => metrics.registry.metrics());
      for (const [what, path] of paths) {
        context.progress(`under churn: ${what}`);
        for (let round = 0; round < ROUNDS; round++) await waited(what, () => watcher.ask(path));
      }
      context.check(churning.cycles > 10, 'cycles decided meanwhile');
    } finally {
      churning.stop();
      metrics.close();
    }
  },
};

function watchedOf({ inventory, needs, engine }: EngineFleet): WatchedShard {
  return {
    counters: zeroCounters(),
    gauges: () => GAUGES,
    ceilingUses: () => [],
    spotShareUses: () => [],
    budgets: { views: () => [] },
    ...{ inventory, needs, engine },
  };
}

/**
 * Every tenth of a second the roll-ups of 1 % of the clusters change, one machine in 10,000 fails and those that failed a second
 * ago are back, and every third time a cycle decides.
 */
class Churning {
  cycles = 0;
  readonly #timer: NodeJS.Timeout;
  #waiting: (() => void)[] = [];
  readonly #fleet: EngineFleet;
  readonly #random = new Random(1);
  readonly #failed: (readonly [slot: number, before: Machine])[] = [];
  #steps = 0;

  constructor(fleet: EngineFleet, churn: FleetChurn, watcher: Watcher) {
    this.#fleet = fleet;
    watcher.nextCycle = () => new Promise((resolve) => this.#waiting.push(resolve));
    this.#timer = setInterval(() => {
      for (const { clusterId, rows } of churn.churnRollups(0.01, 0.01)) fleet.rollUp(clusterId, rows);
      this.#failAndHeal();
      if (++this.#steps % 3 !== 0) return;
      fleet.decide(fleet.engine, false, false);
      this.cycles++;
      for (const resolve of this.#waiting.splice(0)) resolve();
    }, 100);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #failAndHeal(): void {
    const { inventory, nowMs } = this.#fleet;
    const bound = inventory.indexes.slotsInState(S.Configured);
    const count = Math.ceil(bound.length / FAILED_A_STEP);
    for (let index = 0; index < count; index++) {
      const slot = bound[this.#random.below(bound.length)]!;
      if (inventory.stateOf(slot) !== S.Configured) continue;
      this.#failed.push([slot, inventory.get(slot)]);
      inventory.apply(slot, { state: S.Failed, lastError: 'lost power' }, nowMs, { force: true });
    }
    while (this.#failed.length > FAILED_STEPS * count) {
      const [slot, before] = this.#failed.shift()!;
      inventory.apply(slot, before, nowMs, { force: true });
    }
  }
}
