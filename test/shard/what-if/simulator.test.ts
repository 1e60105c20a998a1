/**
 * Y4: what the copy says must happen. In small worlds without faults the answer to a question is compared with what the same shard then
 * does in the simulator: when the machines of zone b really disappear, or when the demand really doubles.
 */
import { expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import { type MachineState, STATE_NAMES } from '../../../src/machine/state.ts';
import { Operator } from '../../../src/needs/requirements.ts';
import type { RollupRow } from '../../../src/needs/rollup.ts';
import type { Shard } from '../../../src/shard/shard.ts';
import { drawMachine, drawRow } from '../../../src/simulation/virtual-time/scenery.ts';
import { SimulatedWorld } from '../../../src/simulation/virtual-time/world.ts';
import { InPlace, NOTHING } from './in-place.ts';

const FIRST_SEED = Number(process.env.FLOTILLA_SEED ?? 1);
const HISTORIES = Number(process.env.FLOTILLA_HISTORIES ?? 10);
const TIMEOUT_MS = 60_000 + 5_000 * HISTORIES;
const MINUTE_MS = 60_000;
/** Longer than the hold of an Idle machine (R3). */
const REST_MS = 13 * MINUTE_MS;

function drawWorld(seed: number, threads: InPlace): SimulatedWorld {
  const random = new Random(seed);
  const seconds = (most: number) => 1_000 * random.between(1, most);
  const step = (meanMs: number) => ({ latency: { meanMs, p99Ms: meanMs } });
  const world = new SimulatedWorld({
    seed,
    clusterIds: Array.from({ length: random.between(1, 3) }, (_, index) => `cluster-${index}`),
    settings: {
      removalHoldMs: 0,
      vanishingHoldMs: 0,
      hasRollupGuard: false,
      reclaimCapFraction: random.pick([0, 0.05, 0.5]),
      preemptionCapFraction: random.pick([0.2, 0, 0.5]),
      actionsPerCycleMax: random.pick([0, 0, 3]),
      placement: { kind: random.pick(['cheapest', 'cheapest', 'value']), offerMargin: 0.2 },
    },
    providers: [
      {
        operations: {
          create: step(seconds(50)),
          configure: step(seconds(30)),
          drain: step(seconds(30)),
          delete: step(seconds(10)),
        },
      },
    ],
    whatIfThreads: threads,
  });
  world.network.faults = { ...world.network.faults, delayMsMean: 0 };
  const machines = random.between(10, 60);
  for (let index = 0; index < machines; index++) world.provider.add(drawMachine(random, `m-${index}`));
  for (const cluster of world.clusters.values()) {
    cluster.faults = { ...cluster.faults, delayMsMean: 0 };
    cluster.rows = Array.from({ length: random.between(1, 8) }, () => drawRow(random));
  }
  return world;
}

/** Twice the demand: plain needs ask for twice as much, and there are twice as many gangs. */
function doubled(rows: readonly RollupRow[]): RollupRow[] {
  return rows.flatMap((row) => {
    if (row.requirements.some(({ operator }) => operator === Operator.Same))
      return [row, { ...row, group: `${row.group}~2` }];
    const twice = ([name, text]: [string, string]) => [
      name,
      text.replace(/\d+/, (digits) => String(2 * Number(digits))),
    ];
    return [{ ...row, aggregate: Object.fromEntries(Object.entries(row.aggregate).map(twice)) }];
  });
}

/** State and binding of each machine, by id. */
function bindings(shard: Pick<Shard, 'inventory'>, idOf: (slot: number) => string): Map<string, string> {
  const { columns, tables } = shard.inventory;
  const found = new Map<string, string>();
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] === 0) continue;
    const state = STATE_NAMES[columns.state[slot] as MachineState];
    const cluster = tables.clusters.get(columns.cluster[slot]!);
    const group = tables.groups.shortText(columns.group[slot]!);
    found.set(idOf(slot), `${state} ${cluster} ${group} ${columns.need[slot]}`);
  }
  return found;
}

it('Y4: without faults its final bindings are those of the simulator when the zone is taken away', {
  timeout: TIMEOUT_MS,
}, async () => {
  let moved = 0;
  const different: string[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed++) {
    const threads = new InPlace();
    const world = drawWorld(seed, threads);
    const { shard } = world.startShard();
    await world.time.advance(REST_MS);
    const ids = new Map<number, string>();
    const { inventory } = shard;
    for (let slot = 1; slot < inventory.columns.slotLimit; slot++)
      if (inventory.columns.state[slot] !== 0) ids.set(slot, inventory.idOf(slot));
    const before = bindings(shard, (slot) => ids.get(slot)!);
    const latency = (['create', 'configure', 'drain', 'delete'] as const).map(
      (name) => `${name}=${world.provider.settings.operations[name].latency!.meanMs}ms`,
    );
    const isDemand = seed % 3 === 0;
    const change = isDemand ? { demand: ['*=2'] } : { without: ['zone=b'] };
    const asked = shard.whatIf.ask(
      { ...NOTHING, ...change, latency },
      (now) => now,
      () => {},
    );
    const failed = asked.catch((error: unknown) => error as Error);
    for (let turn = 0; turn < 5; turn++) await world.time.advance(0);
    const answer = await failed;
    if (answer instanceof Error) {
      expect(answer.message).toMatch(/There is no zone "b"/);
      continue;
    }
    const { rested } = threads;
    expect(answer.isAtRest).toBe(true);
    const listed = world.provider.list();
    if (isDemand)
      for (const cluster of world.clusters.values()) world.setDemand(cluster, doubled(cluster.rows));
    else
      for (const { id, zone } of listed.kind === 'ok' ? listed.value.machines : [])
        if (zone === 'b') world.provider.world.remove(id);
    await world.time.advance(answer.settleMs + 2 * MINUTE_MS);
    const expected = bindings(shard, (slot) => shard.inventory.idOf(slot));
    const copied = bindings(rested!, (slot) => ids.get(slot)!);
    for (const [id, text] of copied) {
      if (before.get(id) !== text) moved++;
      if (expected.get(id) !== text) different.push(`${seed} ${id}: ${text}, simulated ${expected.get(id)}`);
    }
    expect(copied.size).toBe(expected.size);
    world.killShard();
  }
  expect(different).toEqual([]);
  expect(moved).toBeGreaterThan(HISTORIES);
});
