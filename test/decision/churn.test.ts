/**
 * Fleets so large that a cluster's machines fill many blocks and a change runs through long chains of needs, which the
 * oracle's worlds never are: incremental and from-scratch decisions must be identical.
 */
import { describe, expect, it } from 'vitest';
import { ChurningFleet } from '../../bench/catalogue/churning-fleet.ts';
import { decideChecked } from '../../src/decision/check.ts';

const CYCLES = 25;

describe('a fleet in which prices move, machines fail and roll-ups change', () => {
  for (const [machines, clusters, needs] of [
    [6_000, 2, 60],
    [6_000, 4, 1_200],
    [3_000, 30, 1_500],
  ] as const) {
    it(`is decided as if from scratch: ${machines} machines, ${needs} needs in ${clusters} clusters`, () => {
      const churning = new ChurningFleet(machines, clusters, needs);
      const { fleet } = churning;
      const { inventory, needs: demand } = fleet;
      const holds = { onDemandMs: 600_000, spotMs: 60_000 };
      const options = { inventory, needs: demand, hasSession: () => true, holds };
      let scannedCount = 0;
      let actionCount = 0;
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        churning.changeMachines();
        if (cycle % 3 !== 0) churning.changeRollups();
        fleet.nowMs += 10_000;
        const input = { nowMs: fleet.nowMs, isOrdinary: true };
        const { cost, differences } = decideChecked(fleet.engine, options, input);
        expect(differences, `cycle ${cycle}`).toEqual({ actions: 0, claims: 0, verdicts: 0 });
        scannedCount += cost.evaluatedNeeds;
        actionCount += fleet.engine.actions.count;
      }
      expect(scannedCount).toBeGreaterThan(500);
      expect(actionCount).toBeGreaterThan(50);
    }, 120_000);
  }

  it('is decided as if from scratch when the price of every machine changes at once', () => {
    const churning = new ChurningFleet(6_000, 2, 60);
    const { inventory, needs, engine } = churning.fleet;
    const holds = { onDemandMs: 600_000, spotMs: 60_000 };
    const options = { inventory, needs, hasSession: () => true, holds };
    for (const factor of [1.5, 0.5, 2]) {
      churning.settle();
      churning.fleet.nowMs += 10_000;
      const { nowMs } = churning.fleet;
      for (const slot of inventory.slotsById) {
        const pricePerHourUsd = inventory.columns.pricePerHourUsd[slot]! * factor;
        inventory.apply(slot, { pricePerHourUsd }, nowMs);
      }
      const { cost, differences } = decideChecked(engine, options, { nowMs, isOrdinary: true });
      expect(cost.changedMachines).toBeGreaterThan(5_000);
      expect(differences, `prices times ${factor}`).toEqual({ actions: 0, claims: 0, verdicts: 0 });
    }
  });
});
