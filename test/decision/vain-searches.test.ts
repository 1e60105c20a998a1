/**
 * A need that found no victim searches again when a change may help it, and only then. Each case is two worlds: in the first the
 * need finds nothing, in the second one thing changed. The engine, a new engine and the oracle must agree on both.
 */
import { describe, expect, it } from 'vitest';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  cpus,
  did,
  gang,
  inRack,
  isIn,
  need,
  RACK,
  spreadOver,
  verdictOf,
  world,
} from '../oracle/rules/worlds.ts';
import type { World, WorldLimits, WorldMachine, WorldNeed } from '../oracle/world.ts';
import { decideInTurn } from './comparable.ts';
import type { EngineWorldOptions } from './engine-world.ts';

const low = need({ priority: 10, aggregate: cpus(100) });
const peer = need({ priority: 1_000, aggregate: cpus(100) });
const urgent = (facts: Partial<WorldNeed> = {}) => need({ priority: 1_000, ...facts });
const NO_LIMITS: WorldLimits = {
  maxPriority: Number.POSITIVE_INFINITY,
  maxMachines: Number.POSITIVE_INFINITY,
  maxResources: {},
  maxDollarsPerHour: Number.POSITIVE_INFINITY,
  maxOfferingShare: Number.POSITIVE_INFINITY,
  minNonSpotShare: 0,
};
/** Every label is fine, as racks are in a large fleet. */
const FINE = { coarseValuesMax: 0 };

/** What is done in the second world; nothing may be done in the first, nor if it comes again. */
function doneAfter(first: World, second: World, options: EngineWorldOptions = {}): string[] {
  const results = decideInTurn([first, first, second], options);
  expect(did(results[0]!)).toEqual([]);
  expect(did(results[1]!)).toEqual([]);
  return did(results[2]!);
}

