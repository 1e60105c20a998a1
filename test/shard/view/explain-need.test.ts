/** Explanations of needs: a fleet for each unmet reason (A8), a parked gang (A7), and each bar to acquiring (A9). */
import { describe, expect, it } from 'vitest';
import { UnmetReason } from '../../../src/decision/verdicts/verdicts.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import type { NeedExplanation } from '../../../src/shard/ports/explain.ts';
import { tenantLimits } from '../../../src/shard/tenants.ts';
import { needSentences } from '../../../src/shard/view/explain/need-sentences.ts';
import { acceptAsArrived } from '../../decision/world-tables.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  cpus,
  gang,
  idle,
  inRack,
  isIn,
  need,
  speculative,
  spreadOver,
  world,
  ZONE,
} from '../../oracle/rules/worlds.ts';
import type { World, WorldNeed } from '../../oracle/world.ts';
import { drainVictim, viewOf } from './from-world.ts';

const S = MachineState;

async function explain(of: World, clusterId: string, one: WorldNeed, cycles = 1): Promise<NeedExplanation> {
  const explained = await viewOf(of, cycles).view.explainNeeds({ clusterId, group: one.group });
  expect(explained).toHaveLength(1);
  return explained[0]!;
}

const textOf = ({ sentences }: NeedExplanation) => sentences.join(' ');

describe('A8: NO_MATCHING_SUPPLY', () => {
  it('names the requirement that the nearest machines miss, and counts those machines', async () => {
    const web = need({ group: 'web', requirements: [isIn(ZONE, 'zone-7')] });
    const fleet = [idle('m-1'), idle('m-2'), speculative('m-3', { zone: 'zone-2' })];
    const explained = await explain(world(fleet, [cluster('alpha', [web])]), 'alpha', web, 3);
    expect(explained.need).toMatchObject({ reason: UnmetReason.NoMatchingSupply, cyclesUnmet: 3 });
    expect(explained.facts.nearest[0]).toMatchObject({
      instanceType: 'standard',
      zone: 'zone-1',
      misses: [{ kind: 'requirement', key: ZONE, values: ['zone-7'], has: 'zone-1' }],
    });
    expect(explained.facts.nearest[0]!.machines[S.Idle]).toBe(2);
    const text = textOf(explained);
    expect(explained.sentences[0]).toBe(
      'Unmet: needs 4 cpu more in zone-7. It asks for 4 cpu in all, at priority 100, and has been unmet for 3 cycles (about 30 s).',
    );
    expect(text).toContain('No machine in any state matches (NO_MATCHING_SUPPLY)');
    expect(text).toContain('Nearest match: 2 machines (standard in zone-1, bare-metal), but zone is zone-1');
    expect(text).toContain('“zone is zone-7”');
  });

  it('names the dimension of min_unit that falls short', async () => {
    const big = need({
      group: 'big',
      aggregate: cpus(64),
      minUnit: { cpu: 16_000, 'example.com/gpu': 1_000 },
    });
    const fleet = [idle('m-1'), idle('m-2', { capacity: { cpu: 12_000, 'example.com/gpu': 8_000 } })];
    const explained = await explain(world(fleet, [cluster('alpha', [big])]), 'alpha', big);
    expect(explained.facts.nearest.map(({ misses }) => misses)).toEqual([
      [{ kind: 'min_unit', dimension: 'cpu', wanted: 16_000, has: 12_000 }],
      [
        { kind: 'min_unit', dimension: 'cpu', wanted: 16_000, has: 4_000 },
        { kind: 'min_unit', dimension: 'example.com/gpu', wanted: 1_000, has: 0 },
      ],
    ]);
    expect(textOf(explained)).toContain('each has 12 cpu where the need requires at least 16');
    expect(textOf(explained)).toContain('each has no example.com/gpu where the need requires at least 1');
  });

  it('says that the inventory is empty', async () => {
    const web = need({ group: 'web' });
    const explained = await explain(world([], [cluster('alpha', [web])]), 'alpha', web);
    expect(textOf(explained)).toContain('The inventory is empty: no provider has listed a machine.');
  });
});

