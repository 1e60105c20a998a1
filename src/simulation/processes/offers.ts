/** Offers of the catalogue, all Speculative, of the kinds that the simulated clusters of the same seed ask for. */
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import type { CapacityTypeName, Offer } from '../../provider-kit/cloud.ts';
import { REALISTIC } from '../catalogue/catalogue.ts';
import { generateMachines } from '../provider/generate.ts';

export interface ProcessPlan {
  readonly machineCount: number;
  readonly clusterCount: number;
  readonly seed: number;
}

export function processOffers(plan: ProcessPlan): Offer[] {
  const machines = generateMachines(REALISTIC, { ...plan, configuredShare: 0, idleShare: 0 });
  return Array.from(machines, ({ id, kind, pricePerHourUsd, interruptionProbability }) => ({
    id,
    instanceType: kind.instanceType,
    zone: kind.zone,
    capacityType: CAPACITY_TYPE_NAMES[kind.capacityType] as CapacityTypeName,
    pricePerHourUsd,
    interruptionProbability,
    resources: kind.resources,
    ...(kind.allocatable === null ? {} : { allocatable: kind.allocatable }),
    labels: kind.labels,
  }));
}
