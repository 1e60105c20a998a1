/** What a shard asks the engine between two cycles: the verdicts of a cluster, and whether a need still exists (X2). */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import type { Verdict } from '../../src/decision/verdicts/verdicts.ts';
import { cluster, gang, idle, need, world } from '../oracle/rules/worlds.ts';
import type { WorldNeed } from '../oracle/world.ts';
import { ClosedLoop, type Pace } from './closed-loop.ts';
import { movePrices, shiftSupply, steadyWorld } from './steady-worlds.ts';
import { acceptAsArrived } from './world-tables.ts';

const INSTANT: Pace = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 };
const SLOW: Pace = { beginMax: 3, createMax: 3, configureMax: 3, drainMax: 3, reclaimsMax: 1_000 };

describe('the verdicts of a cluster', () => {
  it('equal those of its rows one by one, in order, members of folds included', () => {
    let rowCount = 0;
    let unmetCount = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const random = new Random(seed);
      const start = steadyWorld(random);
      const loop = new ClosedLoop(start, SLOW, random);
      for (const one of start.clusters) if (one.reported) loop.report(one);
      for (let cycle = 0; cycle < 5; cycle++) {
        movePrices(loop, start, random);
        shiftSupply(loop, start, random);
        loop.cycle();
        for (const ref of loop.needs.clusterRefs()) {
          const verdicts: Verdict[] = [];
          loop.engine.verdictsOf(ref, (row, verdict) => {
            expect(row).toBe(verdicts.length);
            verdicts.push(verdict);
          });
          expect(verdicts).toHaveLength(loop.needs.sliceCount(ref));
          for (const [row, verdict] of verdicts.entries()) {
            expect(verdict, `seed ${seed}, row ${row}`).toEqual(loop.engine.verdict(ref, row));
            rowCount++;
            if (!verdict.satisfied) unmetCount++;
          }
        }
      }
    }
    expect(rowCount).toBeGreaterThan(1_000);
    expect(unmetCount).toBeGreaterThan(0);
  });

  it('are empty for an unknown cluster', () => {
    const loop = new ClosedLoop(world([], []), INSTANT, new Random(1));
    loop.engine.verdictsOf(77, () => expect.unreachable());
  });
});

describe('X2: a need', () => {
  const web = need({ group: 'web' });
  const job = gang('job', 2);

  function started(needs: WorldNeed[]) {
    const start = world([idle('m-1'), idle('m-2')], [cluster('alpha', needs)]);
    const loop = new ClosedLoop(start, SLOW, new Random(1));
    for (const one of start.clusters) loop.report(one);
    loop.cycle();
    const { actions } = loop.engine;
    const isLive = () =>
      Array.from({ length: actions.count }, (_, index) => ({
        cluster: actions.forCluster[index]!,
        fingerprint: actions.fingerprint[index]!,
        group: actions.group[index]!,
      })).map(
        ({ cluster, fingerprint, group }) =>
          () =>
            loop.engine.isLiveNeed(cluster, fingerprint, group),
      );
    return { loop, queries: isLive() };
  }

  it('is live from the cycle that acts for it until the cycle after its withdrawal, whether a row or a fold', () => {
    const { loop, queries } = started([web, job]);
    expect(queries).toHaveLength(2);
    expect(queries.map((ask) => ask())).toEqual([true, true]);
    loop.cycle();
    expect(queries.map((ask) => ask())).toEqual([true, true]);
    acceptAsArrived(loop.needs, 'alpha', [web], []);
    expect(queries.filter((ask) => ask())).toHaveLength(2); // as of the last cycle
    loop.cycle();
    expect(queries.filter((ask) => ask())).toHaveLength(1);
    acceptAsArrived(loop.needs, 'alpha', [], []);
    loop.cycle();
    expect(queries.filter((ask) => ask())).toHaveLength(0);
  });

  it('is not live if no cluster ever reported it', () => {
    const { loop } = started([web]);
    const ref = loop.inventory.tables.clusters.find('alpha');
    expect(loop.engine.isLiveNeed(ref, 99_999, 0)).toBe(false);
    expect(loop.engine.isLiveNeed(77, 1, 0)).toBe(false);
  });
});