describe('A8: PRIORITY_STARVED', () => {
  it('names clusters and priorities of the matching machines, and that none may be preempted', async () => {
    const low = need({ group: 'low', priority: 10 });
    const high = need({ group: 'high', priority: 900, aggregate: cpus(8) });
    const equal = need({ group: 'equal', priority: 10 });
    const fleet = [
      configured('m-1', assignmentFor('beta', high)),
      configured('m-2', assignmentFor('beta', high)),
      configured('m-3', assignmentFor('gamma', equal)),
    ];
    const of = world(fleet, [cluster('alpha', [low]), cluster('beta', [high]), cluster('gamma', [equal])]);
    const explained = await explain(of, 'alpha', low);
    expect(explained.need.reason).toBe(UnmetReason.PriorityStarved);
    expect(explained.facts).toMatchObject({
      free: 0,
      preemptible: 0,
      holders: [
        { priority: 900, machines: 2, isUnclaimed: false, clusters: 1, topClusters: [{ clusterId: 'beta' }] },
        { priority: 10, machines: 1, isUnclaimed: false, topClusters: [{ clusterId: 'gamma' }] },
      ],
    });
    const text = textOf(explained);
    expect(text).toContain('3 machines match (3 Configured): none is Idle or Speculative');
    expect(text).toContain('are taken: 2 at priority 900 (beta) and 1 at priority 10 (gamma).');
    expect(text).toContain('This need has priority 10 and can preempt none of them');
  });

  it('counts machines that other needs take and machines in back-off', async () => {
    const first = need({ group: 'first', priority: 500 });
    const late = need({ group: 'late', priority: 5 });
    const fleet = [idle('m-1'), idle('m-2', { backoff: true })];
    const explained = await explain(world(fleet, [cluster('alpha', [first, late])]), 'alpha', late);
    expect(explained.facts).toMatchObject({ free: 0, takenByOthers: 1, inBackoff: 1 });
    expect(textOf(explained)).toContain('Other needs are taking 1 matching machine.');
    expect(textOf(explained)).toContain('1 is in back-off after failures');
  });

  it('A4: names the domains that are at the maximum skew', async () => {
    const web = need({ group: 'web', aggregate: cpus(16), spread: [spreadOver(ZONE)] });
    const fleet = [
      ...['a', 'b', 'c', 'd'].map((id) => idle(`z1-${id}`)),
      configured('z2-a', assignmentFor('beta', need({ group: 'other', priority: 900 })), { zone: 'zone-2' }),
      idle('z2-b', { zone: 'zone-2' }),
    ];
    const other = need({ group: 'other', priority: 900 });
    const of = world(fleet, [cluster('alpha', [web]), cluster('beta', [other])]);
    const explained = await explain(of, 'alpha', web);
    expect(explained.need.satisfied).toBe(false);
    expect(explained.facts.domains).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ domain: 'zone-1', own: 2, free: 2 }),
        expect.objectContaining({ domain: 'zone-2', own: 1, free: 0 }),
      ]),
    );
    expect(textOf(explained)).toContain('It must spread over zone with a skew of at most 1');
    expect(textOf(explained)).toContain(
      'The free machines are in domains that are already at the maximum skew.',
    );
  });
});

describe('A8: PREEMPTION_EXHAUSTED', () => {
  it('says that the machines of lower priority are too few', async () => {
    const high = need({ group: 'high', priority: 900, aggregate: cpus(12) });
    const low = need({ group: 'low', priority: 10 });
    const fleet = [configured('m-1', assignmentFor('beta', low))];
    const of = world(fleet, [cluster('alpha', [high]), cluster('beta', [low])]);
    const explained = await explain(of, 'alpha', high);
    expect(explained.need.reason).toBe(UnmetReason.PreemptionExhausted);
    expect(explained.facts).toMatchObject({ preemptible: 1 });
    expect(textOf(explained)).toContain('PREEMPTION_EXHAUSTED');
    expect(textOf(explained)).toContain('1 at priority 10 (beta)');
  });

  it('P6: counts the machines that drain for it', async () => {
    const high = need({ group: 'high', priority: 900, aggregate: cpus(12) });
    const low = need({ group: 'low', priority: 10, aggregate: cpus(8) });
    const fleet = [
      configured('m-1', assignmentFor('beta', low)),
      configured('m-2', assignmentFor('beta', low)),
    ];
    const shard = viewOf(world(fleet, [cluster('alpha', [high]), cluster('beta', [low])]));
    drainVictim(shard, 'm-1');
    const [explained] = await shard.view.explainNeeds({ clusterId: 'alpha' });
    expect(explained!.facts.drainingForIt).toBe(1);
    expect(textOf(explained!)).toContain('1 machine is draining for this need.');
  });
});

