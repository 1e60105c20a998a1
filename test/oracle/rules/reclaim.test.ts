import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { subjects } from '../subjects.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  configuring,
  cpus,
  did,
  draining,
  gang,
  idle,
  keyOf,
  NOW_MS,
  need,
  speculative,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  const spot = { capacityType: CapacityType.Spot };
  const idleFor = (ms: number, facts = {}) => ({ stateSinceMs: NOW_MS - ms, ...facts });

  it('R1: reclaims unclaimed machines with ten minutes of grace', () => {
    const result = decideWith(world([configured('m-1', boundTo('alpha'))], [cluster('alpha', [])]));
    expect(result.actions).toEqual([
      {
        kind: 'Reclaim',
        machine: 'm-1',
        cluster: 'alpha',
        forCluster: '',
        fingerprint: '',
        group: '',
        reason: 'phase3.excess',
        graceSeconds: 600,
        isClaimedVictim: false,
        isGangVictim: false,
      },
    ]);
  });

  it('R1: reclaims by cluster id, then price asc, reclamation penalty desc, id asc', () => {
    const fleet = [
      configured('m-1', boundTo('beta')),
      configured('m-2', boundTo('alpha'), { price: 2 }),
      configured('m-3', boundTo('alpha')),
      configured('m-4', boundTo('alpha', { reclamationPenalty: 9 })),
      configured('m-10', boundTo('alpha')),
    ];
    const result = decideWith(world(fleet, [cluster('beta', []), cluster('alpha', [])]));
    expect(did(result)).toEqual(['Reclaim m-4', 'Reclaim m-10', 'Reclaim m-3', 'Reclaim m-2', 'Reclaim m-1']);
  });

  it('R1: decides all reclaims: the rails cap them later', () => {
    const fleet = Array.from({ length: 40 }, (_, index) => configured(`m-${index}`, boundTo('alpha')));
    expect(decideWith(world(fleet, [cluster('alpha', [])])).actions).toHaveLength(40);
  });

  it('R1: reclaims nothing from a cluster that has not reported since the start (N6) or is unknown', () => {
    const fleet = [configured('m-1', boundTo('alpha')), configured('m-2', boundTo('nobody'))];
    expect(decideWith(world(fleet, [cluster('alpha', [], { reported: false })])).actions).toEqual([]);
  });

  it('R1: reclaims from a cluster without a session as from any other', () => {
    const result = decideWith(
      world([configured('m-1', boundTo('alpha'))], [cluster('alpha', [], { hasSession: false })]),
    );
    expect(did(result)).toEqual(['Reclaim m-1']);
  });

  it('R1: reclaims only Configured machines, none in back-off, already draining or taken by phase 2', () => {
    const fleet = [
      configuring('m-1', boundTo('beta')),
      draining('m-2', boundTo('beta')),
      configured('m-3', boundTo('beta'), { intent: 'reclaim' }),
      configured('m-4', boundTo('beta'), { backoff: true }),
      configured('m-5', boundTo('beta')),
      configured('m-6', boundTo('beta')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [need()]), cluster('beta', [])]));
    expect(did(result)).toEqual(['Preempt m-5', 'Reclaim m-6']);
  });

  it('R1: a woken cycle emits every kind of action except Reclaim (C1)', () => {
    const fleet = [
      configured('m-1', boundTo('alpha')),
      idle('m-2', { ...spot, ...idleFor(60_001), capacity: cpus(1) }),
    ];
    const demand = [cluster('alpha', []), cluster('beta', [])];
    expect(did(decideWith(world(fleet, demand, { ordinary: false })))).toEqual(['Delete m-2']);
    expect(did(decideWith(world(fleet, demand)))).toEqual(['Reclaim m-1', 'Delete m-2']);
  });

  it('R3: deletes a machine Idle for longer than its hold: on-demand 10 min, spot 1 min, to the millisecond', () => {
    const onDemand = { capacityType: CapacityType.OnDemand };
    const fleet = [
      idle('m-1', { ...onDemand, ...idleFor(600_000) }),
      idle('m-2', { ...onDemand, ...idleFor(600_001) }),
      idle('m-3', { ...spot, ...idleFor(60_000) }),
      idle('m-4', { ...spot, ...idleFor(60_001) }),
    ];
    const result = decideWith(world(fleet, []));
    expect(did(result)).toEqual(['Delete m-2', 'Delete m-4']);
    expect(result.actions[0]).toEqual({
      kind: 'Delete',
      machine: 'm-2',
      cluster: '',
      forCluster: '',
      fingerprint: '',
      group: '',
      reason: 'phase3.release',
      graceSeconds: 0,
      isClaimedVictim: false,
      isGangVictim: false,
    });
  });

  it('R3: takes the holds from the settings', () => {
    const fleet = [idle('m-1', { ...spot, ...idleFor(5_001) })];
    expect(did(decideWith(world(fleet, [], { holdSpotMs: 5_000 })))).toEqual(['Delete m-1']);
  });

  it('R3: never deletes bare metal, reserved or unspecified machines', () => {
    const types = [CapacityType.BareMetal, CapacityType.Reserved, CapacityType.Unspecified];
    const fleet = types.map((capacityType) => idle(`m-${capacityType}`, { capacityType, ...idleFor(9e9) }));
    expect(decideWith(world(fleet, [])).actions).toEqual([]);
  });

  it('R3: deletes by id, and no machine that is claimed, enqueued, in back-off or in another state', () => {
    const old = { ...spot, ...idleFor(9e9) };
    const fleet = [
      idle('m-2', old),
      idle('m-10', old),
      idle('m-3', { ...old, intent: 'delete' }),
      idle('m-4', { ...old, backoff: true }),
      speculative('m-5', old),
      idle('m-0', { ...old, price: 0.5 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [need()])]));
    expect(did(result)).toEqual(['Bootstrap m-0', 'Delete m-10', 'Delete m-2']);
  });

  it('R3: deletes a machine that a gang only reserved', () => {
    const old = { ...spot, ...idleFor(9e9) };
    const job = gang('job-1', 8);
    const urgent = need({ priority: 500 });
    // The plain need takes one of the two; the gang then takes the rest of its rack.
    const result = decideWith(world([idle('m-1', old), idle('m-2', old)], [cluster('alpha', [job, urgent])]));
    expect(result.claims.get('m-2')).toBe(keyOf('alpha', job));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    // A cluster that lost its session acquires nothing, so its rack is released.
    const away = decideWith(
      world([idle('m-1', old), idle('m-2', old)], [cluster('alpha', [job], { hasSession: false })]),
    );
    expect(did(away)).toEqual(['Delete m-1', 'Delete m-2']);
  });

  it('R4: orders actions by phase, each with its reason', () => {
    const low = need({ priority: 1, group: 'low' });
    const fleet = [
      configured('m-1', boundTo('gamma')),
      idle('m-2', { ...spot, ...idleFor(9e9), labels: {}, capacity: { memory: 1 } }),
      configured('m-3', assignmentFor('beta', low)),
      speculative('m-4'),
      idle('m-5'),
      configured('m-6', boundTo('gamma'), { capacity: { memory: 1 } }),
    ];
    const result = decideWith(
      world(fleet, [
        cluster('alpha', [need({ aggregate: cpus(16) })]),
        cluster('beta', [low]),
        cluster('gamma', []),
      ]),
    );
    expect(result.actions.map(({ kind, machine, reason }) => `${kind} ${machine} ${reason}`)).toEqual([
      'Bootstrap m-5 phase1.idle',
      'Provision m-4 phase1.speculative',
      'Preempt m-1 phase2.inversion',
      'Preempt m-3 phase2.inversion',
      'Reclaim m-6 phase3.excess',
      'Delete m-2 phase3.release',
    ]);
  });
});
