import { describe, expect, it } from 'vitest';
import { parseDemand } from '../../../src/base/quantity.ts';
import { Random } from '../../../src/base/random.ts';
import { needOf, rollupFrame } from '../../../src/operator-kit/frames.ts';
import { type Catalogue, REALISTIC, SMALL } from '../../../src/simulation/catalogue/catalogue.ts';
import { SteadyDemand } from '../../../src/simulation/catalogue/steady-demand.ts';
import { BURST_PRIORITY } from '../../../src/simulation/operators/burst.ts';
import { ClusterDemand } from '../../../src/simulation/operators/cluster-demand.ts';
import { EncodedParts } from '../../../src/simulation/operators/encoded-parts.ts';
import { decode, encode, toPlain } from '../../../src/wire/codec.ts';
import type { CapacityNeed } from '../../../src/wire/protocol.generated.ts';

const CLUSTERS = 4;

function demandsOf(catalogue: Catalogue, seed = 5, clusterCount = CLUSTERS) {
  const steady = new SteadyDemand(
    { machineCount: clusterCount * 250, clusterCount, catalogue },
    new Random(seed),
  );
  const parts = new EncodedParts();
  const clusters = Array.from(
    { length: clusterCount },
    (_, cluster) => new ClusterDemand(steady, cluster, parts, new Random(cluster)),
  );
  return { steady, clusters };
}

function needsOf(demand: ClusterDemand): readonly CapacityNeed[] {
  const frame = rollupFrame(demand.clusterId, 1, demand).bytes;
  return toPlain('OperatorMessage', decode('OperatorMessage', frame)).rollup!.needs;
}

/** Counted from the rows alone: the machines that the scarce dimension of each need, or of each fold, takes. */
function machinesByType(needs: readonly CapacityNeed[], catalogue: Catalogue): number[] {
  const { types } = catalogue.parts;
  const counts = types.map(() => 0);
  const folds = new Map<string, { type: number; units: number; gang: number }>();
  for (const { group: name, ...need } of needs) {
    const typeName = need.requirements.find(({ key }) => key.endsWith('instance-type'))!.values[0];
    const type = types.findIndex((candidate) => candidate.name === typeName);
    const { scarce, capacity } = types[type]!;
    const units = parseDemand(scarce, need.aggregateResources[scarce]!);
    const isFolded = name !== '' && units <= capacity[scarce]!;
    // Equal small gangs share machines; other needs share none.
    const key = isFolded ? JSON.stringify(need) : JSON.stringify([need, name]);
    const fold = folds.get(key) ?? { type, units: 0, gang: units };
    fold.units += units;
    folds.set(key, fold);
  }
  for (const { type, units } of folds.values()) {
    const { scarce, capacity } = types[type]!;
    counts[type]! += Math.ceil(units / capacity[scarce]!);
  }
  return counts;
}

for (const catalogue of [REALISTIC, SMALL]) {
  describe(`the demand of a cluster of the ${catalogue.parts.name} catalogue`, () => {
    it('begins as planned, row for row', () => {
      const { steady, clusters } = demandsOf(catalogue);
      for (const [cluster, demand] of clusters.entries()) {
        const planned = steady.rollup(cluster).rows.map((row) => {
          const bytes = encode('CapacityNeed', needOf(row));
          return toPlain('CapacityNeed', decode('CapacityNeed', bytes));
        });
        expect(needsOf(demand)).toEqual(planned);
        expect(demand.rowCount).toBe(planned.length);
      }
    });

    it('asks for as many machines as it reports, however long it changes', () => {
      const { clusters } = demandsOf(catalogue);
      for (const demand of clusters) {
        for (let round = 0; round < 30; round++) {
          demand.churn(0.05);
          const needs = needsOf(demand);
          expect(needs).toHaveLength(demand.rowCount);
          expect([...demand.wantedByType]).toEqual(machinesByType(needs, catalogue));
        }
      }
    });
  });
}

describe('churn', () => {
  it('changes the given share of the rows, and none at a share of zero', () => {
    const { clusters } = demandsOf(REALISTIC);
    const demand = clusters[0]!;
    const asText = () => needsOf(demand).map((need) => JSON.stringify(need));
    const before = asText();
    demand.churn(0);
    expect(asText()).toEqual(before);
    let changed = 0;
    for (let round = 0; round < 50; round++) {
      const last = new Set(asText());
      demand.churn(0.01);
      changed += asText().filter((row) => !last.has(row)).length;
    }
    // Each round draws four rows; a growing fold adds up to eight rows, and a withdrawal adds none.
    expect(changed).toBeGreaterThan(50);
    expect(changed).toBeLessThan(600);
  });

  it('reverts: after a long time the demand is still close to the plan, with other jobs', () => {
    const { clusters } = demandsOf(REALISTIC);
    for (const demand of clusters) {
      const planned = demand.wantedCount;
      const first = new Set(needsOf(demand).map(({ group }) => group));
      for (let round = 0; round < 400; round++) demand.churn(0.05);
      expect(Math.abs(demand.wantedCount - planned)).toBeLessThan(planned * 0.2);
      const jobs = needsOf(demand).filter(({ group }) => group !== '' && !first.has(group));
      expect(jobs.length).toBeGreaterThan(100);
    }
  });

  it('does not outgrow the fleet: all clusters together ask for no more than planned', () => {
    const { clusters } = demandsOf(REALISTIC, 5, 40);
    const wanted = () => clusters.reduce((sum, demand) => sum + demand.wantedCount, 0);
    const planned = wanted();
    for (const demand of clusters) for (let round = 0; round < 300; round++) demand.churn(0.01);
    expect(wanted()).toBeLessThan(planned * 1.01);
    expect(wanted()).toBeGreaterThan(planned * 0.9);
  });

  it('is the same for the same seed', () => {
    const grown = () => {
      const { clusters } = demandsOf(REALISTIC);
      for (const demand of clusters) for (let round = 0; round < 20; round++) demand.churn(0.02);
      return clusters.map(needsOf);
    };
    expect(grown()).toEqual(grown());
  });
});

describe('weather', () => {
  it('adds a need of the highest priority for whole machines of a type during a burst', () => {
    const { clusters } = demandsOf(REALISTIC);
    const demand = clusters[0]!;
    const before = needsOf(demand);
    const wantedBefore = [...demand.wantedByType];
    demand.beginBurst(3, 7);
    const extra = needsOf(demand).at(-1)!;
    expect(extra.priority).toBe(BURST_PRIORITY);
    expect(extra.requirements[0]?.values).toEqual([REALISTIC.parts.types[3]!.name]);
    expect(demand.wantedByType[3]).toBe(wantedBefore[3]! + 7);
    expect([...demand.wantedByType]).toEqual(machinesByType(needsOf(demand), REALISTIC));
    demand.endBurst();
    expect(needsOf(demand)).toEqual(before);
  });

  it('withdraws about half of the needs of a shrunken cluster until it grows again', () => {
    const { clusters } = demandsOf(REALISTIC);
    const demand = clusters[0]!;
    const before = needsOf(demand);
    demand.shrink(true);
    expect(demand.rowCount).toBe(needsOf(demand).length);
    expect(demand.rowCount / before.length).toBeGreaterThan(0.3);
    expect(demand.rowCount / before.length).toBeLessThan(0.7);
    demand.shrink(false);
    expect(needsOf(demand)).toEqual(before);
  });
});