describe('A8: TOPOLOGY_UNSATISFIABLE', () => {
  it('names the best domain and the share of the gang that it holds', async () => {
    const job = gang('job', 16, { minUnit: cpus(4) });
    const fleet = [
      ...['a', 'b', 'c'].map((id) => idle(`r1-${id}`, inRack('rack-1'))),
      idle('r2-a', inRack('rack-2')),
    ];
    const explained = await explain(world(fleet, [cluster('alpha', [job])]), 'alpha', job);
    expect(explained.need.reason).toBe(UnmetReason.TopologyUnsatisfiable);
    const [best, second] = explained.facts.domains;
    expect(best).toMatchObject({ domain: 'rack-1', covered: 0.75 });
    expect(best!.own + best!.free).toBe(3);
    expect(second).toMatchObject({ domain: 'rack-2', covered: 0.25 });
    const text = textOf(explained);
    expect(text).toContain(
      'All its machines must share one rack, and no rack can hold them (TOPOLOGY_UNSATISFIABLE).',
    );
    expect(text).toContain('Best: rack-1 has 12 cpu');
    expect(text).toContain('75 % of what it asks for');
  });

  it('A7: says that a parked gang is parked', async () => {
    const job = gang('job', 16, { minUnit: cpus(4) });
    const explained = await explain(world([], [cluster('alpha', [job])]), 'alpha', job, 12);
    expect(explained.facts.bars).toEqual([{ kind: 'parked', cycles: 12 }]);
    expect(textOf(explained)).toContain('It is parked: no domain could hold all of it for 12 cycles.');
  });
});

describe('T8: a limit', () => {
  const none = Number.POSITIVE_INFINITY;
  const unlimited = {
    maxPriority: none,
    maxMachines: none,
    maxResources: {},
    maxDollarsPerHour: none,
    maxOfferingShare: none,
    minNonSpotShare: 0,
  };
  const web = need({ group: 'web', aggregate: cpus(20) });
  const fleet = ['m-1', 'm-2', 'm-3'].map((id) => idle(id));

  for (const [limits, limit, most] of [
    [{ maxMachines: 2 }, 'max-machines', '2'],
    [{ maxResources: cpus(9) }, 'max-resources', '9 cpu'],
    [{ maxDollarsPerHour: 2.5 }, 'max-dollars-per-hour', '$2.5'],
    [{ maxOfferingShare: 0.5 }, 'max-offering-share', '0.5'],
  ] as const) {
    it(`T8: the explanation names ${limit}, and what it is`, async () => {
      const of = world(fleet, [cluster('alpha', [web], { limits: { ...unlimited, ...limits } })]);
      const explained = await explain(of, 'alpha', web);
      expect(explained.need).toMatchObject({ limitedBy: limit, reason: UnmetReason.PriorityStarved });
      expect(explained.facts.bars).toEqual([{ kind: 'limited', limit, pattern: 'alpha', most }]);
      expect(explained.sentences[1]).toBe(
        `Cluster alpha has reached its limit: ${limit} is ${most} (tenants entry “alpha”). The shard acquires and ` +
          'preempts for this need only what the limit allows. Raise the limit and reload with SIGHUP, or reduce what the ' +
          'cluster has.',
      );
      expect(textOf(explained)).not.toContain('PRIORITY_STARVED');
    });
  }
});

