/** Needs that stay unmet keep their outcome: a cycle looks only at those that a change may help, and counts go on. */
import { describe, expect, it } from 'vitest';
import { cluster, cpus, creating, did, idle, isIn, need, verdictOf, world } from '../oracle/rules/worlds.ts';
import type { WorldMachine, WorldNeed } from '../oracle/world.ts';
import { EngineWorld } from './engine-world.ts';

const LARGE = isIn('size', 'large');
const SMALL = isIn('size', 'small');
const ofSize = (size: string) => ({ labels: { size } });
const wanting = (group: string, facts: Partial<WorldNeed> = {}) =>
  need({ group, aggregate: cpus(4), requirements: [LARGE], ...facts });

/** An engine, and the clusters whose needs acquisition looked at in the last cycle. */
function watched() {
  const looks: string[] = [];
  const live = new EngineWorld({ probe: (stage, ref) => stage === 'acquire' && looks.push(String(ref)) });
  const decide = (machines: WorldMachine[], clusters: ReturnType<typeof cluster>[], ordinary = true) => {
    looks.length = 0;
    return live.decide(world(machines, clusters, { ordinary }));
  };
  return { looks, decide };
}

describe('a need that found no machine', () => {
  it('A3: is not looked at again while nothing changes that could help it', () => {
    const { looks, decide } = watched();
    const clusters = [cluster('alpha', [wanting('a')]), cluster('beta', [wanting('b')])];
    decide([], clusters);
    expect(looks).toHaveLength(2);
    decide([], clusters);
    expect(looks).toHaveLength(0);
    decide([idle('small-1', ofSize('small'))], clusters);
    expect(looks, 'a machine that it cannot use').toHaveLength(0);
    const result = decide([idle('small-1', ofSize('small')), idle('large-1', ofSize('large'))], clusters);
    expect(looks, 'a machine that both could use').toHaveLength(2);
    expect(did(result)).toHaveLength(1);
  });

  it('A3: is looked at when its demand changes', () => {
    const { looks, decide } = watched();
    const machines = [idle('small-1', ofSize('small'))];
    decide(machines, [cluster('alpha', [wanting('a')])]);
    const result = decide(machines, [cluster('alpha', [wanting('a', { requirements: [SMALL] })])]);
    expect(looks).toHaveLength(1);
    expect(did(result)).toHaveLength(1);
  });

  it('A3: gets a machine that another need took in vain, as soon as that need is gone', () => {
    const { decide } = watched();
    const later = wanting('later');
    const both = [cluster('alpha', [wanting('first', { priority: 1_000 })]), cluster('beta', [later])];
    const machines = [idle('large-1', ofSize('large'))];
    for (let cycle = 0; cycle < 3; cycle++)
      expect(verdictOf(decide(machines, both), 'beta', later).satisfied).toBe(false); // no action is enqueued
    const result = decide(machines, [cluster('alpha', []), cluster('beta', [later])]);
    expect(verdictOf(result, 'beta', later)).toMatchObject({ satisfied: true, bootstraps: 1 });
  });

  it('A3: gets an unassigned Creating machine that another need claimed before', () => {
    const { decide } = watched();
    const later = wanting('later');
    const machines = [creating('large-1', null, ofSize('large'))];
    const first = wanting('first', { priority: 1_000 });
    decide(machines, [cluster('alpha', [first]), cluster('beta', [later])]);
    decide(machines, [cluster('alpha', [first]), cluster('beta', [later])], false);
    const result = decide(machines, [cluster('alpha', []), cluster('beta', [later])]);
    expect(verdictOf(result, 'beta', later)).toMatchObject({ satisfied: true, claimed: 1 });
  });
});

describe('the count of cycles unmet', () => {
  it('A8: goes on in ordinary cycles alone, also when its cluster reports other needs', () => {
    const { decide } = watched();
    const waiting = wanting('waiting');
    const counts = [];
    for (const [others, ordinary] of [
      [[], true],
      [[], false],
      [[wanting('before', { priority: 1_000 })], true],
      [[wanting('before', { priority: 1_000 }), wanting('z')], false],
      [[], true],
    ] as const) {
      const result = decide([], [cluster('alpha', [waiting, ...others])], ordinary);
      counts.push(verdictOf(result, 'alpha', waiting).cyclesUnmet);
    }
    expect(counts).toEqual([1, 1, 2, 2, 3]);
  });

  it('A8: begins again after a woken cycle in which the need was satisfied or gone', () => {
    const { decide } = watched();
    const waiting = wanting('waiting');
    const large = [idle('large-1', ofSize('large'))];
    const count = (machines: WorldMachine[], ordinary: boolean) =>
      verdictOf(decide(machines, [cluster('alpha', [waiting])], ordinary), 'alpha', waiting).cyclesUnmet;
    expect([
      count([], true),
      count([], true),
      count(large, false),
      count([], false),
      count([], true),
    ]).toEqual([1, 2, 0, 0, 1]);
    decide([], [cluster('alpha', [])], false);
    expect(count([], true)).toBe(1);
  });
});
