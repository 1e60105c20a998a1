import { describe, expect, it } from 'vitest';
import { PenaltyBucket } from '../../../src/machine/penalty.ts';
import { subjects } from '../subjects.ts';
import type { Assignment, WorldMachine, WorldNeed } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  claimedBy,
  cluster,
  configured,
  configuring,
  cpus,
  did,
  gang,
  idle,
  inRack,
  isIn,
  keyOf,
  need,
  RACK,
  spreadOver,
  verdictOf,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  const low = need({ priority: 10, aggregate: cpus(100) });
  const ofLow = assignmentFor('beta', low);
  const urgent = (facts: Partial<WorldNeed> = {}) => need({ priority: 1_000, ...facts });

  /** What alpha's need preempts among beta's machines, which beta's low need claims. */
  const against = (wanting: WorldNeed, fleet: WorldMachine[]) =>
    decideWith(world(fleet, [cluster('alpha', [wanting]), cluster('beta', [low], { hasSession: false })]));

  it('P1: takes only claimed machines of strictly lower priority', () => {
    const fleet = [configured('m-1', ofLow)];
    expect(did(against(need({ priority: 11 }), fleet))).toEqual(['Preempt m-1']);
    expect(did(against(need({ priority: 10 }), fleet))).toEqual([]);
    expect(did(against(need({ priority: 9 }), fleet))).toEqual([]);
  });

  it('P1: names the victim’s cluster, the preemptor’s cluster and the preemptor’s need', () => {
    const wanting = urgent({ group: 'web' });
    const [action] = against(wanting, [configured('m-1', ofLow)]).actions;
    expect(action).toEqual({
      kind: 'Preempt',
      machine: 'm-1',
      cluster: 'beta',
      forCluster: 'alpha',
      fingerprint: 'p=1000|ipb=0|rpb=0|reqs=|spr=',
      group: 'web',
      reason: 'phase2.inversion',
      graceSeconds: 600,
      isClaimedVictim: true,
      isGangVictim: false,
    });
  });

  it('P1: takes unclaimed machines first, even of higher assigned priority', () => {
    const fleet = [configured('m-1', ofLow), configured('m-9', boundTo('gamma', { priority: 5_000 }))];
    const result = decideWith(
      world(fleet, [
        cluster('alpha', [urgent()]),
        cluster('beta', [low], { hasSession: false }),
        cluster('gamma', []),
      ]),
    );
    expect(did(result)).toEqual(['Preempt m-9']);
    // The gap is 1,000 − 5,000: it may be negative.
    expect(result.actions[0]?.graceSeconds).toBe(600);
  });

  it('P1: leaves unclaimed machines of a cluster that has not reported (N6)', () => {
    const fleet = [configured('m-1', boundTo('gamma')), configured('m-2', boundTo('nobody'))];
    const result = decideWith(
      world(fleet, [cluster('alpha', [urgent()]), cluster('gamma', [], { reported: false })]),
    );
    expect(result.actions).toEqual([]);
  });

  it('P1: a machine’s priority is that of the need that claims it, not that of its assignment', () => {
    const raised = configured('m-1', { ...ofLow, priority: 5_000 });
    expect(did(against(urgent(), [raised]))).toEqual(['Preempt m-1']);
    const high = need({ priority: 5_000 });
    const lowered = configured('m-1', boundTo('beta', { priority: 1 }));
    const result = decideWith(world([lowered], [cluster('alpha', [urgent()]), cluster('beta', [high])]));
    expect(result.actions).toEqual([]);
  });

  it('P1: takes only Configured machines that match, cover min_unit and have a missing dimension, none in back-off', () => {
    const gold = { labels: { tier: 'gold' } };
    const wanting = urgent({
      aggregate: { cpu: 4_000, memory: 100 },
      minUnit: cpus(2),
      requirements: [isIn('tier', 'gold')],
    });
    const fleet = [
      configured('m-1', ofLow),
      configured('m-2', ofLow, { ...gold, capacity: cpus(1) }),
      configured('m-3', ofLow, { ...gold, backoff: true }),
      configuring('m-4', ofLow, gold),
      configured('m-5', ofLow, { ...gold, intent: 'reclaim' }),
      configured('m-6', ofLow, gold),
      configured('m-7', ofLow, gold),
      configured('m-8', ofLow, { ...gold, capacity: { cpu: 2_000, memory: 100 } }),
    ];
    expect(did(against(wanting, fleet))).toEqual(['Preempt m-6', 'Preempt m-8']);
  });

  it('P1: covers only what acquisition left missing, with needs in the order of A3', () => {
    const wanting = urgent({ aggregate: cpus(8) });
    const fleet = [idle('m-1'), configured('m-2', ofLow), configured('m-3', ofLow)];
    expect(did(against(wanting, fleet))).toEqual(['Bootstrap m-1', 'Preempt m-2']);
    const first = urgent({ interruptionPenalty: 9 });
    const second = urgent({ arrivalMs: 0 });
    const result = decideWith(
      world(fleet.slice(1), [
        cluster('alpha', [second, first]),
        cluster('beta', [low], { hasSession: false }),
      ]),
    );
    expect(
      result.actions.map(({ machine, fingerprint }) => `${machine} ${fingerprint.slice(0, 12)}`),
    ).toEqual(['m-2 p=1000|ipb=9', 'm-3 p=1000|ipb=0']);
  });

  it('P1: uses a victim once per cycle', () => {
    const fleet = [configured('m-1', ofLow)];
    const needs = [urgent({ group: 'a' }), urgent({ group: 'b' })];
    const result = decideWith(
      world(fleet, [cluster('alpha', needs), cluster('beta', [low], { hasSession: false })]),
    );
    expect(result.actions.map(({ machine, group }) => `${machine} ${group}`)).toEqual(['m-1 a']);
    expect(result.shortfalls).toMatchObject([{ deficit: cpus(4), priority: 1_000 }, { priority: 10 }]);
  });

  it('P1: a gang may preempt a gang of lower priority in its own cluster, whose machines it is not credited', () => {
    const higher = gang('job-1', 8, { priority: 1_000 });
    const lower = gang('job-2', 8, { priority: 10 });
    const fleet = [idle('m-1'), configured('m-2', assignmentFor('alpha', lower))];
    const result = decideWith(world(fleet, [cluster('alpha', [higher, lower])]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Preempt m-2']);
    expect(result.claims.get('m-2')).toBe(keyOf('alpha', lower));
    expect(result.actions[1]).toMatchObject({ cluster: 'alpha', forCluster: 'alpha', group: 'job-1' });
  });

  it('P1: a gang preempts only in its rack, and only if the victims complete it', () => {
    const job = gang('job-1', 12, { priority: 1_000 });
    const inside = (...ids: string[]) => ids.map((id) => configured(id, ofLow, inRack('rack-1')));
    const outside = configured('m-9', ofLow, inRack('rack-2'));
    const free = idle('m-1', inRack('rack-1'));
    expect(did(against(job, [free, ...inside('m-2', 'm-3', 'm-4'), outside]))).toEqual([
      'Bootstrap m-1',
      'Preempt m-2',
      'Preempt m-3',
    ]);
    expect(did(against(job, [free, ...inside('m-2'), outside]))).toEqual(['Bootstrap m-1']);
    // A gang without a domain preempts nothing.
    expect(did(against(job, inside('m-2', 'm-3', 'm-4')))).toEqual([]);
  });

  it('P1: the next need may take victims that a gang tried and gave back', () => {
    const job = gang('job-1', 12, { priority: 2_000 });
    const fleet = [idle('m-1'), configured('m-2', ofLow)];
    const result = decideWith(
      world(fleet, [cluster('alpha', [job, urgent()]), cluster('beta', [low], { hasSession: false })]),
    );
    expect(result.actions.map(({ kind, group }) => `${kind} ${group}`)).toEqual([
      'Bootstrap job-1',
      'Preempt ',
    ]);
  });

  it('P1: a need under A4 preempts only in domains where it may take a machine, victims included in the counts', () => {
    const wanting = urgent({ aggregate: cpus(20), spread: [spreadOver(RACK)] });
    const fleet = [
      idle('m-1', inRack('rack-1')),
      idle('m-2', inRack('rack-2')),
      configured('m-3', ofLow, inRack('rack-1')),
      configured('m-4', ofLow, inRack('rack-1')),
      configured('m-5', ofLow, { labels: {} }),
    ];
    // One in each rack; m-3 makes two in rack-1, and with one in rack-2 that is all that a skew of 1 allows.
    expect(did(against(wanting, fleet))).toEqual(['Bootstrap m-1', 'Bootstrap m-2', 'Preempt m-3']);
    // m-6 evens the racks, so rack-1 may take another: each time the best allowed machine.
    const even = [...fleet, configured('m-6', { ...ofLow, interruptionPenalty: 9 }, inRack('rack-2'))];
    expect(did(against(wanting, even)).slice(2)).toEqual(['Preempt m-3', 'Preempt m-6', 'Preempt m-4']);
  });

  it('P1: a rack with only victims does not limit the other racks until it gives one', () => {
    const wanting = urgent({ aggregate: cpus(16), spread: [spreadOver(RACK)] });
    const fleet = [
      idle('m-1', inRack('rack-1')),
      configured('m-2', ofLow, inRack('rack-1')),
      configured('m-3', ofLow, inRack('rack-2')),
      configured('m-4', ofLow, inRack('rack-1')),
    ];
    // Only rack-1 has credited, Idle or Speculative machines, so it is its own minimum; rack-2 joins with m-3.
    expect(did(against(wanting, fleet))).toEqual(['Bootstrap m-1', 'Preempt m-2', 'Preempt m-3']);
  });

  const scored = (...assignments: Partial<Assignment>[]) =>
    assignments.map((assignment, index) => configured(`m-${index + 1}`, { ...ofLow, ...assignment }));
  const order = (fleet: WorldMachine[], priority = 1_000) =>
    did(against(need({ priority, aggregate: cpus(4 * fleet.length) }), fleet)).map((action) =>
      action.slice(8),
    );

  it('P2: takes machines with lower assigned penalties sooner; ties by id', () => {
    // 0.1 / 4 and 0.1 / 0.5 and 0.1 / 0.01 for one penalty, 10 for the other one.
    expect(order(scored({ interruptionPenalty: 5 }, { interruptionPenalty: 2 }, {}))).toEqual([
      'm-3',
      'm-2',
      'm-1',
    ]);
    expect(order(scored({ reclamationPenalty: 5 }, { reclamationPenalty: 2 }, {}))).toEqual([
      'm-3',
      'm-2',
      'm-1',
    ]);
    expect(order(scored({ interruptionPenalty: 5 }, { reclamationPenalty: 5 }))).toEqual(['m-1', 'm-2']);
    // $0 and an unspecified penalty are floored at $0.01.
    expect(order(scored({ interruptionPenalty: 1 }, { interruptionPenalty: 0 }))).toEqual(['m-1', 'm-2']);
  });

  it('P2: an infinite penalty adds nothing to the score, but does not exempt the machine', () => {
    const { Pinned, Largest } = PenaltyBucket;
    const fleet = scored(
      { interruptionPenalty: Pinned, reclamationPenalty: Pinned },
      { interruptionPenalty: Pinned, reclamationPenalty: Pinned },
      { interruptionPenalty: Largest, reclamationPenalty: Pinned },
    );
    expect(order(fleet)).toEqual(['m-3', 'm-1', 'm-2']);
  });

  it('P2: the priority gap outweighs the penalties', () => {
    const high = need({ priority: 100, aggregate: cpus(4) });
    const fleet = [
      configured('m-1', assignmentFor('gamma', high)),
      configured('m-2', { ...ofLow, interruptionPenalty: 27, reclamationPenalty: 27 }),
    ];
    const result = decideWith(
      world(fleet, [
        cluster('alpha', [urgent()]),
        cluster('beta', [low], { hasSession: false }),
        cluster('gamma', [high], { hasSession: false }),
      ]),
    );
    expect(did(result)).toEqual(['Preempt m-2']);
  });

  it('P2: an unclaimed machine without an assigned need counts with priority 0 and penalties 0', () => {
    const fleet = [configured('m-1', boundTo('gamma', { priority: 1 })), configured('m-2', boundTo('gamma'))];
    const result = decideWith(
      world(fleet, [cluster('alpha', [urgent()]), cluster('gamma', [])], { ordinary: false }),
    );
    expect(did(result)).toEqual(['Preempt m-2']);
  });

  it('P2: stops when the freed capacity covers the deficit', () => {
    expect(order(scored({}, {}, {}).map((one) => ({ ...one, capacity: cpus(8) })))).toEqual(['m-1', 'm-2']);
  });

  for (const [gap, graceSeconds] of [
    [900_001, 10],
    [900_000, 30],
    [500_001, 30],
    [500_000, 120],
    [100_001, 120],
    [100_000, 600],
    [1, 600],
  ] as const) {
    it(`P3: a gap of ${gap} gives ${graceSeconds} s of grace`, () => {
      const result = against(need({ priority: 10 + gap }), [configured('m-1', ofLow)]);
      expect(result.actions[0]?.graceSeconds).toBe(graceSeconds);
    });
  }

  it('P3: measures the gap to the need that claims the victim, not to its assignment', () => {
    const result = against(need({ priority: 600_000 }), [configured('m-1', { ...ofLow, priority: 599_999 })]);
    expect(result.actions[0]?.graceSeconds).toBe(30);
  });

  it('P4: preemption only frees: the victim stays claimed by its need, and the preemptor stays unsatisfied', () => {
    const wanting = urgent();
    const result = against(wanting, [configured('m-1', ofLow)]);
    expect(claimedBy(result, keyOf('beta', low))).toEqual(['m-1']);
    expect(verdictOf(result, 'alpha', wanting)).toMatchObject({
      satisfied: false,
      deficit: cpus(4),
      claimed: 0,
    });
  });
});