describe('E8: the minimum share', () => {
  it('E8: the explanation says that the cluster may have no more spot machines, and what it is', async () => {
    const limits = tenantLimits({ cluster: 'alpha', minNonSpotShare: 0.5 });
    const web = need({ group: 'web', aggregate: cpus(4) });
    const fleet = [idle('m-1', { capacityType: CapacityType.Spot })];
    const of = world(fleet, [cluster('alpha', [web], { limits })]);
    const explained = await explain(of, 'alpha', web);
    expect(explained.need).toMatchObject({
      limitedBy: 'min-non-spot-share',
      reason: UnmetReason.PriorityStarved,
    });
    expect(explained.sentences[1]).toBe(
      'Cluster alpha may have no more spot machines now: min-non-spot-share is 0.5 (tenants entry “alpha”). The shard binds ' +
        'machines of other capacity types for this need if there are any. Lower the share and reload with SIGHUP, or add ' +
        'machines that are not spot.',
    );
  });
});

describe('E7: a ceiling', () => {
  const none = Number.POSITIVE_INFINITY;
  const web = need({ group: 'web', aggregate: cpus(20) });
  const fleet = ['m-1', 'm-2'].map((id) => speculative(id, { price: 2, capacityType: CapacityType.Spot }));

  for (const [maxDollarsPerHour, spot, ceiling, most] of [
    [2.5, none, 'ceilings.usd-per-hour', '$2.5'],
    [none, 3, 'ceilings.spot-usd-per-hour', '$3'],
  ] as const) {
    it(`E7: the explanation names ${ceiling}, and what it is`, async () => {
      const maxByCapacityType = [none, none, none, none, spot];
      const ceilings = { maxDollarsPerHour, maxByCapacityType };
      const explained = await explain(world(fleet, [cluster('alpha', [web])], { ceilings }), 'alpha', web);
      expect(explained.need).toMatchObject({ limitedBy: ceiling, reason: UnmetReason.PriorityStarved });
      expect(explained.facts.bars).toEqual([{ kind: 'ceiling', ceiling, most }]);
      expect(explained.sentences[1]).toContain(`The fleet has reached a ceiling: ${ceiling} is ${most}.`);
      expect(textOf(explained)).not.toContain('PRIORITY_STARVED');
    });
  }
});

describe('A9: a bar', () => {
  const web = need({ group: 'web' });

  it('without a session comes first, although machines are free', async () => {
    const of = world([idle('m-1')], [cluster('alpha', [web], { hasSession: false })]);
    const explained = await explain(of, 'alpha', web);
    expect(explained.facts).toMatchObject({ bars: [{ kind: 'no_session' }], free: 1 });
    expect(explained.sentences[1]).toContain('The operator of cluster alpha is not connected');
    expect(textOf(explained)).not.toContain('PRIORITY_STARVED');
    expect(textOf(explained)).toContain('It will use the free machines once the conditions above clear.');
  });

  it('by a failed bootstrap quotes the operator, with the time of the next attempt', async () => {
    const failing = { ...web, backoff: true };
    const explained = await explain(world([idle('m-1')], [cluster('alpha', [failing])]), 'alpha', failing);
    expect(explained.facts.bars).toMatchObject([{ kind: 'bootstrap_backoff', backoff: { failures: 3 } }]);
    expect(explained.sentences[1]).toBe(
      'Its bootstrap failed 3 times in a row, last with “no token for this node group”. The shard tries again in 40 s ' +
        'and acquires nothing for it until then. Repair the bootstrap: until one succeeds, the shard tries one machine at a time.',
    );
  });

  it('X14: of a cluster that has spent its burn budget says how many machines it burned, and what helps', async () => {
    const failing = { ...web, backoff: true };
    const shard = world([idle('m-1')], [cluster('alpha', [failing])]);
    const { facts, need: seen } = await explain(shard, 'alpha', failing);
    const spent = { burned: 7, limit: 7, untilMs: 1_800_000 };
    const backoff = { untilMs: 0, failures: 3, text: 'exit 1', spent };
    const bars = [{ kind: 'bootstrap_backoff' as const, backoff }];
    const [, words] = needSentences(seen, { ...facts, bars }, { nowMs: 0, cycleIntervalMs: 10_000 });
    expect(words).toContain(
      'Cluster alpha has burned 7 machines in the last hour, and may burn 7 (burn-fraction)',
    );
    expect(words).toContain('for 30 min. Repair the bootstrap.');
  });

  it('by the kill switch, a dry run, fencing or a missing listing is named', async () => {
    const shard = viewOf(
      world([idle('m-1')], [cluster('alpha', [need({ group: 'web', aggregate: cpus(8) })])]),
    );
    for (const [rail, words] of [
      [{ isPaused: true }, 'the kill switch is on'],
      [{ isDryRun: true }, 'this is a dry run'],
      [{ isFenced: true }, 'another process owns its shard id'],
      [{ heldBack: 'provider east has not been listed yet' }, 'provider east has not been listed yet'],
    ] as const) {
      shard.rails = { ...shard.rails, isPaused: false, isDryRun: false, isFenced: false, ...rail };
      const [explained] = await shard.view.explainNeeds({ clusterId: 'alpha' });
      expect(explained!.sentences[1]).toContain(words);
    }
  });
});