describe('a need that found no victim', () => {
  const against = (wanting: WorldNeed, fleet: WorldMachine[], ofBeta: WorldNeed[] = [low]) =>
    world(fleet, [cluster('alpha', [wanting]), cluster('beta', ofBeta, { hasSession: false })]);

  it('P1: takes one when a machine of lower priority joins the fleet', () => {
    const other = configured('m-1', assignmentFor('beta', peer));
    const victim = configured('m-2', assignmentFor('beta', low));
    const ofBeta = [need({ priority: 1_000, group: 'one' }), low];
    expect(doneAfter(against(urgent(), [other], ofBeta), against(urgent(), [other, victim], ofBeta))).toEqual(
      ['Preempt m-2'],
    );
  });

  it('P1: takes a machine whose claim falls to a lower priority', () => {
    const fleet = [configured('m-1', assignmentFor('beta', peer))];
    expect(doneAfter(against(urgent(), fleet, [peer, low]), against(urgent(), fleet, [low]))).toEqual([
      'Preempt m-1',
    ]);
  });

  it('P1: takes a machine that leaves back-off', () => {
    const victim = configured('m-1', assignmentFor('beta', low));
    const fleet = (backoff: boolean) => [{ ...victim, backoff }];
    expect(doneAfter(against(urgent(), fleet(true)), against(urgent(), fleet(false)))).toEqual([
      'Preempt m-1',
    ]);
  });

  it('P1: takes a machine that gets a label that it requires', () => {
    const wanting = urgent({ requirements: [isIn(RACK, 'r-2')] });
    const fleet = (rack: string) => [configured('m-1', assignmentFor('beta', low), inRack(rack))];
    for (const options of [{}, FINE])
      expect(doneAfter(against(wanting, fleet('r-1')), against(wanting, fleet('r-2')), options)).toEqual([
        'Preempt m-1',
      ]);
  });

  it('P1: takes a machine that moves to the rack of its gang', () => {
    const job = gang('job', 8, { priority: 1_000 });
    const own = configured('m-1', assignmentFor('alpha', job), inRack('r-1'));
    const fleet = (rack: string) => [own, configured('m-2', assignmentFor('beta', low), inRack(rack))];
    for (const options of [{}, FINE])
      expect(doneAfter(against(job, fleet('r-2')), against(job, fleet('r-1')), options)).toEqual([
        'Preempt m-2',
      ]);
  });

  it('P1: takes a machine that is large enough after its min unit shrank', () => {
    const fleet = [configured('m-1', assignmentFor('beta', low))];
    const first = against(urgent({ minUnit: cpus(8) }), fleet);
    expect(doneAfter(first, against(urgent({ minUnit: cpus(1) }), fleet))).toEqual(['Preempt m-1']);
  });

  it('P1: takes fewer machines for a gang that shrank', () => {
    const job = (count: number) => gang('job', count, { priority: 1_000 });
    const fleet = [
      configured('m-1', assignmentFor('alpha', job(12)), inRack('r-1')),
      configured('m-2', assignmentFor('beta', low), inRack('r-1')),
    ];
    expect(doneAfter(against(job(12), fleet), against(job(8), fleet))).toEqual(['Preempt m-2']);
  });

  it('P1: takes the last machine of a gang that lacks less than before', () => {
    const job = gang('job', 12, { priority: 1_000 });
    const own = ['own-1', 'own-2'].map((id) => configured(id, assignmentFor('alpha', job), inRack('r-1')));
    const victim = configured('m-1', assignmentFor('beta', low), inRack('r-1'));
    const first = against(job, [own[0]!, victim]);
    expect(doneAfter(first, against(job, [...own, victim]))).toEqual(['Preempt m-1']);
  });

  it('P1: takes machines in the rack to which its gang moved', () => {
    const job = gang('job', 8, { priority: 1_000 });
    const victim = configured('m-1', assignmentFor('beta', low), inRack('r-2'));
    const fleet = (rack: string) => [configured('own', assignmentFor('alpha', job), inRack(rack)), victim];
    expect(doneAfter(against(job, fleet('r-1')), against(job, fleet('r-2')))).toEqual(['Preempt m-1']);
  });

  it('N6: takes an unclaimed machine of a cluster that has reported since', () => {
    const fleet = [configured('m-1', boundTo('gamma'))];
    const given = (reported: boolean) =>
      world(fleet, [cluster('alpha', [urgent()]), cluster('gamma', [], { reported })]);
    expect(doneAfter(given(false), given(true))).toEqual(['Preempt m-1']);
  });

  it('P1: takes a victim that another need chose in the last cycle and no longer wants', () => {
    const first = urgent({ group: 'a', priority: 2_000 });
    const second = urgent({ group: 'b' });
    const fleet = [configured('m-1', assignmentFor('beta', low))];
    const wanting = (needs: WorldNeed[]) =>
      world(fleet, [cluster('alpha', needs), cluster('beta', [low], { hasSession: false })]);
    const both = wanting([first, second]);
    const results = decideInTurn([both, both, wanting([second])]);
    expect(results.map((result) => result.actions.map(({ group }) => group))).toEqual([['a'], ['a'], ['b']]);
  });

  it('A4: takes a machine in a domain that its spread allows again', () => {
    const web = urgent({ aggregate: cpus(16), spread: [spreadOver(RACK)] });
    const fleet = (racks: readonly string[]) => [
      ...racks.map((rack, index) => configured(`own-${index}`, assignmentFor('alpha', web), inRack(rack))),
      configured('m-1', assignmentFor('beta', low), inRack('r-1')),
    ];
    const crowded = against(web, fleet(['r-1', 'r-1', 'r-2']));
    expect(doneAfter(crowded, against(web, fleet(['r-1', 'r-2', 'r-2'])))).toEqual(['Preempt m-1']);
  });

  it('T8: takes a machine once its cluster has no limits', () => {
    const fleet = [configured('m-1', assignmentFor('beta', low))];
    const limited = (limits?: Partial<WorldLimits>) =>
      world(fleet, [
        cluster('alpha', [urgent()], limits === undefined ? {} : { limits: { ...NO_LIMITS, ...limits } }),
        cluster('beta', [low], { hasSession: false }),
      ]);
    expect(doneAfter(limited({ maxMachines: 0 }), limited())).toEqual(['Preempt m-1']);
    expect(doneAfter(limited({ maxPriority: 10 }), limited())).toEqual(['Preempt m-1']);
  });

  it('T8: is limited once another need of its cluster takes the last machine that a new limit allows', () => {
    const first = urgent({ group: 'a', priority: 2_000 });
    const nowhere = urgent({ group: 'b', requirements: [isIn(RACK, 'r-9')] });
    const fleet = [configured('m-1', assignmentFor('beta', low))];
    const given = (limits: WorldLimits) =>
      world(fleet, [
        cluster('alpha', [first, nowhere], limits === NO_LIMITS ? {} : { limits }),
        cluster('beta', [low], { hasSession: false }),
      ]);
    const [before, after] = decideInTurn([given(NO_LIMITS), given({ ...NO_LIMITS, maxMachines: 1 })]);
    expect([did(before!), did(after!)]).toEqual([['Preempt m-1'], ['Preempt m-1']]);
    expect(verdictOf(before!, 'alpha', nowhere).limitedBy).toBe('');
    expect(verdictOf(after!, 'alpha', nowhere).limitedBy).toBe('max-machines');
  });
});
