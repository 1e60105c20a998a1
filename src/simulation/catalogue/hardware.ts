/**
 * Machine types of the realistic catalogue, with their zones, capacity types and prices. The figures are
 * invented, but their proportions are realistic: a training machine costs two hundred times a small one, spot
 * costs a third of on-demand and is sometimes interrupted, and bare metal comes in racks.
 */
import { CapacityType } from '../../machine/capacity-type.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';

export const ZONES = ['eu-north-1a', 'eu-north-1b', 'eu-north-1c'] as const;
export const REGION = 'eu-north-1';

/** A rack has forty one-unit servers and their switches. */
export const RACK_MACHINES_MAX = 40;

export const INSTANCE_TYPE_KEY = 'node.kubernetes.io/instance-type';
export const ZONE_KEY = 'topology.kubernetes.io/zone';
export const RACK_KEY = 'topology.kubernetes.io/rack';
export const CAPACITY_TYPE_KEY = 'fleet.example.com/capacity-type';
export const FAMILY_KEY = 'fleet.example.com/family';
export const ACCELERATOR_KEY = 'fleet.example.com/accelerator';
export const NETWORK_KEY = 'fleet.example.com/network';

/** One capacity type of a machine type. */
export interface Offer {
  readonly capacityType: CapacityType;
  readonly pricePerHourUsd: number;
  /** Per hour. */
  readonly interruptionProbability: number;
  /** Relative share of the type's machines. */
  readonly weight: number;
}

export interface MachineType {
  readonly name: string;
  readonly family: string;
  /** cpu in milli, memory and storage in KiB, the rest in milli. */
  readonly capacity: ResourceAmounts;
  /** The dimension that fills first on this type. */
  readonly scarce: string;
  /** Numbers of equal parts into which small gangs divide the scarce dimension. */
  readonly gangsPerMachine: readonly number[];
  readonly offers: readonly Offer[];
  readonly labels: Readonly<Record<string, string>>;
}

const GIB = 1024 * 1024; // KiB

const cores = (count: number) => count * 1_000;
const gibibytes = (count: number) => count * GIB;
const devices = (count: number) => count * 1_000;

const bareMetal = (pricePerHourUsd: number, weight: number): Offer => ({
  capacityType: CapacityType.BareMetal,
  pricePerHourUsd,
  interruptionProbability: 0,
  weight,
});
const reserved = (pricePerHourUsd: number, weight: number): Offer => ({
  capacityType: CapacityType.Reserved,
  pricePerHourUsd,
  interruptionProbability: 0,
  weight,
});
const onDemand = (pricePerHourUsd: number, weight: number): Offer => ({
  capacityType: CapacityType.OnDemand,
  pricePerHourUsd,
  interruptionProbability: 0.0005,
  weight,
});
const spot = (pricePerHourUsd: number, interruptionProbability: number, weight: number): Offer => ({
  capacityType: CapacityType.Spot,
  pricePerHourUsd,
  interruptionProbability,
  weight,
});

function gpuType(
  name: string,
  cpu: number,
  memoryGib: number,
  gpus: number,
  offers: readonly Offer[],
): MachineType {
  return {
    name,
    family: 'gpu',
    capacity: { cpu: cores(cpu), memory: gibibytes(memoryGib), 'nvidia.com/gpu': devices(gpus) },
    scarce: 'nvidia.com/gpu',
    gangsPerMachine: [2, 4, 8].filter((parts) => gpus % parts === 0),
    offers,
    labels: {
      [ACCELERATOR_KEY]: gpus === 8 ? 'hopper' : 'lovelace',
      [NETWORK_KEY]: gpus === 8 ? 'rdma' : 'ethernet',
    },
  };
}

function plainType(
  name: string,
  family: string,
  cpu: number,
  memoryGib: number,
  storageGib: number,
  offers: readonly Offer[],
): MachineType {
  return {
    name,
    family,
    capacity: { cpu: cores(cpu), memory: gibibytes(memoryGib), 'ephemeral-storage': gibibytes(storageGib) },
    scarce: family === 'memory' ? 'memory' : 'cpu',
    gangsPerMachine: [2, 4, 8],
    offers,
    labels: { [NETWORK_KEY]: cpu >= 48 ? 'ethernet-100g' : 'ethernet-25g' },
  };
}

export const MACHINE_TYPES: readonly MachineType[] = [
  gpuType('gpu-train-8', 192, 2_048, 8, [bareMetal(38.5, 6), reserved(55.2, 3), onDemand(98.3, 1)]),
  gpuType('gpu-infer-1', 16, 64, 1, [reserved(0.74, 3), onDemand(1.21, 4), spot(0.42, 0.08, 3)]),
  gpuType('gpu-infer-4', 64, 256, 4, [reserved(2.9, 4), onDemand(4.8, 4), spot(1.65, 0.08, 2)]),
  plainType('cpu-batch-32', 'compute', 32, 64, 400, [
    reserved(0.92, 1),
    onDemand(1.42, 3),
    spot(0.49, 0.05, 6),
  ]),
  plainType('cpu-batch-64', 'compute', 64, 128, 800, [
    reserved(1.83, 1),
    onDemand(2.84, 3),
    spot(0.97, 0.06, 6),
  ]),
  plainType('cpu-service-16', 'general', 16, 64, 200, [
    reserved(0.5, 5),
    onDemand(0.81, 4),
    spot(0.29, 0.04, 1),
  ]),
  plainType('cpu-service-32', 'general', 32, 128, 400, [
    reserved(1.0, 5),
    onDemand(1.62, 4),
    spot(0.58, 0.04, 1),
  ]),
  plainType('mem-db-32', 'memory', 32, 512, 1_600, [bareMetal(1.9, 4), reserved(2.6, 5), onDemand(4.1, 1)]),
  plainType('mem-db-64', 'memory', 64, 1_024, 3_200, [bareMetal(3.7, 4), reserved(5.2, 5), onDemand(8.2, 1)]),
  plainType('realtime-48', 'realtime', 48, 192, 800, [bareMetal(1.6, 8), reserved(2.4, 2)]),
];

/** Prices differ a little between zones. */
export const ZONE_PRICE_FACTORS: readonly number[] = [1, 1.03, 0.98];
