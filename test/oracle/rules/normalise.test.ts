import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import { needKey, UnmetReason } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  claimedBy,
  cluster,
  configured,
  cpus,
  creating,
  did,
  drainFor,
  draining,
  foldFingerprint,
  gang,
  idle,
  inRack,
  keyOf,
  NOW_MS,
  need,
  RACK,
  same,
  speculative,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

const foldKey = (clusterId: string, cpuCount: number, of = gang('', cpuCount)) =>
  needKey(clusterId, `fold:cpu=${cpuCount}`, foldFingerprint(of));

describe.each(subjects)('$name', ({ decideWith }) => {
  it('A1: two gangs that fit one machine fold into one plain need, and share it', () => {
    const [first, second] = [gang('job-1', 2), gang('job-2', 2)];
    const result = decideWith(world([idle('m-1')], [cluster('alpha', [second, first])]));
    expect(result.actions).toMatchObject([
      { kind: 'Bootstrap', machine: 'm-1', group: 'fold:cpu=2', fingerprint: foldFingerprint(first) },
    ]);
    expect(claimedBy(result, foldKey('alpha', 2))).toEqual(['m-1']);
    // "counts belong to the first member"
    expect(verdictOf(result, 'alpha', first)).toMatchObject({ satisfied: true, claimed: 1, bootstraps: 1 });
    expect(verdictOf(result, 'alpha', second)).toMatchObject({ satisfied: true, claimed: 0, bootstraps: 0 });
    expect(verdictOf(result, 'alpha', first)).toMatchObject({ domain: '', satisfiable: true, parked: false });
  });

  it('A1: the fold’s group names the canonical aggregate of one gang, dimensions by name, zeros left out', () => {
    const mebibyteUnits = 1_024;
    const aggregate = { memory: 8 * 1_024 * mebibyteUnits, cpu: 1_500, 'nvidia.com/gpu': 2_000, storage: 0 };
    const fleet = [idle('m-1', { capacity: { ...aggregate, cpu: 4_000 } })];
    const result = decideWith(world(fleet, [cluster('alpha', [gang('job-1', 0, { aggregate })])]));
    expect(result.actions[0]?.group).toBe('fold:cpu=1500m,memory=8Gi,nvidia.com/gpu=2');
  });

  it('A1: members beyond the whole gangs that fit stay Same needs, the last ones in order N4', () => {
    const early = [gang('job-1', 2), gang('job-2', 2)];
    const late = gang('job-0', 2, { arrivalMs: NOW_MS + 1 });
    const result = decideWith(world([idle('m-1')], [cluster('alpha', [late, ...early])]));
    expect(claimedBy(result, foldKey('alpha', 2))).toEqual(['m-1']);
    for (const member of early) expect(verdictOf(result, 'alpha', member).satisfied).toBe(true);
    // As a Same need it chose a domain, and lost the machine there to the fold, which arrived earlier.
    expect(verdictOf(result, 'alpha', late)).toMatchObject({
      satisfied: false,
      domain: 'rack-1',
      satisfiable: true,
      reason: UnmetReason.PriorityStarved,
    });
  });

  it('A1: counts whole gangs over Idle, Speculative and orphan Creating machines and the fold’s own', () => {
    const gangs = ['job-1', 'job-2', 'job-3', 'job-4', 'job-5'].map((group) => gang(group, 4));
    const own = assignmentFor('alpha', gangs[0]!, {
      fingerprint: foldFingerprint(gangs[0]!),
      group: 'fold:cpu=4',
    });
    const fleet = [
      configured('m-1', own),
      idle('m-2'),
      speculative('m-3'),
      creating('m-4', null),
      // The empty group is the fold's own too: the reference assigns so.
      configured('m-5', { ...own, group: '' }),
      // Configured for another need: it does not count for folding.
      configured('m-6', boundTo('alpha'), { labels: {} }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', gangs)]));
    expect(claimedBy(result, foldKey('alpha', 4))).toEqual(['m-1', 'm-2', 'm-4', 'm-5', 'm-6']);
    expect(did(result)).toEqual(['Bootstrap m-2']);
    const late = gang('job-6', 4, { arrivalMs: NOW_MS + 1 });
    const smaller = decideWith(world(fleet.slice(0, 1), [cluster('alpha', [gangs[0]!, late])]));
    expect(claimedBy(smaller, foldKey('alpha', 4))).toEqual(['m-1']);
    expect(verdictOf(smaller, 'alpha', late)).toMatchObject({
      satisfied: false,
      domain: '',
      reason: UnmetReason.TopologyUnsatisfiable,
    });
  });

  it('A1: a gang does not fold while a machine is assigned to it or drains for it', () => {
    const job = gang('job-1', 2);
    const free = idle('m-9', { price: 0.1 });
    const own = assignmentFor('alpha', job);
    const holdings = [
      creating('m-1', own),
      configured('m-1', own),
      speculative('m-1', { intent: 'provision', assignment: own }),
    ];
    for (const held of holdings) {
      const result = decideWith(world([held, free], [cluster('alpha', [job])]));
      expect(claimedBy(result, keyOf('alpha', job))).toEqual(['m-1']);
      expect(verdictOf(result, 'alpha', job)).toMatchObject({ satisfied: true, domain: 'rack-1' });
    }
    const drains = draining('m-1', boundTo('beta'), drainFor('alpha', job));
    const result = decideWith(world([drains, free], [cluster('alpha', [job])]));
    expect(claimedBy(result, keyOf('alpha', job))).toEqual(['m-9']);
    // Its own machine that is being drained does not count as held.
    const leaving = decideWith(world([draining('m-1', own), free], [cluster('alpha', [job])]));
    expect(claimedBy(leaving, foldKey('alpha', 2))).toEqual(['m-9']);
  });

  it('A1: a fold is credited bound machines of unknown need, but none that is assigned to another live need', () => {
    const folds = gang('job-1', 4, { arrivalMs: NOW_MS - 1 });
    const holds = gang('job-2', 4);
    const plain = need({ aggregate: cpus(4), priority: 50 }); // with another fingerprint than the fold
    for (const other of [holds, plain]) {
      const fleet = [configured('m-1', assignmentFor('alpha', other)), idle('m-2')];
      const result = decideWith(world(fleet, [cluster('alpha', [folds, other])]));
      expect(claimedBy(result, keyOf('alpha', other))).toEqual(['m-1']);
      expect(claimedBy(result, foldKey('alpha', 4))).toEqual(['m-2']);
      expect(did(result)).toEqual(['Bootstrap m-2']);
    }
    const free = [configured('m-1', boundTo('alpha')), idle('m-2')];
    const result = decideWith(world(free, [cluster('alpha', [folds])]));
    expect(claimedBy(result, foldKey('alpha', 4))).toEqual(['m-1']);
    expect(did(result)).toEqual([]);
  });

  it('A1: a gang folds only if its aggregate and min_unit both fit one machine that matches', () => {
    const fleet = [idle('m-1', { labels: { rack: 'rack-1', tier: 'gold' } }), idle('m-2', { labels: {} })];
    const groupOf = (job: ReturnType<typeof gang>) =>
      decideWith(world(fleet, [cluster('alpha', [job])])).actions.map(({ group }) => group);
    expect(groupOf(gang('job-1', 4))).toEqual(['fold:cpu=4']);
    expect(groupOf(gang('job-1', 2, { minUnit: cpus(4) }))).toEqual(['fold:cpu=2']);
    expect(groupOf(gang('job-1', 2, { minUnit: cpus(5) }))).toEqual([]);
    expect(groupOf(gang('job-1', 5))).toEqual(['job-1']);
    expect(groupOf(gang('job-1', 2, { requirements: [same(RACK, 'rack-9')] }))).toEqual([]);
  });

  it('A1: a gang whose min_unit fits no machine stays a Same need and has no domain', () => {
    const job = gang('job-1', 2, { minUnit: cpus(5) });
    const result = decideWith(world([idle('m-1')], [cluster('alpha', [job])]));
    expect(verdictOf(result, 'alpha', job)).toMatchObject({
      satisfiable: false,
      domain: '',
      reason: UnmetReason.TopologyUnsatisfiable,
    });
    expect(result.parking).toEqual(new Map([[keyOf('alpha', job), 1]]));
  });

  it('A1: a gang does not fold for a machine without the Same key', () => {
    const result = decideWith(world([idle('m-1', { labels: {} })], [cluster('alpha', [gang('job-1', 2)])]));
    expect(result.actions).toEqual([]);
  });

  it('A1: gangs of different aggregate, profile or cluster fold separately', () => {
    const fleet = ['m-1', 'm-2', 'm-3', 'm-4'].map((id) => idle(id));
    const result = decideWith(
      world(fleet, [
        cluster('alpha', [gang('job-1', 1), gang('job-2', 2), gang('job-3', 1, { priority: 50 })]),
        cluster('beta', [gang('job-1', 1)]),
      ]),
    );
    expect(new Set(result.claims.values()).size).toBe(4);
    expect(result.claims.size).toBe(4);
  });

  it('A1: a fold drops all Same keys, and gangs with different keys fold together', () => {
    const wide = gang('job-1', 2, { requirements: [same(RACK), same(ZONE)] });
    const narrow = gang('job-2', 2);
    const result = decideWith(world([idle('m-1')], [cluster('alpha', [wide, narrow])]));
    expect(claimedBy(result, foldKey('alpha', 2))).toEqual(['m-1']);
    expect(verdictOf(result, 'alpha', wide).satisfied).toBe(true);
    expect(verdictOf(result, 'alpha', narrow).satisfied).toBe(true);
  });

  it('A1: a fold takes only machines that hold a whole gang', () => {
    const fleet = [idle('m-1', { capacity: cpus(1), price: 0.1 }), idle('m-2')];
    const result = decideWith(world(fleet, [cluster('alpha', [gang('job-1', 2)])]));
    expect(did(result)).toEqual(['Bootstrap m-2']);
  });

  it('A1: a fold has the arrival of its earliest member', () => {
    const gangs = [gang('job-1', 4, { arrivalMs: NOW_MS }), gang('job-2', 4, { arrivalMs: NOW_MS - 2 })];
    const rival = need({ group: 'rival', arrivalMs: NOW_MS - 1, aggregate: cpus(8) });
    const fleet = [idle('m-1'), idle('m-2')];
    const result = decideWith(world(fleet, [cluster('alpha', [...gangs, rival])]));
    expect(claimedBy(result, foldKey('alpha', 4))).toEqual(['m-1', 'm-2']);
  });

  it('A1: satisfies members in order N4 while whole gangs fit; each other member’s deficit is its whole aggregate', () => {
    const gangs = [gang('job-1', 4), gang('job-2', 4)];
    const urgent = need({ priority: 500 });
    const fleet = [idle('m-1'), idle('m-2')];
    const result = decideWith(world(fleet, [cluster('alpha', [...gangs, urgent])]));
    expect(verdictOf(result, 'alpha', gangs[0]!)).toMatchObject({ satisfied: true, claimed: 1, deficit: {} });
    expect(verdictOf(result, 'alpha', gangs[1]!)).toMatchObject({
      satisfied: false,
      deficit: cpus(4),
      claimed: 0,
      cyclesUnmet: 1,
      reason: UnmetReason.PriorityStarved,
    });
    expect(result.shortfalls).toEqual([
      { fingerprint: foldFingerprint(gangs[0]!), deficit: cpus(4), priority: 100 },
    ]);
  });

  it('A1 (ours): a fold counts whole gangs: slack on two machines does not add up to a gang', () => {
    const gangs = [gang('job-1', 2), gang('job-2', 2), gang('job-3', 2)];
    const fleet = ['m-1', 'm-2', 'm-3', 'm-4'].map((id) => idle(id, { capacity: cpus(3) }));
    const result = decideWith(world(fleet, [cluster('alpha', gangs)]));
    // Two machines have the 6 cpu that the gangs want together, but each takes one gang of 2.
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-2', 'Bootstrap m-3']);
    expect(gangs.map((one) => verdictOf(result, 'alpha', one).satisfied)).toEqual([true, true, true]);
  });

  it('A1 (ours): gangs do not fold if a need has the name of their fold', () => {
    const jobs = [gang('job-1', 2), gang('job-2', 2)];
    const plain = need({ group: 'fold:cpu=2' });
    const fleet = ['m-1', 'm-2', 'm-3'].map((id) => idle(id));
    const result = decideWith(world(fleet, [cluster('alpha', [...jobs, plain])]));
    expect(jobs.map((one) => verdictOf(result, 'alpha', one).domain)).toEqual(['rack-1', 'rack-1']);
    expect(verdictOf(result, 'alpha', plain)).toMatchObject({ satisfied: true, claimed: 1 });
  });

  it('A1 (ours): a fold that is barred lacks whole gangs, the last members first', () => {
    const gangs = [gang('job-1', 2), gang('job-2', 2), gang('job-3', 2)];
    const assignment = assignmentFor('alpha', gangs[0]!, {
      fingerprint: foldFingerprint(gangs[0]!),
      group: 'fold:cpu=2',
    });
    const fleet = [configured('m-1', assignment, { capacity: cpus(5) }), idle('m-2', { backoff: true })];
    const result = decideWith(world(fleet, [cluster('alpha', gangs)]));
    expect(did(result)).toEqual([]);
    expect(gangs.map((one) => verdictOf(result, 'alpha', one).satisfied)).toEqual([true, true, false]);
    expect(verdictOf(result, 'alpha', gangs[2]!)).toMatchObject({
      deficit: cpus(2),
      reason: UnmetReason.PriorityStarved,
    });
    expect(result.shortfalls).toMatchObject([{ deficit: cpus(2) }]);
  });

  it('A1: a fold’s own machines count for it before any other need', () => {
    const job = gang('job-1', 4);
    const fold = assignmentFor('alpha', job, { fingerprint: foldFingerprint(job), group: 'fold:cpu=4' });
    const fleet = [
      configured('m-1', boundTo('alpha'), { price: 0.1 }),
      configured('m-2', fold, { price: 9 }),
      configured('m-3', boundTo('alpha'), { price: 0.1 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [job])]));
    expect(claimedBy(result, foldKey('alpha', 4))).toEqual(['m-2']);
  });

  it('A1: a gang that wants nothing is satisfied, whether it folds or not', () => {
    for (const fleet of [[], [idle('m-1', inRack('rack-1'))]]) {
      const nothing = gang('job-1', 0);
      const result = decideWith(world(fleet, [cluster('alpha', [nothing])]));
      expect(result.actions).toEqual([]);
      expect(verdictOf(result, 'alpha', nothing)).toMatchObject({
        satisfied: true,
        satisfiable: true,
        domain: '',
        reason: UnmetReason.None,
      });
    }
  });
});
