/**
 * H9: no more reclaims are sent than the disruption budgets of a history allow, over restarts. The world keeps its own record of what
 * was sent, so that a shard which forgets what it used is found out.
 */
import { Flag, Intent } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { BudgetSchedule, DisruptionBudget } from '../../shard/ports/budgets.ts';
import type { ProviderCall } from '../../shard/ports/providers.ts';
import { Violation } from './invariants.ts';
import type { Process, SimulatedWorld } from './world.ts';

const SCOPE = {
  cluster: '',
  provider: 'simulated',
  zone: '',
  instanceType: '',
  capacityType: '',
  machine: '',
};
const WINDOW_MS = 120_000;
const MOST = 6;
const AT_A_TIME = 3;
const CLUSTER_AT_A_TIME = 1;
/** A window opens every four minutes, for two. */
const EVERY_MS = 240_000;
const OPEN_MS = 120_000;

const SCHEDULE: BudgetSchedule = {
  isOpenAt: (nowMs) => nowMs % EVERY_MS < OPEN_MS,
  closesMs: (nowMs) => (nowMs % EVERY_MS < OPEN_MS ? nowMs - (nowMs % EVERY_MS) + OPEN_MS : null),
  opensMs: (nowMs) => nowMs - (nowMs % EVERY_MS) + EVERY_MS,
};

/** Of the first provider alone: a hostile tenant, which has its own, must not use what others may. */
export const SIMULATED_BUDGETS: readonly DisruptionBudget[] = [
  {
    name: 'all',
    scope: SCOPE,
    perWindow: { most: { count: MOST }, windowMs: WINDOW_MS },
    atATime: { count: AT_A_TIME },
    schedule: SCHEDULE,
  },
  {
    name: 'first',
    scope: { ...SCOPE, cluster: 'cluster-0' },
    perWindow: null,
    atATime: { count: CLUSTER_AT_A_TIME },
    schedule: null,
  },
];

export class BudgetChecks {
  readonly #sentMs: number[] = [];
  /** Reclaimed machines of the provider, with their clusters. */
  readonly #sent = new Map<string, string>();
  /** H5: machines that people drain count, and no budget holds them. */
  readonly #byHand = new Set<string>();
  /** A clock that jumps moves windows. */
  #hasJumped = false;

  called(world: SimulatedWorld, process: Process, { kind, machineId, provider }: ProviderCall): void {
    this.#hasJumped ||= process.life.skewMs() !== 0;
    const { inventory, rails } = process.shard;
    if (rails.budgets.length === 0 || this.#hasJumped || provider !== 0 || kind !== 'drain') return;
    const slot = inventory.find(machineId);
    if (inventory.columns.intent[slot] !== Intent.Reclaim) return;
    const nowMs = world.time.nowMs();
    const cluster = inventory.tables.clusters.get(inventory.columns.cluster[slot]!);
    const draining = this.#draining(world);
    this.#sentMs.push(nowMs);
    this.#sent.set(machineId, cluster);
    if (this.#byHand.has(machineId)) return;
    const inWindow = this.#sentMs.filter((sentMs) => sentMs > nowMs - WINDOW_MS).length;
    if (inWindow > MOST)
      throw new Violation(`H9: the shard reclaims ${inWindow} machines in ${WINDOW_MS} ms; ${MOST} may go`);
    if (draining.length >= AT_A_TIME)
      throw new Violation(
        `H9: the shard reclaims ${machineId}, and ${draining.length} machines drain already`,
      );
    if (cluster === 'cluster-0' && draining.some((id) => this.#sent.get(id) === cluster && id !== machineId))
      throw new Violation(
        `H9: the shard reclaims ${machineId}, and another machine of ${cluster} drains already`,
      );
  }

  /** A cycle decides no reclaim outside of the windows. A call may leave a moment after a window has closed. */
  checkAction({ shard, life }: Process, slot: number): void {
    const { inventory, rails } = shard;
    const { intent, provider } = inventory.columns;
    const id = inventory.idOf(slot);
    if (inventory.hasFlag(slot, Flag.Leaving)) this.#byHand.add(id);
    else this.#byHand.delete(id);
    if (this.#byHand.has(id)) return;
    if (rails.budgets.length === 0 || SCHEDULE.isOpenAt(shard.cycle.lastAtMs)) return;
    if (intent[slot] === Intent.Reclaim && provider[slot] === 0 && life.skewMs() === 0)
      throw new Violation(`H9: the cycle reclaims ${inventory.idOf(slot)} while the budget is closed`);
  }

  /** By the provider: machines that the shard reclaimed and that still drain. */
  #draining({ links }: SimulatedWorld): string[] {
    const listed = links[0]!.provider.list();
    if (listed.kind !== 'ok') return [];
    return listed.value.machines
      .filter(({ id, state }) => state === MachineState.Draining && this.#sent.has(id))
      .map(({ id }) => id);
  }
}
