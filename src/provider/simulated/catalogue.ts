/**
 * What a simulated provider sells. `realistic` has the proportions of a mixed fleet: ten machine types in
 * three zones and racks of forty, a training machine at two hundred times the price of a small one, spot at
 * a third of on-demand. `small` is one type in one zone, for reading by eye.
 */
import { CapacityType } from '../../machine/capacity-type.ts';
import type { StringMap } from './kinds.ts';

/** How one machine type can be had. */
export interface Offer {
  readonly capacityType: CapacityType;
  readonly pricePerHourUsd: number;
  /** Per hour. */
  readonly interruptionProbability: number;
  /** Share among the type's racks. */
  readonly weight: number;
}

export interface MachineType {
  readonly name: string;
  /** Share among all racks. */
  readonly weight: number;
  readonly resources: StringMap;
  /** null: not told by this provider. */
  readonly allocatable: StringMap | null;
  readonly labels: StringMap;
  /** Of the work that such machines usually do; for machines that begin bound to a cluster. */
  readonly priority: number;
  readonly penaltyUsd: number;
  readonly offers: readonly Offer[];
}

export interface Catalogue {
  readonly region: string;
  /** Name and price factor: zones differ a little in price. */
  readonly zones: readonly (readonly [name: string, priceFactor: number])[];
  readonly types: readonly MachineType[];
}

/** Machines a rack holds: forty one-unit servers with their switches. */
export const RACK_MACHINES_MAX = 40;

export const RACK_KEY = 'topology.kubernetes.io/rack';
const ACCELERATOR_KEY = 'fleet.example.com/accelerator';
const FAMILY_KEY = 'fleet.example.com/family';
const NETWORK_KEY = 'fleet.example.com/network';

const offer = (
  capacityType: CapacityType,
  pricePerHourUsd: number,
  weight: number,
  interruptionProbability = 0,
): Offer => ({ capacityType, pricePerHourUsd, weight, interruptionProbability });

const bareMetal = (price: number, weight: number) => offer(CapacityType.BareMetal, price, weight);
const reserved = (price: number, weight: number) => offer(CapacityType.Reserved, price, weight);
const onDemand = (price: number, weight: number) => offer(CapacityType.OnDemand, price, weight, 0.0005);
const spot = (price: number, weight: number, interruptionProbability: number) =>
  offer(CapacityType.Spot, price, weight, interruptionProbability);

/** What the node's own daemons keep for themselves: one core and 4 GiB. */
function sized(
  cpu: number,
  memoryGib: number,
  rest: StringMap,
): Pick<MachineType, 'resources' | 'allocatable'> {
  return {
    resources: { cpu: `${cpu}`, memory: `${memoryGib}Gi`, ...rest },
    allocatable: { cpu: `${cpu - 1}`, memory: `${memoryGib - 4}Gi`, ...rest },
  };
}

const gpu = (count: number): StringMap => ({ 'nvidia.com/gpu': `${count}` });
const disk = (gib: number): StringMap => ({ 'ephemeral-storage': `${gib}Gi` });

const GPU_LARGE = { [FAMILY_KEY]: 'gpu', [ACCELERATOR_KEY]: 'hopper', [NETWORK_KEY]: 'rdma' };
const GPU_SMALL = { [FAMILY_KEY]: 'gpu', [ACCELERATOR_KEY]: 'lovelace', [NETWORK_KEY]: 'ethernet' };
const family = (name: string, network: string) => ({ [FAMILY_KEY]: name, [NETWORK_KEY]: network });

const type = (
  name: string,
  weight: number,
  size: Pick<MachineType, 'resources' | 'allocatable'>,
  labels: StringMap,
  work: readonly [priority: number, penaltyUsd: number],
  offers: readonly Offer[],
): MachineType => ({ name, weight, ...size, labels, priority: work[0], penaltyUsd: work[1], offers });

const REALISTIC: Catalogue = {
  region: 'eu-north-1',
  zones: [
    ['eu-north-1a', 1],
    ['eu-north-1b', 1.03],
    ['eu-north-1c', 0.98],
  ],
  types: [
    type(
      'gpu-train-8',
      12,
      sized(192, 2_048, gpu(8)),
      GPU_LARGE,
      [1_000, 8_192],
      [bareMetal(38.5, 6), reserved(55.2, 3), onDemand(98.3, 1)],
    ),
    type(
      'gpu-infer-1',
      8,
      sized(16, 64, gpu(1)),
      GPU_SMALL,
      [1_000, 512],
      [reserved(0.74, 3), onDemand(1.21, 4), spot(0.42, 3, 0.08)],
    ),
    type(
      'gpu-infer-4',
      6,
      sized(64, 256, gpu(4)),
      GPU_SMALL,
      [1_000, 1_024],
      [reserved(2.9, 4), onDemand(4.8, 4), spot(1.65, 2, 0.08)],
    ),
    type(
      'cpu-batch-32',
      16,
      sized(32, 64, disk(400)),
      family('compute', 'ethernet-25g'),
      [100, 64],
      [reserved(0.92, 1), onDemand(1.42, 3), spot(0.49, 6, 0.05)],
    ),
    type(
      'cpu-batch-64',
      12,
      sized(64, 128, disk(800)),
      family('compute', 'ethernet-100g'),
      [100, 128],
      [reserved(1.83, 1), onDemand(2.84, 3), spot(0.97, 6, 0.06)],
    ),
    type(
      'cpu-service-16',
      16,
      sized(16, 64, disk(200)),
      family('general', 'ethernet-25g'),
      [1_000, 512],
      [reserved(0.5, 5), onDemand(0.81, 4), spot(0.29, 1, 0.04)],
    ),
    type(
      'cpu-service-32',
      14,
      sized(32, 128, disk(400)),
      family('general', 'ethernet-25g'),
      [1_000, 2_048],
      [reserved(1.0, 5), onDemand(1.62, 4), spot(0.58, 1, 0.04)],
    ),
    type(
      'mem-db-32',
      6,
      sized(32, 512, disk(1_600)),
      family('memory', 'ethernet-25g'),
      [1_000, 16_384],
      [bareMetal(1.9, 4), reserved(2.6, 5), onDemand(4.1, 1)],
    ),
    type(
      'mem-db-64',
      4,
      sized(64, 1_024, disk(3_200)),
      family('memory', 'ethernet-100g'),
      [1_000, 65_536],
      [bareMetal(3.7, 4), reserved(5.2, 5), onDemand(8.2, 1)],
    ),
    type(
      'realtime-48',
      6,
      sized(48, 192, disk(800)),
      family('realtime', 'ethernet-100g'),
      [1_000_000, 65_536],
      [bareMetal(1.6, 8), reserved(2.4, 2)],
    ),
  ],
};

const SMALL: Catalogue = {
  region: 'local',
  zones: [['local-a', 1]],
  types: [
    {
      name: 'small-4',
      weight: 1,
      resources: { cpu: '4', memory: '16Gi' },
      allocatable: null,
      labels: {},
      priority: 100,
      penaltyUsd: 64,
      offers: [onDemand(0.2, 1)],
    },
  ],
};

export const CATALOGUES: Readonly<Record<string, Catalogue>> = { realistic: REALISTIC, small: SMALL };
