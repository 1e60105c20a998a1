/** Renders explanations for the API. */
import { formatQuantity } from '../../base/quantity.ts';
import type { MachineExplanation, Miss, NeedExplanation, NeedFacts } from '../../shard/ports/explain.ts';
import { byState, capacityTypeName, need, penalty, quantities, requirement, stateName } from './render.ts';
import type { ApiMachineInFull, ApiNeedExplanation } from './types.ts';

function needFacts(facts: NeedFacts): Record<string, unknown> {
  return {
    bars: facts.bars,
    matching: byState(facts.matching),
    free: facts.free,
    takenByOthers: facts.takenByOthers,
    inBackoff: facts.inBackoff,
    stuck: facts.stuck,
    holders: facts.holders.map(({ isUnclaimed, ...held }) => ({ ...held, claimed: !isUnclaimed })),
    preemptible: facts.preemptible,
    ownMachines: facts.ownMachines,
    drainingForIt: facts.drainingForIt,
    foldedAs: facts.foldedAs,
    domains: facts.domains.map((domain) => ({ ...domain, capacity: quantities(domain.capacity) })),
    nearest: facts.nearest.map(({ capacityType, machines, misses, ...kind }) => ({
      ...kind,
      capacityType: capacityTypeName(capacityType),
      machines: byState(machines),
      misses: misses.map(miss),
    })),
  };
}

function miss(of: Miss): Record<string, unknown> {
  if (of.kind === 'requirement') return { kind: of.kind, ...requirement(of), has: of.has };
  const { kind, dimension, wanted, has } = of;
  return {
    kind,
    dimension,
    wanted: formatQuantity(dimension, wanted),
    has: formatQuantity(dimension, has),
  };
}

export function needExplanation(
  { need: one, facts, sentences }: NeedExplanation,
  cycleIntervalMs: number,
): ApiNeedExplanation {
  return {
    need: need(one, cycleIntervalMs),
    sentences,
    machines: facts.machines.map(({ state, ...machine }) => ({ ...machine, state: stateName(state) })),
    foldedAs: facts.foldedAs,
    facts: needFacts(facts),
  };
}

export function machineInFull({ cycle, machine, facts, sentences }: MachineExplanation): ApiMachineInFull {
  const { assignment, action } = machine;
  return {
    cycle,
    machine: {
      id: machine.id,
      state: stateName(machine.state),
      stateSinceAtMs: machine.stateSinceMs,
      forMs: machine.forMs,
      provider: machine.provider,
      host: machine.host,
      instanceType: machine.instanceType,
      zone: machine.zone,
      capacityType: capacityTypeName(machine.capacityType),
      pricePerHourUsd: machine.pricePerHourUsd,
      interruptionProbability: machine.interruptionProbability,
      capacity: quantities(machine.capacity),
      labels: machine.labels,
      clusterId: machine.cluster,
      assignment:
        assignment === null
          ? null
          : {
              fingerprint: assignment.fingerprint,
              group: assignment.group,
              priority: assignment.priority,
              interruptionPenalty: penalty(assignment.interruptionPenalty),
              reclamationPenalty: penalty(assignment.reclamationPenalty),
            },
      lastError: machine.lastError,
      stuck: machine.isStuck,
      backoff: machine.backoff,
      offeringBackoff: machine.offeringBackoff,
      action: action === null ? null : { kind: action.kind, step: action.step, sinceAtMs: action.sinceMs },
    },
    sentences,
    facts: {
      claim: facts.claim,
      drainsFor: facts.drainsFor,
      order: facts.order,
      stays: facts.stays,
      couldServe: facts.couldServe,
    },
  };
}
