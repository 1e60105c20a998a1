/**
 * Answers a question on a copy (Y4): restores the tables, changes them, and lets cycles decide and actions end in virtual time, until
 * nothing more happens. It needs no thread, so tests call it directly; a shard runs it in a worker (workers/what-if.ts).
 *
 * Cycles run as in a shard (C1): an ordinary one every interval, a woken one when a machine becomes available. After a cycle a large
 * shard rests for as long as the cycle took; here the rest is in proportion to the fleet, so that an answer can be repeated.
 */
import { Engine } from '../../decision/engine.ts';
import { restoreInventory } from '../../inventory/image.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { CapacityType, isReleasable } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import { NeedTable } from '../../needs/need-table.ts';
import { barredSet, keyOf } from '../check/derive.ts';
import { PreemptionCap } from '../cycle/preemption-cap.ts';
import { applyRails, restraintOf } from '../cycle/rails.ts';
import { Tenants } from '../tenants.ts';
import { type ChangedMachines, changeDemand, changeMachines, groupsAdded } from './changes.ts';
import { Effects } from './effects.ts';
import type { WhatIfImage } from './image.ts';
import { type FleetSums, fleetSums } from './sums.ts';

/** Clusters that roll-up files may bring. */
const CLUSTERS_ADDED_MAX = 1_000;
/** Cluster refs are u16. */
const CLUSTERS_MAX = 65_535;
const GROUPS_SPARE = 16_384;
/** A7: a gang is parked after eight ordinary cycles; then others may take what was kept for it. */
const QUIET_CYCLES = 10;
const VIRTUAL_MS_MAX = 6 * 3_600_000;
const CYCLES_MAX = 20_000;
/** With much to decide, a cycle of a shard with 500,000 machines takes one to two seconds, and a second of rest follows. */
const MACHINES_PER_REST_MS = 200;
const REST_MS_MAX = 3_000;

/** Nothing fails, so nothing is on probation. */
/** H9: a copy does not know what the disruption budgets have used, so they hold nothing in it. */
const NO_BUDGETS = { take: () => true, giveBack: () => {} };
const NO_PROBATION = { begin: () => {}, admits: () => true };

export interface RunState {
  readonly phase: 'restoring' | 'deciding' | 'running';
  readonly virtualMs: number;
  readonly cycles: number;
  readonly actions: number;
  readonly inFlight: number;
  readonly unmetNeeds: number;
}

/** The copy, at rest. */
export interface RestedCopy {
  readonly inventory: Inventory;
  readonly engine: Engine;
  readonly effects: Effects;
  readonly machines: ChangedMachines;
  /** Before the change. */
  readonly before: FleetSums;
  readonly beganMs: number;
  readonly cycles: number;
  readonly isAtRest: boolean;
}

const RESTORING: RunState = {
  phase: 'restoring',
  virtualMs: 0,
  cycles: 0,
  actions: 0,
  inFlight: 0,
  unmetNeeds: 0,
};

/** Yields after each step that takes long. Throws a ShardError for a plan that cannot be applied. */
export function* runToRest(image: WhatIfImage): Generator<RunState, RestedCopy> {
  yield RESTORING;
  const world = new CopiedWorld(image);
  yield { ...RESTORING, phase: 'deciding' };
  world.decide(true);
  yield world.state();
  while (world.goesOn) {
    world.step();
    if (world.hasDecided) yield world.state();
  }
  return world.rested();
}

class CopiedWorld {
  hasDecided = false;
  readonly #image: WhatIfImage;
  readonly #inventory: Inventory;
  readonly #engine: Engine;
  readonly #effects: Effects;
  readonly #cap: PreemptionCap;
  readonly #machines: ChangedMachines;
  readonly #before: FleetSums;
  readonly #beganMs: number;
  readonly #restMs: number;
  readonly #neverDelete: ReadonlySet<number>;
  #nowMs: number;
  #cycles = 0;
  #nextOrdinaryMs: number;
  #restUntilMs: number;
  #wokenMs = Number.POSITIVE_INFINITY;
  #quietCycles = 0;
  #isAtRest = false;

