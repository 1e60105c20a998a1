/**
 * Question: how long does a from-scratch check block the main thread, and how long does its own thread take? A realistic
 * fleet (catalogue) with 1 % of it changed between two checks; each check starts a thread, as in a shard.
 */
import { copyImage, imageBytes } from '../../src/base/image.ts';
import { CheckThreads } from '../../src/cli/check-thread.ts';
import { imageOfCycle } from '../../src/shard/check/image.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { FleetChurn } from '../catalogue/churn.ts';
import { ClosedLoop } from '../catalogue/closed-loop.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';

const CHECKS = 6;
const MIB = 1 << 20;

export const scenario: Scenario = {
  name: 'scratch-check',
  question: 'How long does a from-scratch check hold the main thread up, and how long does it take in all?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [
    { name: 'main thread, a check', metric: 'main thread', limit: 20, direction: 'below' },
    { name: 'differences', metric: 'differences', limit: 0, direction: 'below' },
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
    const loop = new ClosedLoop(fleet);
    const rollups = new FleetChurn(steady);
    const slots = fleet.inventory.slotsById.slice();
    for (let check = 0; check < CHECKS; check++) {
      context.progress(`check ${check + 1} of ${CHECKS}`);
      fleet.nowMs += 10_000;
      loop.execute();
      loop.heal();
      for (const { clusterId, rows } of rollups.churnRollups(0.01, 0.05)) fleet.rollUp(clusterId, rows);
      loop.change(slots, Math.round(machines * 0.01));
      await measure(context, fleet, check > 0);
    }
  },
};

async function measure(context: BenchContext, fleet: EngineFleet, isSampled: boolean): Promise<void> {
  const { engine, inventory, needs } = fleet;
  const options = {
    inventory,
    needs,
    hasSession: () => true,
    holds: { onDemandMs: 600_000, spotMs: 60_000 },
  };
  const subject = { engine, options, barredNeeds: () => [] };
  const input = { nowMs: fleet.nowMs, isOrdinary: true };
  const threads = new CheckThreads();
  const openedMs = performance.now();
  const check = await threads.open(imageBytes(imageOfCycle(subject, engine.remember().memory, input)) * 1.1);
  const openMs = performance.now() - openedMs;
  let spentMs = 0;
  let cpuMs = 0;
  const spend = <T>(what: () => T): T => {
    const cpuBefore = mainThreadCpuMs();
    const before = performance.now();
    const value = what();
    spentMs += performance.now() - before;
    cpuMs += mainThreadCpuMs() - cpuBefore;
    return value;
  };
  const { memory, letGo } = spend(() => engine.remember());
  fleet.decide();
  const image = spend(() => {
    const copy = copyImage(imageOfCycle(subject, memory, input), check.buffer);
    letGo();
    return copy;
  });
  context.check(image !== null, 'the copy fits');
  const postedMs = performance.now();
  const result = spend(() => check.run(image!));
  const { actions, claims, verdicts, examples } = await result;
  context.check(actions + claims + verdicts === 0, `no difference: ${JSON.stringify(examples)}`);
  await threads.close();
  if (!isSampled) return;
  context.sample('main thread', 'ms', spentMs);
  context.sample('main thread: cpu', 'ms', cpuMs);
  context.sample('copy', 'MiB', imageBytes(image) / MIB);
  context.sample('opening', 'ms', openMs);
  context.sample('in the thread', 'ms', performance.now() - postedMs);
  context.sample('differences', 'differences', actions + claims + verdicts);
}
