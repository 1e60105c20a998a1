/**
 * New demand on the realistic fleet: clusters that were not there before ask for a tenth of what is free. Each of their needs
 * names one machine type, so its cheapest cover is known without a solver: as many of the cheapest machines that match as it
 * takes, and for a gang that spans machines those of the cheapest rack. The sum of these covers is a bound that no decision can
 * reach where two needs want the same machine. Where Idle machines are paid for anyway, each need alone could have those, and
 * the bound is nothing: the ratio is taken on a fleet whose free machines are all offers.
 */
import { Random } from '../../src/base/random.ts';
import { ActionKind } from '../../src/decision/actions.ts';
import type { EngineOptions } from '../../src/decision/engine.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { fingerprintOf, matches, Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { PlannedNeed } from '../../src/simulation/catalogue/demand.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY } from '../../src/simulation/catalogue/hardware.ts';
import { assignmentOf, rowsOf } from '../../src/simulation/catalogue/rollup.ts';
import { MACHINES_PER_CLUSTER } from '../../src/simulation/catalogue/steady-demand.ts';
import { EngineFleet } from '../catalogue/engine-fleet.ts';
import { costUsd } from './objective.ts';

/** Share of the machines that are free which the new clusters ask for. */
const NEW_SHARE_OF_FREE = 0.1;

interface NewCluster {
  readonly id: string;
  readonly needs: readonly PlannedNeed[];
}

/** Of the needs that were met. */
export interface Bill {
  costUsd: number;
  boundUsd: number;
}

export interface NewDemandResult {
  /** A5 chooses the rack of a spanning gang, whatever it costs: its bill stands apart. */
  readonly spanning: Bill;
  readonly others: Bill;
  readonly needCount: number;
  readonly unmetCount: number;
}

export class NewDemand {
  readonly #steady: SteadyFleet;
  readonly #free: Machine[];
  readonly #clusters: NewCluster[];

  constructor(machineCount: number, seed: number, idleShareOfUnbound: number) {
    this.#steady = new SteadyFleet(machineCount, seed, { idleShareOfUnbound });
    this.#free = [...this.#steady.machines()].filter(({ cluster }) => cluster === '');
    const random = new Random(seed + 1);
    const { planCluster } = this.#steady.demand.catalogue.parts;
    const wanted = Math.max(1, Math.round(this.#free.length * NEW_SHARE_OF_FREE));
    const clusterCount = Math.ceil(wanted / MACHINES_PER_CLUSTER);
    this.#clusters = Array.from({ length: clusterCount }, (_, index) => {
      const id = `new-${index}`;
      return { id, needs: planCluster(random.fork(), id, Math.ceil(wanted / clusterCount)) };
    });
  }

  decide(options: Partial<EngineOptions>): NewDemandResult {
    const fleet = new EngineFleet(this.#steady.machineCount, options);
    for (const machine of this.#steady.machines()) fleet.insert(machine);
    for (const { clusterId, rows } of this.#steady.rollups()) fleet.rollUp(clusterId, rows);
    fleet.decide();
    fleet.nowMs += 1;
    for (const { id, needs } of this.#clusters) fleet.rollUp(id, needs.flatMap(rowsOf));
    fleet.decide();
    return this.#judge(fleet);
  }

  #judge(fleet: EngineFleet): NewDemandResult {
    const unmet = unmetOf(fleet);
    const bills = { spanning: { costUsd: 0, boundUsd: 0 }, others: { costUsd: 0, boundUsd: 0 } };
    const billOf = new Map<string, Bill>();
    let needCount = 0;
    let unmetCount = 0;
    for (const { id, needs } of this.#clusters) {
      for (const need of needs) {
        needCount++;
        const name = `${id} ${assignmentOf(need).fingerprint}`;
        if (unmet.has(name)) {
          unmetCount++;
          continue;
        }
        const bill = need.form === 'spanning' ? bills.spanning : bills.others;
        bill.boundUsd += this.#cheapestCoverUsd(need);
        billOf.set(name, bill);
      }
    }
    this.#addCosts(fleet, billOf);
    return { ...bills, needCount, unmetCount };
  }

  #addCosts(fleet: EngineFleet, billOf: ReadonlyMap<string, Bill>): void {
    const byId = new Map(this.#free.map((machine) => [machine.id, machine]));
    const { clusters, fingerprints } = fleet.inventory.tables;
    const { actions } = fleet.engine;
    for (let index = 0; index < actions.count; index++) {
      const kind = actions.kind[index]!;
      if (kind !== ActionKind.Bootstrap && kind !== ActionKind.Provision) continue;
      const clusterId = clusters.get(actions.cluster[index]!);
      const bill = billOf.get(`${clusterId} ${fingerprints.get(actions.fingerprint[index]!)}`);
      if (bill === undefined) continue;
      const machine = byId.get(fleet.inventory.idOf(actions.slot[index]!))!;
      bill.costUsd += costUsd(machine, actions.interruptionPenalty[index]!);
    }
  }

  #cheapestCoverUsd({ profile, form, places }: PlannedNeed): number {
    const costs = new Map<string, number[]>();
    for (const machine of this.#free) {
      if (!profile.requirements.every((requirement) => isMet(requirement, machine, form))) continue;
      const domain = form === 'spanning' ? machine.labels[RACK_KEY]! : '';
      const ofDomain = costs.get(domain) ?? [];
      ofDomain.push(costUsd(machine, profile.interruptionPenalty));
      costs.set(domain, ofDomain);
    }
    let best = Number.POSITIVE_INFINITY;
    for (const ofDomain of costs.values()) {
      if (ofDomain.length < places.length) continue;
      const cheapest = ofDomain.sort((a, b) => a - b).slice(0, places.length);
      best = Math.min(
        best,
        cheapest.reduce((sum, cost) => sum + cost, 0),
      );
    }
    return best === Number.POSITIVE_INFINITY ? 0 : best;
  }
}

/** A small gang is served by its fold, which has no Same requirement. */
function isMet(requirement: Requirement, machine: Machine, form: PlannedNeed['form']): boolean {
  if (form === 'small' && requirement.operator === Operator.Same) return true;
  const { key } = requirement;
  if (key === INSTANCE_TYPE_KEY) return matches(requirement, machine.instanceType);
  return matches(requirement, key === ZONE_KEY ? machine.zone : machine.labels[key]);
}

/** Cluster and fingerprint of needs that are not met, of gangs that folded under the fold's fingerprint too. */
function unmetOf(fleet: EngineFleet): Set<string> {
  const unmet = new Set<string>();
  const { clusters } = fleet.inventory.tables;
  for (const ref of fleet.needs.clusterRefs()) {
    const id = clusters.get(ref);
    if (!id.startsWith('new-')) continue;
    const start = fleet.needs.sliceStart(ref);
    fleet.engine.verdictsOf(ref, (row, { satisfied }) => {
      if (satisfied) return;
      const profile = fleet.needs.profiles.get(fleet.needs.profile[start + row]!);
      unmet.add(`${id} ${profile.fingerprint}`);
      const requirements = profile.requirements.filter(({ operator }) => operator !== Operator.Same);
      unmet.add(`${id} ${fingerprintOf({ ...profile, requirements })}`);
    });
  }
  return unmet;
}

export function isFree({ state }: Machine): boolean {
  return state === MachineState.Idle || state === MachineState.Speculative;
}
