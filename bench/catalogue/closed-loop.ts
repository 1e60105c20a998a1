/**
 * A fleet that lives: every action of a cycle is done by the next one, as by a provider that finishes at
 * once, and machines change by themselves: prices move, machines fail and heal. So deficits are what a cycle
 * brought and not what a benchmark never gave back.
 */
import { Random } from '../../src/base/random.ts';
import { ActionKind } from '../../src/decision/actions.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { EngineFleet } from './engine-fleet.ts';

const S = MachineState;
/** Of the changed machines that serve a cluster: how many fail; the others are re-priced. */
const FAILING_SHARE = 0.05;

export class ClosedLoop {
  readonly #fleet: EngineFleet;
  readonly #random: Random;
  /** Machines that failed a cycle ago: their providers bring them back, empty. */
  #failed: number[] = [];

  constructor(fleet: EngineFleet, seed = 3) {
    this.#fleet = fleet;
    this.#random = new Random(seed);
  }

  /** Does what the last cycle decided; returns how many actions that were. */
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

  /** Brings back what failed a cycle ago. */
  heal(): void {
    const { inventory, nowMs } = this.#fleet;
    for (const slot of this.#failed) {
      if (inventory.columns.state[slot] === S.Failed) inventory.move(slot, S.Idle, nowMs, true);
    }
    this.#failed = [];
  }

  /** Changes this many machines, drawn evenly from `slots`: some of the Configured ones fail, the rest cost otherwise. */
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
