/**
 * Question: how soon is "what if zone b disappears" answered, and what does that cost the main thread? A realistic fleet (catalogue),
 * each question in a thread of its own, as in a shard. Seed 1; fleet built untimed.
 */
import { systemScheduler } from '../../src/base/clock.ts';
import { WhatIfThread } from '../../src/cli/what-if-thread.ts';
import type { WhatIfAnswer, WhatIfProgress, WhatIfTexts } from '../../src/shard/ports/what-if.ts';
import { SHARD_DEFAULTS } from '../../src/shard/settings.ts';
import { WhatIfs } from '../../src/shard/what-if/what-ifs.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';

const ANSWERS = 2;
/** How often the main loop is looked at while a question is answered. */
const LOOK_MS = 2;

export const scenario: Scenario = {
  name: 'what-if',
  question:
    'How soon is "what if zone b disappears" answered, and how long does that hold the main thread up?',
  defaults: { machines: 500_000, seconds: 300 },
  targets: [
    { name: 'first decision', metric: 'first decision', limit: 6, direction: 'below' },
    { name: 'at rest', metric: 'answer', limit: 30, direction: 'below' },
    { name: 'main thread, the copy', metric: 'main thread: copy', limit: 20, direction: 'below' },
    {
      name: 'main thread, longest stretch',
      metric: 'main thread: longest stretch',
      limit: 20,
      direction: 'below',
    },
  ],
  async run(context) {
    const { machines } = context.params;
    const steady = new SteadyFleet(machines);
    const fleet = new EngineFleet(Math.ceil(machines * 1.05));
    context.progress('loading machines and roll-ups');
    for (const machine of steady.machines()) fleet.insert(machine);
    for (const { clusterId, rows } of steady.rollups()) fleet.rollUp(clusterId, rows);
    fleet.inventory.ensureRanks();
    fleet.decide();
    const threads = new WhatIfThread();
    const shard = whatIfsOf(fleet, threads);
    const zone = zoneB(fleet);
    for (let answer = 0; answer < ANSWERS; answer++) await measure(context, shard, zone);
    await threads.close();
  },
};

function whatIfsOf(fleet: EngineFleet, threads: WhatIfThread): WhatIfs {
  const { engine, inventory, needs } = fleet;
  return new WhatIfs({
    engine,
    options: { inventory, needs, hasSession: () => true, holds: { onDemandMs: 600_000, spotMs: 60_000 } },
    barredNeeds: () => [],
    providerNames: ['bench'],
    neverDelete: () => [],
    areCountsHeld: () => false,
    threads,
    shardId: 'bench',
    settings: SHARD_DEFAULTS,
    rails: () => SHARD_DEFAULTS,
    clock: { nowMs: () => fleet.nowMs },
    stopwatch: () => performance.now(),
    scheduler: systemScheduler,
    refusal: () => '',
  });
}

function zoneB({ inventory }: EngineFleet): string {
  const { zones } = inventory.shapes;
  for (let ref = 1; ref < zones.refLimit; ref++) if (zones.get(ref).endsWith('b')) return zones.get(ref);
  throw new Error('no zone of the catalogue ends with b');
}

async function measure(context: BenchContext, shard: WhatIfs, zone: string): Promise<void> {
  const texts: WhatIfTexts = {
    without: [`zone=${zone}`],
    ...{ demand: [], add: [], price: [], set: [], latency: [], rollups: [] },
  };
  const stretches = new Stretches();
  const cpuBefore = process.cpuUsage();
  const mainBefore = mainThreadCpuMs();
  let firstCpuMs = 0;
  let lastLine = 0;
  const others = () => {
    const { user, system } = process.cpuUsage(cpuBefore);
    return (user + system) / 1_000 - (mainThreadCpuMs() - mainBefore);
  };
  const onProgress = (progress: WhatIfProgress) => {
    if (progress.cycles > 0 && firstCpuMs === 0) firstCpuMs = others();
    if (performance.now() - lastLine < 2_000) return;
    lastLine = performance.now();
    const { phase, elapsedMs, virtualMs, cycles, actions, inFlight, unmetNeeds } = progress;
    context.progress(
      `${phase}: ${(elapsedMs / 1_000).toFixed(1)} s, virtual ${(virtualMs / 1_000).toFixed(0)} s, ${cycles} cycles, ${actions} actions, ${inFlight} in flight, ${unmetNeeds} unmet`,
    );
  };
  stretches.begin();
  const answer: WhatIfAnswer = await shard.ask(texts, (now) => now, onProgress);
  const longestMs = stretches.end();
  context.check(answer.isAtRest, 'the copy came to rest');
  context.check(answer.machinesGone > 0 && answer.actions.Bootstrap > 0, 'the question changes something');
  context.sample('main thread: copy', 'ms', answer.copyMs);
  context.sample('main thread: longest stretch', 'ms', longestMs);
  context.sample('main thread: cpu', 'ms', mainThreadCpuMs() - mainBefore);
  context.sample('first decision', 's', answer.firstDecisionMs / 1_000);
  context.sample('first decision: cpu', 's', firstCpuMs / 1_000);
  context.sample('answer', 's', answer.elapsedMs / 1_000);
  context.sample('answer: cpu', 's', others() / 1_000);
  context.sample('virtual time to rest', 's', answer.settleMs / 1_000);
  context.sample('cycles', 'cycles', answer.cycles);
  context.sample(
    'actions',
    'actions',
    Object.values(answer.actions).reduce((sum, count) => sum + count, 0),
  );
}

/**
 * The longest CPU time that the main thread spends without a turn of its event loop, and so the delay that a question causes. The wall
 * clock of a busy machine would show the delay that other programs cause.
 */
class Stretches {
  #timer: NodeJS.Timeout | null = null;
  #lastMs = 0;
  #longestMs = 0;

  begin(): void {
    this.#lastMs = mainThreadCpuMs();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  end(): number {
    this.#look();
    clearInterval(this.#timer!);
    return this.#longestMs;
  }

  #look(): void {
    const nowMs = mainThreadCpuMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}
