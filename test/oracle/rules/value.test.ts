import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { tenantLimits } from '../../../src/shard/tenants.ts';
import { subjects } from '../subjects.ts';
import { Operator, type WorldMachine, type WorldNeed } from '../world.ts';
import {
  claimedBy,
  cluster,
  cpus,
  creating,
  did,
  gang,
  idle,
  inRack,
  keyOf,
  need,
  RACK,
  speculative,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

const { Reserved, OnDemand } = CapacityType;
const sized = (cpuCount: number, facts: Partial<WorldMachine> = {}): Partial<WorldMachine> => ({
  capacity: cpus(cpuCount),
  capacityType: OnDemand,
  ...facts,
});

describe.each(subjects)('$name', ({ decideWith }) => {
  const byValue = (fleet: WorldMachine[], ...needs: WorldNeed[]) =>
    decideWith(world(fleet, [cluster('alpha', needs)], { value: { offerMargin: 0.2 } }));

  it('E1: an Idle machine that is paid for anyway costs nothing but its risk; any other costs its price', () => {
    const fleet = [
      idle('m-1', sized(4, { price: 1 })),
      idle('m-2', sized(4, { price: 9, capacityType: Reserved })),
      speculative('m-3', sized(4, { price: 9, capacityType: Reserved })),
    ];
    expect(did(byValue(fleet, need({ aggregate: cpus(8) })))).toEqual(['Bootstrap m-2', 'Bootstrap m-1']);
  });

  it('E1: the risk counts for Idle machines too', () => {
    const fleet = [
      idle('m-1', sized(4, { price: 1, probability: 0.5 })),
      idle('m-2', sized(4, { price: 2 })),
    ];
    // Bucket 5 is $4: m-1 costs 1 + 0.5 × 4 = 3.
    expect(did(byValue(fleet, need({ interruptionPenalty: 5 })))).toEqual(['Bootstrap m-2']);
    expect(did(byValue(fleet, need({ interruptionPenalty: 0 })))).toEqual(['Bootstrap m-1']);
  });

  it('E2: takes what covers most of what remains per dollar, and not the cheapest machine', () => {
    const fleet = [speculative('m-1', sized(4, { price: 1 })), speculative('m-2', sized(32, { price: 4 }))];
    expect(did(byValue(fleet, need({ aggregate: cpus(32) })))).toEqual(['Provision m-2']);
    expect(did(byValue(fleet, need({ aggregate: cpus(4) })))).toEqual(['Provision m-1']);
  });

  it('E2: an offer is taken instead of an Idle machine only if it saves more than the margin', () => {
    const fleet = (price: number) => [
      idle('m-1', sized(4, { price: 1 })),
      speculative('m-2', sized(4, { price })),
    ];
    expect(did(byValue(fleet(0.8), need()))).toEqual(['Bootstrap m-1']);
    expect(did(byValue(fleet(0.79), need()))).toEqual(['Provision m-2']);
  });

  it('E2: of equally good machines a need takes that for which fewer needs compete, then the smaller id', () => {
    const inZone = (zone: string) => sized(4, { zone });
    const fleet = [speculative('m-1', inZone('zone-1')), speculative('m-2', inZone('zone-2'))];
    const tied = need({
      group: 'tied',
      priority: 0,
      requirements: [{ key: ZONE, operator: Operator.In, values: ['zone-1'] }],
    });
    const result = byValue(fleet, need(), tied);
    expect(did(result)).toEqual(['Provision m-2', 'Provision m-1']);
    expect(verdictOf(result, 'alpha', tied)).toMatchObject({ satisfied: true });
    expect(did(byValue(fleet, need()))).toEqual(['Provision m-1']);
  });

  it('E2: machines that are being created for no need come first', () => {
    const fleet = [
      creating('m-9', null, sized(4, { price: 9 })),
      idle('m-1', sized(4, { capacityType: Reserved })),
    ];
    const result = byValue(fleet, need({ aggregate: cpus(4) }));
    expect(did(result)).toEqual([]);
  });

  it('E3: gives back what it does not need, the most expensive first', () => {
    // Two dimensions: m-1 is best for both, then m-2 for what remains of cpu; with m-3 for memory, m-1 is not needed.
    const amounts = (cpu: number, memory: number) => ({
      capacity: { cpu: cpu * 1_000, memory },
      capacityType: OnDemand,
    });
    const fleet = [
      speculative('m-1', { ...amounts(2, 2), price: 1 }),
      speculative('m-2', { ...amounts(4, 0), price: 2.5 }),
      speculative('m-3', { ...amounts(0, 4), price: 2.5 }),
    ];
    const both = need({ aggregate: { cpu: 4_000, memory: 4 }, minUnit: {} });
    const result = byValue(fleet, both);
    expect(did(result)).toEqual(['Provision m-2', 'Provision m-3']);
    expect(verdictOf(result, 'alpha', both)).toMatchObject({ satisfied: true, provisions: 2 });
  });

  it('E3: keeps what the skew needs', () => {
    const fleet = [
      speculative('m-1', sized(4, { ...inRack('rack-1'), price: 1 })),
      speculative('m-2', sized(2, { ...inRack('rack-2'), price: 1 })),
      speculative('m-3', sized(8, { ...inRack('rack-1'), price: 1.5 })),
    ];
    const spread = need({ aggregate: cpus(10), minUnit: {}, spread: [spreadOver(RACK, 1)] });
    const result = byValue(fleet, spread);
    expect(did(result)).toEqual(['Provision m-3', 'Provision m-2']);
    expect(verdictOf(result, 'alpha', spread)).toMatchObject({ satisfied: true });
  });

  it('E4: ends with one machine that covers all the rest, if the whole is cheaper', () => {
    // Per covered share m-1 is the best start (0.4 for 0.5), but with either end it costs more than m-3 alone.
    const fleet = [
      speculative('m-1', sized(4, { price: 0.4 })),
      speculative('m-2', sized(4, { price: 0.9 })),
      speculative('m-3', sized(8, { price: 1 })),
    ];
    expect(did(byValue(fleet, need({ aggregate: cpus(8) })))).toEqual(['Provision m-3']);
  });

  it('E4: a need is covered exactly when the machines that match cover it, as by A3', () => {
    const fleet = [
      idle('m-1', sized(4)),
      speculative('m-2', sized(2)),
      speculative('m-3', sized(2, { price: 9 })),
    ];
    for (const cpuCount of [7, 8, 9]) {
      const wanted = need({ aggregate: cpus(cpuCount), minUnit: {} });
      const cheapest = decideWith(world(fleet, [cluster('alpha', [wanted])]));
      const { satisfied, deficit } = verdictOf(cheapest, 'alpha', wanted);
      expect(verdictOf(byValue(fleet, wanted), 'alpha', wanted)).toMatchObject({ satisfied, deficit });
    }
  });

  it('E1: a gang takes by value in its domain', () => {
    const fleet = [
      speculative('m-1', sized(4, { ...inRack('rack-1'), price: 1 })),
      speculative('m-2', sized(4, { ...inRack('rack-1'), price: 1 })),
      speculative('m-3', sized(8, { ...inRack('rack-1'), price: 1.2 })),
      speculative('m-4', sized(8, { ...inRack('rack-1'), price: 3 })),
    ];
    expect(did(byValue(fleet, gang('job', 12)))).toEqual(['Provision m-3', 'Provision m-1']);
  });

  describe('E9: the exchange', () => {
    const tied = need({
      group: 'tied',
      priority: 0,
      requirements: [{ key: ZONE, operator: Operator.In, values: ['zone-1'] }],
    });
    const offers = (prices: readonly [number, number, number]) => [
      speculative('m-1', sized(4, { zone: 'zone-1', price: prices[0] })),
      speculative('m-2', sized(4, { zone: 'zone-2', price: prices[1] })),
      speculative('m-3', sized(4, { zone: 'zone-1', price: prices[2] })),
    ];
    const kept = ['Provision m-1', 'Provision m-3'];
    const exchanged = ['Provision m-2', 'Provision m-1'];

    it('E9: a flexible need leaves the cheap machine to one that is tied to its zone, if both together pay less', () => {
      const result = byValue(offers([1, 1.1, 5]), need(), tied);
      expect(did(result)).toEqual(exchanged);
      expect(verdictOf(result, 'alpha', tied)).toMatchObject({ satisfied: true, provisions: 1 });
      expect(claimedBy(result, keyOf('alpha', tied))).toEqual(['m-1']);
    });

    it('E9: nothing is exchanged for 1 % or less', () => {
      expect(did(byValue(offers([1, 2, 2.02]), need(), tied))).toEqual(kept);
      expect(did(byValue(offers([1, 2, 2.04]), need(), tied))).toEqual(exchanged);
    });

    it('E9: needs exchange across clusters, and their actions keep the order of the needs', () => {
      const of = world(offers([1, 1.1, 5]), [cluster('alpha', [need()]), cluster('beta', [tied])], {
        value: { offerMargin: 0.2 },
      });
      expect(decideWith(of).actions.map(({ cluster: id, machine }) => `${id} ${machine}`)).toEqual([
        'alpha m-2',
        'beta m-1',
      ]);
    });

    it('E9: gives back no machine that fits a need which lacks something', () => {
      const large = need({
        group: 'large',
        priority: -1,
        aggregate: cpus(8),
        requirements: tied.requirements,
      });
      expect(did(byValue(offers([1, 1.1, 5]), need(), tied, large))).toEqual(kept);
    });

    it('E9: leaves needs with a spread, clusters with limits, and fleets with ceilings as they are', () => {
      const value = { value: { offerMargin: 0.2 } };
      const fleet = offers([1, 1.1, 5]);
      expect(did(byValue(fleet, need({ spread: [spreadOver(ZONE, 3)] }), tied))).toEqual(kept);
      const limits = tenantLimits({ cluster: 'alpha', maxMachines: 9 });
      const limited = cluster('alpha', [need(), tied], { limits });
      expect(did(decideWith(world(fleet, [limited], value)))).toEqual(kept);
      const none = Number.POSITIVE_INFINITY;
      const ceilings = { maxDollarsPerHour: 100, maxByCapacityType: [none, none, none, none, none] };
      expect(
        did(decideWith(world(fleet, [cluster('alpha', [need(), tied])], { ...value, ceilings }))),
      ).toEqual(kept);
    });
  });
});