describe('a need', () => {
  it('is explained by its machines when it is satisfied', async () => {
    const web = need({ group: 'web', aggregate: cpus(8) });
    const fleet = [configured('m-1', assignmentFor('alpha', web)), idle('m-2')];
    const explained = await explain(world(fleet, [cluster('alpha', [web])]), 'alpha', web);
    expect(explained.sentences).toEqual([
      'Satisfied: 2 machines count for it, 1 of them to be bootstrapped.',
      'Its machines are m-1 and m-2.',
    ]);
  });

  it('A1: names the fold that serves it', async () => {
    const job = gang('job', 2);
    const jobs = [job, gang('job-2', 2), gang('job-3', 2)];
    const explained = await explain(world([idle('m-1')], [cluster('alpha', jobs)]), 'alpha', job);
    expect(explained.facts.foldedAs).toBe('fold:cpu=2');
    expect(textOf(explained)).toContain('(“fold:cpu=2”)');
  });

  it('without a name gives the unmet needs of its cluster, in order', async () => {
    const met = need({ group: 'met', priority: 900 });
    const unmet = [need({ group: 'b', priority: 5 }), need({ group: 'a', priority: 7 })];
    const shard = viewOf(world([idle('m-1')], [cluster('alpha', [met, ...unmet])]));
    const explained = await shard.view.explainNeeds({ clusterId: 'alpha' });
    expect(explained.map(({ need: one }) => one.group)).toEqual(['a', 'b']);
    expect(await shard.view.explainNeeds({ clusterId: 'nobody' })).toEqual([]);
    expect(await shard.view.explainNeeds({ clusterId: 'alpha', group: 'nothing' })).toEqual([]);
  });

  it('may preempt machines that no need claims', async () => {
    const web = need({ group: 'web', priority: 5, aggregate: cpus(8) });
    const fleet = [configured('m-1', boundTo('beta', { priority: 77 }))];
    const of = world(fleet, [cluster('alpha', [web]), cluster('beta', [])]);
    const explained = await explain(of, 'alpha', web);
    expect(explained.facts.holders).toMatchObject([{ priority: 77, isUnclaimed: true, machines: 1 }]);
    expect(textOf(explained)).toContain('1 unclaimed, bound at priority 77 (beta)');
    expect(explained.facts.preemptible).toBe(1);
  });
});

describe('while demand changes', () => {
  it('an explanation waits for a cycle that reads the demand of its own cluster, and for no other', async () => {
    const web = need({ group: 'web', requirements: [isIn(ZONE, 'zone-7')] });
    const other = need({ group: 'other' });
    const seen = viewOf(world([idle('m-1')], [cluster('alpha', [web]), cluster('beta', [other])]), 1);
    const { needs } = seen;
    acceptAsArrived(needs, 'beta', [], [{ ...other, aggregate: { cpu: 9_000 } }]);
    expect(needs.dirtyCount).toBe(1);
    const explained = await seen.view.explainNeeds({ clusterId: 'alpha', group: 'web' });
    expect(explained).toHaveLength(1);
    acceptAsArrived(needs, 'alpha', [], [{ ...web, aggregate: { cpu: 8_000 } }]);
    let isDone = false;
    const waiting = seen.view.explainNeeds({ clusterId: 'alpha', group: 'web' }).then((found) => {
      isDone = true;
      return found;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isDone).toBe(false);
    seen.decide(true);
    expect((await waiting)[0]!.need.aggregate).toEqual({ cpu: 8_000 });
  });
});
