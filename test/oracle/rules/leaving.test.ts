import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { WorldMachine, WorldNeed } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  claimedBy,
  cluster,
  configured,
  configuring,
  cpus,
  creating,
  did,
  drainFor,
  draining,
  gang,
  idle,
  inRack,
  keyOf,
  need,
  speculative,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

const LEAVING = { leaving: 'replaced' } as const;
const CORDONED = { cordoned: true };

describe.each(subjects)('$name', ({ decideWith }) => {
  const plain = need();
  const own = assignmentFor('alpha', plain);
  const decideFor = (needs: WorldNeed[], fleet: WorldMachine[]) =>
    decideWith(world(fleet, [cluster('alpha', needs)]));

  describe('leaving', () => {
    it('H5: no need is credited a leaving machine, so its need acquires a replacement, and holds it meanwhile', () => {
      const result = decideFor([plain], [configured('m-1', own, LEAVING), idle('m-2')]);
      expect(did(result)).toEqual(['Bootstrap m-2']);
      expect(claimedBy(result, keyOf('alpha', plain))).toEqual(['m-1', 'm-2']);
    });

    it('H5: the machine stays while its replacement is not Configured, and then the shard reclaims it', () => {
      const fleet = (replacement: WorldMachine) => [configured('m-1', own, LEAVING), replacement];
      expect(did(decideFor([plain], fleet(creating('m-2', own))))).toEqual([]);
      expect(did(decideFor([plain], fleet(configuring('m-2', own))))).toEqual([]);
      expect(did(decideFor([plain], fleet(configured('m-2', own))))).toEqual(['Reclaim m-1']);
    });

    it('H5: of several leaving machines one goes for each replacement, the most expensive first', () => {
      const wide = need({ aggregate: cpus(12) });
      const ofWide = assignmentFor('alpha', wide);
      const fleet = [
        configured('m-1', ofWide, LEAVING),
        configured('m-2', ofWide, { ...LEAVING, price: 3 }),
        configured('m-3', ofWide, LEAVING),
        configured('m-4', ofWide),
      ];
      expect(did(decideFor([wide], fleet))).toEqual(['Reclaim m-2']);
    });

    it('H5: a need that was credited a machine of another assignment holds it too', () => {
      const result = decideFor([plain], [configured('m-1', boundTo('alpha'), LEAVING)]);
      expect(did(result)).toEqual([]);
      expect(claimedBy(result, keyOf('alpha', plain))).toEqual(['m-1']);
    });

    it('H5: a leaving machine that no need wants is reclaimed, and one of a cluster that has not reported stays', () => {
      const fleet = [configured('m-1', own, LEAVING)];
      expect(did(decideFor([], fleet))).toEqual(['Reclaim m-1']);
      expect(did(decideWith(world(fleet, [cluster('alpha', [], { reported: false })])))).toEqual([]);
    });

    it('H5: replacements never preempt, and what the need lacks besides does', () => {
      const low = need({ priority: 10, group: 'low', aggregate: cpus(8) });
      const fleet = [
        configured('m-1', own, LEAVING),
        configured('v-1', assignmentFor('alpha', low)),
        configured('v-2', assignmentFor('alpha', low)),
      ];
      const result = decideFor([plain, low], [...fleet]);
      // Credit gives the important need what its cluster has (A2); in another cluster it would have to preempt.
      expect(did(result)).toEqual([]);
      const beside = (aggregate: number) =>
        decideWith(
          world(
            [
              configured('m-1', own, LEAVING),
              configured('v-1', assignmentFor('beta', low)),
              configured('v-2', assignmentFor('beta', low)),
            ],
            [cluster('alpha', [need({ aggregate: cpus(aggregate) })]), cluster('beta', [low])],
          ),
        );
      expect(did(beside(4))).toEqual([]);
      expect(did(beside(8))).toEqual(['Preempt v-1']);
      expect(beside(4).shortfalls).toEqual([]);
    });

    it('H5: a leaving machine counts for no limit of its cluster', () => {
      const limits = {
        maxPriority: Number.POSITIVE_INFINITY,
        maxMachines: 1,
        maxResources: {},
        maxDollarsPerHour: Number.POSITIVE_INFINITY,
        maxOfferingShare: Number.POSITIVE_INFINITY,
        minNonSpotShare: 0,
      };
      const decided = (facts: Partial<WorldMachine>) =>
        decideWith(
          world(
            [configured('m-1', own, facts), idle('m-2')],
            [cluster('alpha', [need({ aggregate: cpus(8) })], { limits })],
          ),
        );
      expect(did(decided({}))).toEqual([]);
      expect(did(decided(LEAVING))).toEqual(['Bootstrap m-2']);
    });

    it('H5: a more important need may preempt a leaving machine that its need holds', () => {
      const vital = need({ priority: 1_000 });
      const decided = (machine: WorldMachine) =>
        did(decideWith(world([machine], [cluster('alpha', [plain]), cluster('beta', [vital])])));
      expect(decided(configured('m-1', own, LEAVING))).toEqual(['Preempt m-1']);
      expect(decided(configured('m-1', own, { ...LEAVING, ...CORDONED }))).toEqual([]);
    });

    it('H5: a gang replaces its leaving machine in its domain, and waits if the domain has none', () => {
      const group = gang('g', 8);
      const ofGang = assignmentFor('alpha', group);
      const fleet = [
        configured('m-1', ofGang, { ...LEAVING, ...inRack('r1') }),
        configured('m-2', ofGang, inRack('r1')),
        idle('m-7', inRack('r2')),
        idle('m-8', inRack('r2')),
      ];
      const waiting = decideFor([group], fleet);
      expect(did(waiting)).toEqual([]);
      expect(verdictOf(waiting, 'alpha', group)).toMatchObject({
        satisfied: false,
        satisfiable: true,
        domain: 'r1',
        deficit: cpus(4),
      });
      expect(waiting.parking.size).toBe(0);
      expect(did(decideFor([group], [...fleet, idle('m-3', inRack('r1'))]))).toEqual(['Bootstrap m-3']);
    });

    it('H5: a machine that goes now waits for no replacement: no need holds it, and its gang may move', () => {
      const now = { leaving: 'now' } as const;
      expect(did(decideFor([plain], [configured('m-1', own, now)]))).toEqual(['Reclaim m-1']);
      const group = gang('g', 8);
      const ofGang = assignmentFor('alpha', group);
      const fleet = [
        configured('m-1', ofGang, { ...now, ...inRack('r1') }),
        configured('m-2', ofGang, inRack('r1')),
        idle('m-7', inRack('r2')),
        idle('m-8', inRack('r2')),
      ];
      expect(did(decideFor([group], fleet))).toEqual(['Bootstrap m-7', 'Bootstrap m-8', 'Reclaim m-1']);
    });
  });

  describe('cordoned', () => {
    it('H6: only the need that it is assigned to is credited a cordoned machine', () => {
      const other = need({ group: 'other' });
      const fleet = (facts: Partial<WorldMachine>) => [
        configured('m-1', assignmentFor('alpha', other), facts),
      ];
      expect(did(decideFor([other], fleet(CORDONED)))).toEqual([]);
      expect(claimedBy(decideFor([plain], fleet({})), keyOf('alpha', plain))).toEqual(['m-1']);
      expect(did(decideFor([plain], fleet(CORDONED)))).toEqual(['Reclaim m-1']);
    });

    it('H6: no need acquires a cordoned machine, whether Idle, Speculative or unassigned Creating', () => {
      for (const machine of [
        idle('m-1', CORDONED),
        speculative('m-1', CORDONED),
        creating('m-1', null, CORDONED),
      ])
        expect(claimedBy(decideFor([plain], [machine]), keyOf('alpha', plain))).toEqual([]);
    });

    it('H6: a cordoned machine is no victim', () => {
      const vital = need({ priority: 1_000 });
      const machines = [configured('m-1', own, CORDONED)];
      const result = decideWith(world(machines, [cluster('alpha', [plain]), cluster('beta', [vital])]));
      expect(did(result)).toEqual([]);
    });

    it('H6: a cordoned machine is never released', () => {
      const overdue = { capacityType: 4, stateSinceMs: 0 } as const;
      expect(did(decideFor([], [idle('m-1', overdue)]))).toEqual(['Delete m-1']);
      expect(did(decideFor([], [idle('m-1', { ...overdue, ...CORDONED })]))).toEqual([]);
    });

    it('R3: a machine that a person gives back goes at once, whatever its type, cordon and hold, and no need gets it', () => {
      const releasing = { releasing: true, ...CORDONED };
      expect(did(decideFor([plain], [idle('m-1', releasing)]))).toEqual(['Delete m-1']);
      expect(did(decideFor([], [idle('m-1', { ...releasing, pauses: ['release'] })]))).toEqual([]);
      expect(did(decideFor([], [idle('m-1', { ...releasing, backoff: true })]))).toEqual([]);
    });

    it('H6: no gang folds because of a cordoned machine, and none chooses its domain for one', () => {
      const small = gang('g', 4);
      const folded = decideFor([small], [idle('m-1', { capacity: cpus(4) })]);
      expect(folded.actions[0]?.group).toBe('fold:cpu=4');
      const alone = decideFor([small], [idle('m-1', CORDONED)]);
      expect(verdictOf(alone, 'alpha', small)).toMatchObject({ satisfied: false, domain: '' });
      const wide = gang('g', 8);
      const fleet = [
        idle('m-1', { ...inRack('r1'), ...CORDONED }),
        idle('m-2', inRack('r1')),
        idle('m-3', inRack('r2')),
        idle('m-4', { ...inRack('r2'), price: 9 }),
      ];
      expect(did(decideFor([wide], fleet))).toEqual(['Bootstrap m-3', 'Bootstrap m-4']);
    });

    it('H6: a zone that has only cordoned machines does not hold back a spread', () => {
      const spread = need({ aggregate: cpus(12), spread: [spreadOver(ZONE)] });
      const inZone = (zone: string) => ({ zone });
      const fleet = [
        idle('m-1', inZone('a')),
        idle('m-2', inZone('a')),
        idle('m-3', inZone('a')),
        idle('m-4', { ...inZone('b'), ...CORDONED }),
      ];
      expect(did(decideFor([spread], fleet))).toHaveLength(3);
    });

    it('H6: a cordoned machine that drains does not count as freed', () => {
      const vital = need({ priority: 1_000 });
      const low = need({ priority: 10 });
      const decided = (facts: Partial<WorldMachine>) =>
        did(
          decideWith(
            world(
              [
                draining('m-1', assignmentFor('beta', low), { ...drainFor('alpha', vital), ...facts }),
                configured('v-1', assignmentFor('beta', low)),
              ],
              [cluster('alpha', [vital]), cluster('beta', [low])],
            ),
          ),
        );
      expect(decided({})).toEqual([]);
      expect(decided(CORDONED)).toEqual(['Preempt v-1']);
    });
  });
});
