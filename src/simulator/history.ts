/**
 * One history: a world drawn from a seed, accidents for so many cycles, then calm, and the question whether everybody
 * tells the same story afterwards. The same seed gives the same history, so a violation is replayed by its number.
 */
import { Random } from '../base/random.ts';
import type { CycleReport } from '../shard/ports/observer.ts';
import { ACCIDENTS, calm, changeDemand } from './accidents.ts';
import { differences } from './convergence.ts';
import { checkInFlight, checkInventory, Violation } from './invariants.ts';
import { drawMachine } from './scenery.ts';
import { SimulatedWorld } from './world.ts';

export interface HistoryOptions {
  readonly seed: number;
  /** Cycles with accidents. */
  readonly cycles: number;
  readonly trace?: (line: string) => void;
}

export interface HistoryResult {
  readonly seed: number;
  readonly cycles: number;
  readonly actions: number;
  readonly accidents: number;
  readonly restarts: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Ordinary cycles from the end of accidents until everybody agreed. */
  readonly calmCycles: number;
}

const INTERVAL_MS = 10_000;
/** Back-offs last up to 10 min, drains up to a minute here: two hours are enough for anything that ends at all. */
const CALM_CYCLES_MAX = 720;
const ACCIDENT_MS_MEAN = 8_000;
/** Everybody has agreed for this long. */
const REST_CYCLES = 3;

export async function runHistory(options: HistoryOptions): Promise<HistoryResult> {
  const random = new Random(options.seed);
  const trace = options.trace ?? (() => {});
  const outcomes: Record<string, number> = {};
  let cycles = 0;
  let actions = 0;
  let restarts = 0;
  let differing = '';
  const world = drawWorld(random, {
    onCycle: (report) => {
      cycles++;
      checkCycle(world, report);
      if (report.isOrdinary) checkInventory(world.process!.shard.inventory);
      trace(`cycle ${report.cycle}${report.isOrdinary ? '' : ' (woken)'} ${JSON.stringify(report.enqueued)}`);
    },
    onAction: (record) => {
      actions++;
      const name = `${record.kind}.${record.outcome}`;
      outcomes[name] = (outcomes[name] ?? 0) + 1;
      trace(`${record.kind} ${record.machineId} for ${record.clusterId}: ${record.outcome} ${record.detail}`);
    },
    onEvent: (event) => {
      trace(JSON.stringify(event));
      if (event.kind === 'check_failed') differing ||= event.detail;
      if (event.kind === 'check_differs') differing ||= event.examples.join('; ');
    },
  });
  world.startShard();
  const look = () => {
    if (differing !== '') throw new Violation(`the decision is not the one from scratch: ${differing}`);
    if (world.process !== null) checkInFlight(world.process);
  };
  let accidents = 0;
  const endMs = world.time.nowMs() + options.cycles * INTERVAL_MS;
  while (world.time.nowMs() < endMs) {
    await world.time.advance(random.below(2 * ACCIDENT_MS_MEAN), look);
    const accident = ACCIDENTS[random.weighted(ACCIDENTS.map(({ weight }) => weight))]!;
    const said = accident.happen(world, random);
    accidents++;
    if (accident.name === 'shard killed') restarts++;
    trace(`--- ${accident.name} ${said}`);
  }
  const calmCycles = await settle(world, trace, look);
  return { seed: options.seed, cycles, actions, accidents, restarts, outcomes, calmCycles };
}

/** Runs calm cycles until everybody agrees, and some more; how many it took. */
async function settle(
  world: SimulatedWorld,
  trace: (line: string) => void,
  look: () => void,
): Promise<number> {
  calm(world);
  trace('--- calm');
  let agreed = 0;
  let found: string[] = [];
  for (let cycle = 1; cycle <= CALM_CYCLES_MAX; cycle++) {
    await world.time.advance(INTERVAL_MS, look);
    if (world.process === null) world.startShard();
    found = differences(world);
    agreed = found.length === 0 ? agreed + 1 : 0;
    if (agreed > REST_CYCLES) return cycle - REST_CYCLES;
  }
  throw new Violation(`no agreement after ${CALM_CYCLES_MAX} calm cycles: ${found.slice(0, 8).join('; ')}`);
}

function drawWorld(
  random: Random,
  listeners: Pick<ConstructorParameters<typeof SimulatedWorld>[0], 'onCycle' | 'onAction' | 'onEvent'>,
): SimulatedWorld {
  const isAsynchronous = random.chance(0.7);
  const latency = isAsynchronous ? { meanMs: random.between(50, 20_000), p99Ms: 0 } : null;
  const operation = {
    latency: latency === null ? null : { meanMs: latency.meanMs, p99Ms: 3 * latency.meanMs },
    failProbability: random.chance(0.3) ? 0.05 : 0,
    silenceProbability: random.chance(0.3) ? 0.05 : 0,
  };
  const hasTombstones = random.chance(0.8);
  const clusterIds = Array.from({ length: random.between(1, 3) }, (_, index) => `cluster-${index}`);
  const world = new SimulatedWorld({
    seed: random.uint32(),
    clusterIds,
    settings: {
      checkEveryCycles: 1,
      isIncremental: random.chance(0.5),
      // Without tombstones only a full listing tells of removals.
      fullListEveryCycles: random.pick(hasTombstones ? [0, 20, 360] : [20, 100]),
      executeConcurrency: random.pick([2, 8, 256]),
      reclaimCapFraction: random.pick([0, 0.05, 0.5]),
      stuckAfterMs: random.pick([120_000, 900_000]),
    },
    provider: {
      operations: { create: operation, configure: operation, drain: operation, delete: operation },
      deletedIds: hasTombstones,
      weather: { repairAfterMs: 60_000 },
    },
    ...listeners,
  });
  const machineCount = random.between(5, 40);
  for (let index = 0; index < machineCount; index++) world.provider.add(drawMachine(random, `m-${index}`));
  for (const cluster of world.clusters.values()) changeDemand(world, cluster, random);
  return world;
}

/** N6, R2: what a cycle may not do. */
function checkCycle(world: SimulatedWorld, report: CycleReport): void {
  if (!report.isOrdinary && report.decided.Reclaim > 0) throw new Violation('a woken cycle reclaims');
  if (world.process === null) throw new Violation('a dead shard decides');
}
