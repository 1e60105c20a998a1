import { describe, expect, it } from 'vitest';
import { MachineState } from '../../../src/machine/state.ts';
import { subjects } from '../subjects.ts';
import { UnmetReason, type WorldMachine } from '../world.ts';
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
  gang,
  idle,
  inRack,
  isIn,
  keyOf,
  machine,
  need,
  speculative,
  verdictOf,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  const job = gang('job-1', 8);
  const key = keyOf('alpha', job);
  const own = assignmentFor('alpha', job);

  /** A cycle for one gang with this parking count. */
  const parkedFor = (count: number, fleet: WorldMachine[], ordinary = true) =>
    decideWith(
      world(fleet, [cluster('alpha', [job])], {
        ordinary,
        parking: new Map(count > 0 ? [[key, count]] : []),
      }),
    );
  const nothing: WorldMachine[] = [];

  it('A7: counts ordinary cycles in which no rack covers the gang and no machine comes for it', () => {
    expect(parkedFor(0, nothing).parking).toEqual(new Map([[key, 1]]));
    expect(parkedFor(7, nothing).parking).toEqual(new Map([[key, 8]]));
    expect(parkedFor(40, nothing).parking).toEqual(new Map([[key, 41]]));
    expect(parkedFor(40, nothing, false).parking).toEqual(new Map([[key, 40]]));
    expect(parkedFor(0, nothing, false).parking).toEqual(new Map());
  });

  it('A7: parks at 8: credit only; below 8 the gang still acquires', () => {
    const fleet = [configured('m-1', own), idle('m-2', { capacity: cpus(1) })];
    const still = parkedFor(7, fleet);
    expect(did(still)).toEqual(['Bootstrap m-2']);
    expect(still.parking).toEqual(new Map());
    const parked = parkedFor(8, fleet);
    expect(did(parked)).toEqual([]);
    expect(claimedBy(parked, key)).toEqual(['m-1']);
    expect(verdictOf(parked, 'alpha', job)).toMatchObject({
      parked: true,
      satisfied: false,
      satisfiable: false,
      domain: 'rack-1',
      reason: UnmetReason.TopologyUnsatisfiable,
    });
    expect(parked.parking).toEqual(new Map([[key, 9]]));
  });

  it('A7: a parked gang ignores unassigned machines until a count of 32, 64 … in an ordinary cycle', () => {
    const fleet = [idle('m-1'), idle('m-2')];
    expect(did(parkedFor(31, fleet))).toEqual([]);
    expect(did(parkedFor(32, fleet, false))).toEqual([]);
    expect(parkedFor(32, fleet, false).parking).toEqual(new Map([[key, 32]]));
    const tried = parkedFor(32, fleet);
    expect(did(tried)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(tried.parking).toEqual(new Map());
    expect(verdictOf(tried, 'alpha', job)).toMatchObject({ parked: false, satisfied: true });
    expect(did(parkedFor(64, fleet))).toHaveLength(2);
    expect(parkedFor(64, nothing).parking).toEqual(new Map([[key, 65]]));
  });

  it('A7: a parked gang whose own machines cover it is satisfied, and its count is forgotten', () => {
    const fleet = [configured('m-1', own), configured('m-2', own)];
    const result = parkedFor(20, fleet);
    expect(verdictOf(result, 'alpha', job)).toMatchObject({ satisfied: true, parked: true });
    expect(result.parking).toEqual(new Map());
    expect(parkedFor(20, fleet, false).parking).toEqual(new Map());
  });

  it('A7: a parked gang reserves nothing and preempts nothing', () => {
    const second = gang('job-2', 8, { priority: 50 });
    const victims = [idle('m-1'), configured('m-2', boundTo('beta')), configured('m-3', boundTo('beta'))];
    const alone = decideWith(
      world(victims.slice(1), [cluster('alpha', [job]), cluster('beta', [])], {
        ordinary: false,
        parking: new Map([[key, 8]]),
      }),
    );
    expect(alone.actions).toEqual([]);
    const result = decideWith(
      world([idle('m-1'), idle('m-2')], [cluster('alpha', [job, second])], { parking: new Map([[key, 8]]) }),
    );
    expect(claimedBy(result, keyOf('alpha', second))).toEqual(['m-1', 'm-2']);
  });

  it('A7: a parked gang reserves nothing in the rack where its own machines are', () => {
    const large = gang('job-1', 16, { priority: 200 });
    const second = gang('job-2', 8);
    const fleet = [configured('m-0', assignmentFor('alpha', large)), idle('m-1'), idle('m-2')];
    const parking = new Map([[keyOf('alpha', large), 8]]);
    const result = decideWith(world(fleet, [cluster('alpha', [large, second])], { parking }));
    expect(claimedBy(result, keyOf('alpha', second))).toEqual(['m-1', 'm-2']);
  });

  it('A7: a parked gang preempts nothing, although victims in its rack would cover it', () => {
    const fleet = [configured('m-0', own), configured('m-1', boundTo('beta'))];
    const decided = (count: number) =>
      did(
        decideWith(
          world(fleet, [cluster('alpha', [job]), cluster('beta', [])], {
            ordinary: false,
            parking: new Map([[key, count]]),
          }),
        ),
      );
    expect(decided(7)).toEqual(['Preempt m-1']);
    expect(decided(8)).toEqual([]);
  });

  it('A7: a machine enqueued, Creating or draining for the gang resets the count, in a woken cycle too', () => {
    const coming = [
      creating('m-1', own),
      speculative('m-1', { intent: 'provision', assignment: own }),
      draining('m-1', boundTo('beta'), drainFor('alpha', job)),
    ];
    for (const one of coming) {
      expect(parkedFor(5, [one]).parking).toEqual(new Map());
      expect(parkedFor(20, [one], false).parking).toEqual(new Map());
    }
    // A machine that it has, and one that drains for another need, change nothing.
    expect(parkedFor(5, [configured('m-1', own)]).parking).toEqual(new Map([[key, 6]]));
    expect(parkedFor(5, [draining('m-1', boundTo('beta'))]).parking).toEqual(new Map([[key, 6]]));
  });

  it('A7: does not count a gang that a rack could cover, nor a need without Same', () => {
    const urgent = need({ priority: 500, aggregate: cpus(8) });
    const outbid = decideWith(
      world([idle('m-1'), idle('m-2')], [cluster('alpha', [job, urgent])], { parking: new Map([[key, 5]]) }),
    );
    expect(verdictOf(outbid, 'alpha', job)).toMatchObject({ satisfied: false, satisfiable: true });
    expect(outbid.parking).toEqual(new Map());
    expect(decideWith(world([], [cluster('alpha', [need()])])).parking).toEqual(new Map());
  });

  it('A7: forgets the count of a need that is gone; each gang has its own count', () => {
    const other = gang('job-2', 8);
    const result = decideWith(
      world([], [cluster('alpha', [other])], {
        parking: new Map([
          [key, 5],
          [keyOf('alpha', other), 2],
        ]),
      }),
    );
    expect(result.parking).toEqual(new Map([[keyOf('alpha', other), 3]]));
  });

  it('A8: counts the cycles unmet; a woken cycle resets but does not count', () => {
    const web = need();
    const webKey = keyOf('alpha', web);
    const unmet = (fleet: WorldMachine[], ordinary: boolean) =>
      decideWith(world(fleet, [cluster('alpha', [web])], { ordinary, unmet: new Map([[webKey, 3]]) }));
    expect(unmet([], true).unmet).toEqual(new Map([[webKey, 4]]));
    expect(verdictOf(unmet([], true), 'alpha', web).cyclesUnmet).toBe(4);
    expect(unmet([], false).unmet).toEqual(new Map([[webKey, 3]]));
    expect(unmet([idle('m-1')], false).unmet).toEqual(new Map());
    expect(decideWith(world([], [], { unmet: new Map([[webKey, 3]]) })).unmet).toEqual(new Map());
  });

  it('A8: gives no reason for a satisfied need, and verdicts in order N4', () => {
    const needs = [need({ group: 'b' }), need({ group: 'a' }), need({ priority: 200 })];
    const fleet = ['m-1', 'm-2', 'm-3'].map((id) => idle(id));
    const result = decideWith(world(fleet, [cluster('alpha', needs)]));
    expect(result.verdicts.map(({ group }) => group)).toEqual(['', 'a', 'b']);
    for (const verdict of result.verdicts) {
      expect(verdict).toMatchObject({
        satisfied: true,
        reason: UnmetReason.None,
        deficit: {},
        cyclesUnmet: 0,
      });
    }
  });

  it('A8: TOPOLOGY_UNSATISFIABLE first: no rack covers the gang, or there is no rack', () => {
    const reason = (fleet: WorldMachine[]) =>
      verdictOf(decideWith(world(fleet, [cluster('alpha', [job])])), 'alpha', job).reason;
    expect(reason([])).toBe(UnmetReason.TopologyUnsatisfiable);
    expect(reason([idle('m-1'), idle('m-2', inRack('rack-2'))])).toBe(UnmetReason.TopologyUnsatisfiable);
  });

  it('A8: NO_MATCHING_SUPPLY if no machine in any state matches and covers min_unit', () => {
    const gold = need({ requirements: [isIn('tier', 'gold')], minUnit: cpus(2) });
    const labels = { tier: 'gold' };
    const reason = (fleet: WorldMachine[]) =>
      verdictOf(decideWith(world(fleet, [cluster('alpha', [gold])])), 'alpha', gold).reason;
    expect(reason([])).toBe(UnmetReason.NoMatchingSupply);
    expect(reason([idle('m-1'), idle('m-2', { labels, capacity: cpus(1) })])).toBe(
      UnmetReason.NoMatchingSupply,
    );
    expect(reason([machine('m-1', MachineState.Failed, { labels })])).toBe(UnmetReason.PriorityStarved);
    expect(reason([idle('m-1', { labels, backoff: true })])).toBe(UnmetReason.PriorityStarved);
  });

  it('A8: PREEMPTION_EXHAUSTED if phase 2 took too few victims, PRIORITY_STARVED if it took none or enough', () => {
    const victim = need({ priority: 10 });
    const reason = (aggregate: Record<string, number>, priority: number) => {
      const web = need({ aggregate, priority });
      const fleet = [configured('m-1', assignmentFor('beta', victim))];
      const clusters = [cluster('alpha', [web]), cluster('beta', [victim])];
      return verdictOf(decideWith(world(fleet, clusters)), 'alpha', web).reason;
    };
    expect(reason(cpus(8), 100)).toBe(UnmetReason.PreemptionExhausted);
    expect(reason(cpus(4), 100)).toBe(UnmetReason.PriorityStarved);
    expect(reason(cpus(8), 10)).toBe(UnmetReason.PriorityStarved);
  });

  it('A8: the residual deficit is what phase 1 left, before any preemption, without zeros', () => {
    const web = need({ aggregate: { cpu: 6_000, memory: 100 } });
    const fleet = [
      idle('m-1', { capacity: { cpu: 4_000, memory: 200 } }),
      configured('m-2', boundTo('beta')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web]), cluster('beta', [])]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Preempt m-2']);
    expect(verdictOf(result, 'alpha', web).deficit).toEqual({ cpu: 2_000 });
    expect(result.shortfalls).toEqual([]);
  });
});
