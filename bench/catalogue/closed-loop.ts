/**
 * A closed loop: every action of a cycle is done before the next cycle, as by a provider that finishes at once, and
 * machines change on their own: prices move, machines fail and heal. So a deficit comes from the last changes and not
 * from actions that the benchmark never executed.
 */
import { Random } from '../../src/base/random.ts';
import { ActionKind } from '../../src/decision/actions.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { EngineFleet } from './engine-fleet.ts';

const S = MachineState;
/** The share of changed Configured machines that fail; the others change their price. */
const FAILING_SHARE = 0.05;

export class ClosedLoop {
  readonly #fleet: EngineFleet;
  readonly #random: Random;
  /** Machines that failed a cycle ago: their provider brings them back, unassigned. */
  #failed: number[] = [];

  constructor(fleet: EngineFleet, seed = 3) {
    this.#fleet = fleet;
    this.#random = new Random(seed);
  }

  /** Executes the actions of the last cycle; returns their number. */
  execute(): number {
    const { engine, inventory, nowMs } = this.#fleet;
    const { clusters, fingerprints, groups } = inventory.tables;
    const { actions } = engine;
    for (let index = 0; index < actions.count; index++) {
      const slot = actions.slot[index]!;
      const kind = actions.kind[index];
      if (kind === ActionKind.Bootstrap || kind === ActionKind.Provision) {
        const change = {
          state: S.Configured,
          host: { provider: 'catalogue', ref: `host-${slot}` },
          cluster: clusters.get(actions.cluster[index]!),
          assignment: {
            fingerprint: fingerprints.get(actions.fingerprint[index]!),
            group: groups.get(actions.group[index]!),
            priority: actions.priority[index]!,
            interruptionPenalty: actions.interruptionPenalty[index]!,
            reclamationPenalty: actions.reclamationPenalty[index]!,
          },
        };
        inventory.apply(slot, change, nowMs, { force: true });
      } else {
        const state = kind === ActionKind.Delete ? S.Speculative : S.Idle;
        inventory.move(slot, state, nowMs, true);
      }
    }
    return actions.count;
  }

  /** Brings back the machines that failed a cycle ago. */
  heal(): void {
    const { inventory, nowMs } = this.#fleet;
    for (const slot of this.#failed) {
      if (inventory.columns.state[slot] === S.Failed) inventory.move(slot, S.Idle, nowMs, true);
    }
    this.#failed = [];
  }

  /** Changes this many machines, drawn evenly from `slots`: some of the Configured ones fail, the rest change price. */
  change(slots: Uint32Array, count: number): void {
    const { inventory, nowMs } = this.#fleet;
    const { state, pricePerHourUsd } = inventory.columns;
    for (let done = 0; done < count; done++) {
      const slot = slots[this.#random.below(slots.length)]!;
      if (state[slot] === S.Configured && this.#random.chance(FAILING_SHARE)) {
        inventory.apply(slot, { state: S.Failed, lastError: 'lost power' }, nowMs, { force: true });
        this.#failed.push(slot);
      } else {
        const factor = 0.9 + this.#random.unit() * 0.2;
        inventory.apply(slot, { pricePerHourUsd: Math.max(0.01, pricePerHourUsd[slot]! * factor) }, nowMs);
      }
    }
  }
}