  constructor(image: WhatIfImage) {
    const { plan, inputs, memory } = image;
    const { settings, latencies } = plan;
    this.#image = image;
    this.#nowMs = this.#beganMs = inputs.nowMs;
    this.#before = fleetSums(image.inventory.columns);
    const { columns: before } = image.inventory;
    this.#machines = changeMachines(before, plan);
    const { columns } = this.#machines;
    const spare = groupsAdded(plan, image.needs.count);
    const clusterRoom = Math.min(
      CLUSTERS_ADDED_MAX,
      CLUSTERS_MAX - image.inventory.clusters.addresses.length,
    );
    const room = { clusters: Math.max(0, clusterRoom), groups: GROUPS_SPARE + spare };
    const inventory = restoreInventory({ ...image.inventory, columns }, room);
    const { clusters, fingerprints, groups } = inventory.tables;
    const { vectors } = inventory.shapes;
    const needs = NeedTable.restore(image.needs, {
      clusters,
      fingerprints,
      groups,
      vectors,
      quarantine: false,
    });
    changeDemand(plan, inventory, needs, this.#nowMs);
    const asked = new Set(plan.rollups.map(({ cluster }) => clusters.find(cluster)));
    const barred = barredSet(inputs.barred);
    this.#inventory = inventory;
    this.#engine = new Engine({
      inventory,
      needs,
      // A cluster whose demand the question brings is meant to have an operator.
      hasSession: (cluster) => inputs.sessions[cluster] === 1 || asked.has(cluster),
      inBackoff: (cluster, fingerprint, group) =>
        barred.size > 0 && barred.has(keyOf(cluster, fingerprint, group)),
      limits: new Tenants(clusters, settings.tenants, settings.ceilings),
      isPaused: (cluster) => inputs.paused[cluster] === 1,
      isSuspended: (cluster) => inputs.suspended[cluster] === 1,
      holds: { onDemandMs: settings.idleHoldOnDemandMs, spotMs: settings.idleHoldSpotMs },
      ...(settings.preemptionWeights === null ? {} : { weights: settings.preemptionWeights }),
      placement: settings.placement,
      ...(inputs.coarseValuesMax === null ? {} : { coarseValuesMax: inputs.coarseValuesMax }),
    });
    this.#engine.recall(withoutGone(memory, columns.state));
    const { executeConcurrency: concurrency, cycleIntervalMs } = settings;
    this.#effects = new Effects({ inventory, engine: this.#engine, latencies, concurrency, cycleIntervalMs });
    this.#effects.adopt(this.#nowMs);
    this.#cap = new PreemptionCap({
      clusters,
      intervalMs: cycleIntervalMs,
      configuredOf: (cluster) => this.#engine.configuredCount(cluster),
    });
    this.#neverDelete = new Set(plan.neverDelete);
    this.#restMs = Math.min(REST_MS_MAX, Math.floor(inventory.count / MACHINES_PER_REST_MS));
    this.#nextOrdinaryMs = this.#nowMs + cycleIntervalMs;
    this.#restUntilMs = this.#nowMs;
  }

  get goesOn(): boolean {
    if (this.#isAtRest) return false;
    return this.#nowMs - this.#beganMs < VIRTUAL_MS_MAX && this.#cycles < CYCLES_MAX;
  }

  /** To the next moment at which something happens. */
  step(): void {
    this.hasDecided = false;
    this.#nowMs = Math.min(this.#effects.nextMs, this.#nextOrdinaryMs, this.#wokenMs);
    const isOrdinary = this.#nowMs >= this.#nextOrdinaryMs;
    if (this.#effects.advance(this.#nowMs, isOrdinary)) this.#wake();
    if (isOrdinary) {
      this.#nextOrdinaryMs += this.#image.plan.settings.cycleIntervalMs;
      this.#countQuiet(this.decide(true));
    } else if (this.#nowMs >= this.#wokenMs) this.decide(false);
  }

  /** One cycle. Returns how many actions the rails admitted or left for later. */
  decide(isOrdinary: boolean): number {
    const { settings } = this.#image.plan;
    const { inputs } = this.#image;
    const engine = this.#engine;
    const input = { nowMs: this.#nowMs, isOrdinary, areCountsHeld: inputs.areCountsHeld ?? false };
    this.hasDecided = true;
    this.#wokenMs = Number.POSITIVE_INFINITY;
    if (this.#cycles++ === 0) engine.decideFromScratch(input);
    else engine.decide(input);
    this.#restUntilMs = this.#nowMs + this.#restMs;
    if (restraintOf(settings) !== 'none') {
      this.#effects.withdrawAll();
      return 0;
    }
    this.#cap.begin(this.#nowMs, settings.preemptionCapFraction);
    const { admitted, capped, preemptionsCapped, deferred } = applyRails(
      engine.actions,
      settings,
      this.#inventory,
      (cluster) => engine.configuredCount(cluster),
      this.#neverDelete,
      this.#cap,
      NO_PROBATION,
      NO_BUDGETS,
    );
    const isWithdrawn = this.#effects.offer(engine.actions, admitted);
    if (isWithdrawn || deferred > 0) this.#wake();
    this.#effects.begin(this.#nowMs);
    return admitted.length + capped + preemptionsCapped + deferred;
  }

  state(): RunState {
    return {
      phase: 'running',
      virtualMs: this.#nowMs - this.#beganMs,
      cycles: this.#cycles,
      actions: this.#effects.beganCount,
      inFlight: this.#effects.inFlight,
      unmetNeeds: this.#engine.unmetCount,
    };
  }

  rested(): RestedCopy {
    return {
      inventory: this.#inventory,
      engine: this.#engine,
      effects: this.#effects,
      machines: this.#machines,
      before: this.#before,
      beganMs: this.#beganMs,
      cycles: this.#cycles,
      isAtRest: this.#isAtRest,
    };
  }

  #wake(): void {
    this.#wokenMs = Math.min(this.#wokenMs, Math.max(this.#nowMs, this.#restUntilMs));
  }

  /** Nothing is under way and cycles decide nothing: only holds of Idle machines (R3) can still end. */
  #countQuiet(decided: number): void {
    this.#quietCycles = decided > 0 || this.#effects.inFlight > 0 ? 0 : this.#quietCycles + 1;
    if (this.#quietCycles < QUIET_CYCLES) return;
    const releaseMs = this.#nextReleaseMs();
    if (releaseMs === Number.POSITIVE_INFINITY) {
      this.#isAtRest = true;
      return;
    }
    const { cycleIntervalMs } = this.#image.plan.settings;
    while (this.#nextOrdinaryMs < releaseMs) this.#nextOrdinaryMs += cycleIntervalMs;
    this.#quietCycles = QUIET_CYCLES - 1;
  }

  /** When the next hold ends; infinite: none. */
  #nextReleaseMs(): number {
    const { columns } = this.#inventory;
    const { idleHoldOnDemandMs, idleHoldSpotMs } = this.#image.plan.settings;
    let next = Number.POSITIVE_INFINITY;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const capacityType = columns.capacityType[slot]!;
      if (columns.state[slot] !== MachineState.Idle || !isReleasable(capacityType)) continue;
      if (this.#inventory.hasFlag(slot, Flag.NotReleased) || this.#neverDelete.has(columns.provider[slot]!))
        continue;
      const holdMs = capacityType === CapacityType.OnDemand ? idleHoldOnDemandMs : idleHoldSpotMs;
      const atMs = columns.stateSinceMsOf(slot) + holdMs + 1;
      if (atMs > this.#nowMs && atMs < next) next = atMs;
    }
    return next;
  }
}

/** Drains of machines that are gone are over. */
function withoutGone(memory: WhatIfImage['memory'], state: Uint8Array): WhatIfImage['memory'] {
  const { drains } = memory;
  const kept = [...drains.slot.keys()].filter((index) => state[drains.slot[index]!] !== 0);
  const only = (column: Uint32Array) => Uint32Array.from(kept, (index) => column[index]!);
  return {
    ...memory,
    drains: {
      slot: only(drains.slot),
      cluster: only(drains.cluster),
      fingerprint: only(drains.fingerprint),
      group: only(drains.group),
    },
  };
}
