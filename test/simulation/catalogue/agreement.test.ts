import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import { fingerprintOf, withoutSameRequirements } from '../../../src/needs/requirements.ts';
import { CATALOGUES, REALISTIC, SMALL } from '../../../src/simulation/catalogue/catalogue.ts';
import { SteadyFleet } from '../../../src/simulation/catalogue/fleet.ts';
import { rowsOf } from '../../../src/simulation/catalogue/rollup.ts';
import { MACHINES_PER_CLUSTER_MAX, SteadyDemand } from '../../../src/simulation/catalogue/steady-demand.ts';
import { generateMachines } from '../../../src/simulation/provider/generate.ts';

const PREFIX = 'bigfleet.lucy.sh/assigned-';

/** Fingerprints that assignments of a cluster may have: those of its rows and of their folds. */
function fingerprintsOf(demand: SteadyDemand, cluster: number): Set<string> {
  const rows = demand.plan(cluster).flatMap(rowsOf);
  return new Set(
    rows.flatMap((row) => {
      const profile = {
        ...row,
        interruptionPenalty: row.interruptionBucket,
        reclamationPenalty: row.reclamationBucket,
      };
      return [
        fingerprintOf(profile),
        fingerprintOf({ ...profile, requirements: withoutSameRequirements(row.requirements) }),
      ];
    }),
  );
}

for (const [name, catalogue] of Object.entries(CATALOGUES)) {
  describe(`provider and operators that share the ${name} catalogue`, () => {
    const figures = { machineCount: 1_200, clusterCount: 6, catalogue };
    const demand = new SteadyDemand(figures, new Random(9));
    const plan = { ...figures, configuredShare: 0.97, idleShare: 0.01, seed: 9 };
    const machines = [...generateMachines(catalogue, plan)];

    it('agree on the clusters: each has as many machines as its demand asks for', () => {
      for (let cluster = 0; cluster < demand.clusterCount; cluster++) {
        const wanted = demand.plan(cluster).reduce((count, need) => count + need.places.length, 0);
        const bound = machines.filter((machine) => machine.cluster === demand.clusterId(cluster));
        expect(bound).toHaveLength(wanted);
      }
    });

    it('agree on the needs: every bound machine is assigned to a need of its cluster', () => {
      let boundCount = 0;
      for (let cluster = 0; cluster < demand.clusterCount; cluster++) {
        const known = fingerprintsOf(demand, cluster);
        for (const machine of machines) {
          if (machine.cluster !== demand.clusterId(cluster)) continue;
          boundCount++;
          expect(known).toContain(machine.shardMetadata?.[`${PREFIX}need-fingerprint`]);
        }
      }
      expect(boundCount).toBe(demand.wantedCount);
    });

    it('draw the same demand with and without a fleet', () => {
      const fleet = new SteadyFleet(figures.machineCount, 9, figures);
      expect([...fleet.rollups()]).toEqual([...demand.rollups()]);
    });
  });
}

describe('a fleet with a configured share', () => {
  it('covers whole needs, about as many machines as the share, with the same kinds as the full fleet', () => {
    const fleet = new SteadyFleet(2_000, 1, { configuredShare: 0.5 });
    const bound = [...fleet.machines()].filter(({ cluster }) => cluster !== '');
    expect(Math.abs(bound.length - 1_000)).toBeLessThan(10);
    const byAssignment = new Map<string, number>();
    for (const { cluster, assignment } of bound) {
      const key = `${cluster} ${assignment?.fingerprint} ${assignment?.group}`;
      byAssignment.set(key, (byAssignment.get(key) ?? 0) + 1);
    }
    const full = [...new SteadyFleet(2_000, 1).machines()];
    for (const [key, count] of byAssignment) {
      const whole = full.filter(
        ({ cluster, assignment }) => `${cluster} ${assignment?.fingerprint} ${assignment?.group}` === key,
      );
      expect(whole).toHaveLength(count);
    }
  });

  it('can start without any bound machine', () => {
    const fleet = new SteadyFleet(500, 1, { configuredShare: 0, idleShareOfUnbound: 0 });
    expect([...fleet.machines()].every(({ cluster, host }) => cluster === '' && host === null)).toBe(true);
  });
});

describe('clusters of any size', () => {
  it('can be planned up to the limit of the commands', () => {
    for (const seed of [1, 2, 3]) {
      const needs = REALISTIC.parts.planCluster(new Random(seed), 'big', MACHINES_PER_CLUSTER_MAX);
      expect(needs.reduce((count, need) => count + need.places.length, 0)).toBe(MACHINES_PER_CLUSTER_MAX);
    }
  });

  it('may be empty', () => {
    for (const catalogue of [REALISTIC, SMALL]) {
      expect(catalogue.parts.planCluster(new Random(1), 'none', 0)).toEqual([]);
    }
  });
});
