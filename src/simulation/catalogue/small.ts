/** The small catalogue: one machine type in one zone, a batch and a service need per cluster. */
import type { Random } from '../../base/random.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { bucketOfDollars } from '../../machine/penalty.ts';
import { Operator } from '../../needs/requirements.ts';
import type { PlannedNeed } from './demand.ts';
import { INSTANCE_TYPE_KEY, type MachineType } from './hardware.ts';

export const SMALL_ZONES = ['local-a'] as const;

const CPU_MILLI = 4_000;
const MEMORY_KIB = 16 * 1024 ** 2;

export const SMALL_TYPE: MachineType = {
  name: 'small-4',
  family: 'general',
  capacity: { cpu: CPU_MILLI, memory: MEMORY_KIB },
  scarce: 'cpu',
  gangsPerMachine: [],
  offers: [
    { capacityType: CapacityType.OnDemand, pricePerHourUsd: 0.2, interruptionProbability: 0, weight: 1 },
  ],
  labels: {},
};

/** Three quarters of the machines for batch, the others for a service. */
export function planSmallCluster(_random: Random, _clusterId: string, machineCount: number): PlannedNeed[] {
  const batchCount = Math.ceil(machineCount * 0.75);
  return [planned(100, batchCount), planned(1_000, machineCount - batchCount)].filter(
    ({ places }) => places.length > 0,
  );
}

function planned(priority: number, machineCount: number): PlannedNeed {
  const penalty = bucketOfDollars(priority === 100 ? 64 : 512);
  return {
    form: 'plain',
    profile: {
      requirements: [{ key: INSTANCE_TYPE_KEY, operator: Operator.In, values: [SMALL_TYPE.name] }],
      spread: [],
      priority,
      interruptionPenalty: penalty,
      reclamationPenalty: penalty,
      capacityTypes: [CapacityType.OnDemand],
      zone: null,
    },
    aggregate: { cpu: CPU_MILLI * machineCount },
    minUnit: { cpu: CPU_MILLI / 2 },
    groups: [''],
    places: Array.from({ length: machineCount }, () => ({
      type: SMALL_TYPE,
      capacityType: CapacityType.OnDemand,
      zone: 0,
    })),
    gangsPerMachine: 1,
  };
}
