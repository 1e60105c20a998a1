import { describe, expect, it } from 'vitest';
import { PenaltyBucket } from '../../../src/machine/penalty.ts';
import { subjects } from '../subjects.ts';
import {
  assignmentFor,
  claimedBy,
  cluster,
  configured,
  cpus,
  creating,
  did,
  gang,
  idle,
  keyOf,
  NOW_MS,
  need,
  RACK,
  speculative,
  spreadOver,
  verdictOf,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  it('A3: prefers an Idle machine to a cheaper Speculative one; bootstraps the one, provisions the other', () => {
    const fleet = [speculative('m-1', { price: 0.1 }), idle('m-2', { price: 9, probability: 1 })];
    const wide = need({ aggregate: cpus(8), interruptionPenalty: PenaltyBucket.Pinned });
    const narrow = decideWith(world(fleet, [cluster('alpha', [need()])]));
    expect(did(narrow)).toEqual(['Bootstrap m-2']);
    const result = decideWith(world(fleet, [cluster('alpha', [wide])]));
    expect(did(result)).toEqual(['Bootstrap m-2', 'Provision m-1']);
    expect(result.actions[1]).toMatchObject({ cluster: 'alpha', forCluster: '', group: '', graceSeconds: 0 });
    expect(verdictOf(result, 'alpha', wide)).toMatchObject({ claimed: 2, bootstraps: 1, provisions: 1 });
  });

  it('A3: takes Idle machines by price, then id, whatever their interruption probability', () => {
    const fleet = [idle('m-2'), idle('m-10'), idle('m-3', { price: 0.5, probability: 1 })];
    const result = decideWith(
      world(fleet, [cluster('alpha', [need({ aggregate: cpus(12), interruptionPenalty: 20 })])]),
    );
    expect(did(result)).toEqual(['Bootstrap m-3', 'Bootstrap m-10', 'Bootstrap m-2']);
  });

  it('A3: takes Speculative machines by effective cost with the need’s interruption penalty, then id', () => {
    const fleet = [
      speculative('m-1', { price: 1, probability: 0.5 }),
      speculative('m-3', { price: 2 }),
      speculative('m-2', { price: 2 }),
    ];
    const order = (interruptionPenalty: number) =>
      did(decideWith(world(fleet, [cluster('alpha', [need({ aggregate: cpus(12), interruptionPenalty })])])));
    // Bucket 5 is $4: m-1 costs 1 + 0.5 × 4 = 3.
    expect(order(5)).toEqual(['Provision m-2', 'Provision m-3', 'Provision m-1']);
    // Bucket 2 is $0.50: m-1 costs 1.25.
    expect(order(2)).toEqual(['Provision m-1', 'Provision m-2', 'Provision m-3']);
    // Bucket 3 is $1: m-1 costs 1.5; unspecified is $0.
    expect(order(0)[0]).toBe('Provision m-1');
  });

  it('A3: under an infinite penalty takes machines that cannot be interrupted first, by price (M6), then the others by id', () => {
    const fleet = [
      speculative('m-1', { price: 5, probability: 0.1 }),
      speculative('m-0', { price: 7, probability: 0.5 }),
      speculative('m-9', { price: 8 }),
    ];
    const pinned = need({ aggregate: cpus(12), interruptionPenalty: PenaltyBucket.Pinned });
    const result = decideWith(world(fleet, [cluster('alpha', [pinned])]));
    expect(did(result)).toEqual(['Provision m-9', 'Provision m-0', 'Provision m-1']);
  });

  it('A3: serves needs by priority, interruption bucket, reclamation bucket, then arrival, cluster, fingerprint, group', () => {
    const plain = need();
    const rivals: [ReturnType<typeof need>, ReturnType<typeof need>][] = [
      [need({ priority: 101 }), need({ interruptionPenalty: 9, reclamationPenalty: 9, arrivalMs: 0 })],
      [need({ interruptionPenalty: 9 }), need({ reclamationPenalty: 27, arrivalMs: 0 })],
      [need({ reclamationPenalty: 9 }), need({ arrivalMs: 0 })],
      [need({ group: 'z', arrivalMs: NOW_MS - 1 }), plain],
      [need({ group: 'a' }), need({ group: 'b' })],
      // The order uses the bucket's number, not its dollars.
      [need({ interruptionPenalty: PenaltyBucket.Zero }), need({ arrivalMs: 0 })],
    ];
    for (const [winner, loser] of rivals) {
      const result = decideWith(world([idle('m-1')], [cluster('alpha', [loser, winner])]));
      expect(result.claims.get('m-1')).toBe(keyOf('alpha', winner));
    }
  });

  it('A3: serves the smaller cluster id first if all else is equal', () => {
    const result = decideWith(world([idle('m-1')], [cluster('beta', [need()]), cluster('alpha', [need()])]));
    expect(result.actions).toEqual([
      {
        kind: 'Bootstrap',
        machine: 'm-1',
        cluster: 'alpha',
        forCluster: '',
        fingerprint: 'p=100|ipb=0|rpb=0|reqs=|spr=',
        group: '',
        reason: 'phase1.idle',
        graceSeconds: 0,
        isClaimedVictim: false,
        isGangVictim: false,
      },
    ]);
  });

  it('A3: credits all needs before any acquires: a late need keeps its machine while an urgent one starves', () => {
    const urgent = need({ priority: 1_000, aggregate: cpus(8) });
    const late = need({ priority: 1, group: 'late' });
    const fleet = [configured('m-1', assignmentFor('beta', late)), idle('m-2')];
    const result = decideWith(world(fleet, [cluster('alpha', [urgent]), cluster('beta', [late])]));
    expect(claimedBy(result, keyOf('beta', late))).toEqual(['m-1']);
    expect(claimedBy(result, keyOf('alpha', urgent))).toEqual(['m-2']);
  });

  it('A3: claims Creating machines that are assigned to no live need first, by id, without an action', () => {
    const web = need({ aggregate: cpus(12) });
    const gone = assignmentFor('alpha', need({ group: 'gone' }));
    const fleet = [
      idle('m-1', { price: 0.1 }),
      creating('m-3', null, { price: 1 }),
      creating('m-20', gone, { price: 9 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Bootstrap m-1']);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-1', 'm-20', 'm-3']);
    expect(verdictOf(result, 'alpha', web)).toMatchObject({ claimed: 3, bootstraps: 1, satisfied: true });
    const one = decideWith(world(fleet, [cluster('alpha', [need()])]));
    expect([...one.claims.keys()]).toEqual(['m-20']);
  });

  it('A3: an enqueued machine is an orphan if its need is gone, and not while its need exists', () => {
    const web = need();
    const other = need({ group: 'other', priority: 1, aggregate: {} });
    const orphan = idle('m-1', {
      intent: 'bootstrap',
      assignment: assignmentFor('alpha', need({ group: 'gone' })),
    });
    const taken = speculative('m-2', { intent: 'provision', assignment: assignmentFor('alpha', other) });
    const result = decideWith(world([taken, orphan], [cluster('alpha', [web, other])]));
    expect(result.actions).toEqual([]);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-1']);
    expect(decideWith(world([taken], [cluster('alpha', [web, other])])).claims.size).toBe(0);
  });

  it('A9: acquires the next best machine instead of one in back-off', () => {
    const fleet = [
      idle('m-1', { backoff: true }),
      speculative('m-2', { price: 0.1, backoff: true }),
      speculative('m-3'),
    ];
    expect(did(decideWith(world(fleet, [cluster('alpha', [need()])])))).toEqual(['Provision m-3']);
  });

  it('A9: a cluster without a session and a need in back-off keep their machines and get no new ones', () => {
    const web = need({ aggregate: cpus(8), priority: 1_000 });
    const victim = need({ priority: 1 });
    const fleet = [
      configured('m-1', assignmentFor('alpha', web)),
      idle('m-2'),
      configured('m-3', assignmentFor('beta', victim)),
    ];
    const cases = [
      cluster('alpha', [web], { hasSession: false }),
      cluster('alpha', [{ ...web, backoff: true }]),
    ];
    for (const alpha of cases) {
      const result = decideWith(world(fleet, [alpha, cluster('beta', [victim])]));
      expect(result.actions).toEqual([]);
      expect(verdictOf(result, 'alpha', web)).toMatchObject({
        satisfied: false,
        deficit: cpus(4),
        claimed: 1,
      });
    }
  });

  it('A9: a cluster without a session does not affect another cluster', () => {
    const result = decideWith(
      world([idle('m-1')], [cluster('alpha', [need()], { hasSession: false }), cluster('beta', [need()])]),
    );
    expect(result.claims.get('m-1')).toBe(keyOf('beta', need()));
  });

  it('A9: a barred gang reserves nothing, so a later gang can use the rack', () => {
    const first = gang('job-1', 8, { priority: 200 });
    const second = gang('job-2', 8);
    const fleet = [idle('m-1'), idle('m-2')];
    const result = decideWith(
      world(fleet, [cluster('alpha', [first], { hasSession: false }), cluster('beta', [second])]),
    );
    expect(claimedBy(result, keyOf('beta', second))).toEqual(['m-1', 'm-2']);
    expect(verdictOf(result, 'alpha', first)).toMatchObject({ satisfiable: true, domain: 'rack-1' });
  });

  it('A9: machines in back-off still form a domain of A4, so a spread need does not pile up elsewhere', () => {
    const web = need({ aggregate: cpus(8), spread: [spreadOver(RACK)] });
    const fleet = [idle('m-1'), idle('m-2'), idle('m-3', { labels: { rack: 'rack-2' }, backoff: true })];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Bootstrap m-1']);
  });
});
