/**
 * Question: what does the history cost the main thread, how long does 1 GiB last, and how fast does it answer? Machines go
 * through the places where a shard changes them: each that changes drains, becomes Idle, is configured for the need that it
 * had, and joins its cluster again. The real thread writes to a real disk. Seed 1; fleet built untimed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { EventLog } from '../../src/events/event-log.ts';
import { ProviderNames } from '../../src/listing/apply/provider-names.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { zeroCounters } from '../../src/shard/counters.ts';
import { MachineChanges } from '../../src/shard/machines/changes.ts';
import { MachineEvents } from '../../src/shard/machines/machine-events.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import type { Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';

const S = MachineState;
const GIB = 1_073_741_824;
/** 1 % of the machines, every ten seconds. */
const CHURN_SHARE = 0.01;
const CHURN_MS = 10_000;
const EVENTS_PER_CHANGE = 4;
/** The soak binds 178 machines a second; each is bound and given up, and each of these is two events. */
const SOAK_EVENTS_PER_SECOND = 178 * EVENTS_PER_CHANGE;
const HOUR_S = 3_600;
const PROGRAM = fileURLToPath(new URL('../../workers/history.js', import.meta.url));
const PROVIDERS = ['bench'];

export const scenario: Scenario = {
  name: 'history',
  question: 'What does the history of events cost, how long does it last, and how fast does it answer?',
  defaults: { machines: 500_000, seconds: 20 },
  targets: [
    { name: 'main thread, 1 % churn, of a core', metric: 'share of a core', limit: 2, direction: 'below' },
    { name: '1 GiB at the rate of the soak', metric: 'hours in 1 GiB', limit: 12, direction: 'above' },
    { name: 'timeline of a machine', metric: 'history of a machine', limit: 1_000, direction: 'below' },
    { name: 'timeline of a cluster', metric: 'history of a cluster', limit: 1_000, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-history-'));
    const log = new EventLog({
      folder,
      bytesMax: GIB,
      epoch: () => 1,
      program: PROGRAM,
      onFailing: (why) => context.progress(`the disk fails: ${why}`),
      onRecovered: () => {},
    });
    try {
      const churn = new Churn(machines, log);
      const changed = Math.max(1, Math.floor(machines * CHURN_SHARE));
      churn.run(changed); // compiles
      for (let round = 0; round < 20; round++) {
        context.progress(`round ${round + 1} of 20: ${changed} machines`);
        const bareMs = churn.run(changed, false);
        const ms = churn.run(changed) - bareMs;
        context.sample('an event', 'µs', (1_000 * ms) / changed / EVENTS_PER_CHANGE);
        context.sample('share of a core', '%', (100 * ms) / CHURN_MS);
        await written(log);
      }
      const { recorded, lost, bytes } = log.counts;
      context.check(lost === 0 && recorded >= 21 * changed * EVENTS_PER_CHANGE, 'every event was written');
      context.sample('bytes an event', 'bytes', bytes / recorded);
      context.sample('hours in 1 GiB', 'hours', GIB / (bytes / recorded) / SOAK_EVENTS_PER_SECOND / HOUR_S);
      const { machineId, clusterId } = churn.last;
      const ask = async (query: { machineId?: string; clusterId?: string }) => {
        const { events } = await log.read({ ...query, limit: 100 });
        context.check(events.length >= EVENTS_PER_CHANGE, 'events were found');
      };
      await context.time('history of a machine', 'ms', () => ask({ machineId }), { samples: 20 });
      await context.time('history of a cluster', 'ms', () => ask({ clusterId }), { samples: 20 });
    } finally {
      await log.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

class Churn {
  last = { machineId: '', clusterId: '' };
  readonly #fleet: EngineFleet;
  readonly #changes: MachineChanges;
  readonly #random = new Random(1);
  readonly #bound: Uint32Array;
  #isTold = true;

  constructor(machines: number, log: EventLog) {
    this.#fleet = new EngineFleet(machines);
    const { inventory } = this.#fleet;
    for (const machine of new SteadyFleet(machines).machines()) this.#fleet.insert(machine);
    this.#bound = inventory.indexes.slotsInState(S.Configured).slice();
    const observer = {
      audits: false,
      cycleEnded: () => {},
      actionEnded: () => {},
      listingEnded: () => {},
      happened: () => {},
    };
    const names = new ProviderNames(inventory.shapes.vectors.dimensions, PROVIDERS);
    this.#changes = new MachineChanges(inventory, zeroCounters(), observer, PROVIDERS, names);
    const events = new MachineEvents({
      inventory,
      providerNames: PROVIDERS,
      note: (event) => log.note(event),
      cycle: () => 1,
      actionOn: () => null,
      drainOf: () => null,
      hasListed: () => true,
      isStandby: false,
    });
    this.#changes.onChange((change) => {
      if (this.#isTold) events.changed(change);
    });
  }

  /** In four passes: in a shard, minutes lie between the steps of a machine. Returns the CPU time of this thread. */
  run(count: number, isTold = true): number {
    this.#isTold = isTold;
    const { inventory, nowMs } = this.#fleet;
    const slots = new Set<number>();
    while (slots.size < count) slots.add(this.#bound[this.#random.below(this.#bound.length)]!);
    const bound = Array.from(slots, (slot): readonly [number, Machine] => [slot, inventory.get(slot)]);
    const changes = this.#changes;
    const beganMs = mainThreadCpuMs();
    for (const [slot] of bound) changes.move(slot, { state: S.Draining }, nowMs);
    for (const [slot, machine] of bound)
      changes.observe(slot, { ...machine, state: S.Idle, cluster: '', assignment: null }, 'read', nowMs);
    for (const [slot, { cluster, assignment }] of bound)
      changes.move(slot, { state: S.Configuring, cluster, assignment }, nowMs);
    for (const [slot, machine] of bound) changes.observe(slot, machine, 'ack', nowMs);
    const tookMs = mainThreadCpuMs() - beganMs;
    const [, { id, cluster }] = bound.at(-1)!;
    if (isTold) this.last = { machineId: id, clusterId: cluster };
    return tookMs;
  }
}

async function written(log: EventLog): Promise<void> {
  log.flush();
  while (log.counts.written + log.counts.lost < log.counts.recorded)
    await new Promise((resolve) => setTimeout(resolve, 20));
}
