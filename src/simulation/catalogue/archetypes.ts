/**
 * Six kinds of workload and the forms of their demand. Each form has a weight, because the same database
 * exists as a small pair and as a rack-wide cluster:
 *
 *   form       meaning
 *   plain      machines anywhere, no group
 *   small      a gang that fits one machine; a cluster has hundreds, and they fold
 *   spanning   a gang of several machines in one rack
 *
 * A cluster of 250 machines has about 388 rows, four fifths of them gangs smaller than a machine.
 */
import { CapacityType } from '../../machine/capacity-type.ts';
import { bucketOfDollars, type PenaltyBucket } from '../../machine/penalty.ts';

export interface Archetype {
  readonly name: string;
  readonly typeNames: readonly string[];
  readonly capacityTypes: readonly CapacityType[];
  readonly priority: number;
  /** Lowest and highest bucket; both penalties are drawn from this range. */
  readonly penalties: readonly [PenaltyBucket, PenaltyBucket];
  readonly weights: { readonly plain: number; readonly small: number; readonly spanning: number };
  /** Smallest and largest number of machines of a spanning gang. */
  readonly gangMachines: readonly [number, number];
  /** Share of the plain needs of several machines that must spread evenly over the zones. */
  readonly spreadShare: number;
}

const { BareMetal, Reserved, OnDemand, Spot } = CapacityType;

const dollars = (low: number, high: number) => [bucketOfDollars(low), bucketOfDollars(high)] as const;

export const ARCHETYPES: readonly Archetype[] = [
  {
    name: 'training',
    typeNames: ['gpu-train-8'],
    capacityTypes: [BareMetal, Reserved, OnDemand],
    priority: 1_000,
    penalties: dollars(2_048, 16_384),
    weights: { plain: 0, small: 1, spanning: 6 },
    gangMachines: [3, 8],
    spreadShare: 0,
  },
  {
    name: 'inference',
    typeNames: ['gpu-infer-1', 'gpu-infer-4'],
    capacityTypes: [Reserved, OnDemand, Spot],
    priority: 1_000,
    penalties: dollars(256, 2_048),
    weights: { plain: 3, small: 2, spanning: 0 },
    gangMachines: [3, 3],
    spreadShare: 0.3,
  },
  {
    name: 'batch',
    typeNames: ['cpu-batch-32', 'cpu-batch-64'],
    capacityTypes: [Reserved, OnDemand, Spot],
    priority: 100,
    penalties: dollars(64, 512),
    weights: { plain: 6, small: 8, spanning: 0 },
    gangMachines: [3, 3],
    spreadShare: 0,
  },
  {
    name: 'service',
    typeNames: ['cpu-service-16', 'cpu-service-32'],
    capacityTypes: [Reserved, OnDemand],
    priority: 1_000,
    penalties: dollars(512, 4_096),
    weights: { plain: 8, small: 5, spanning: 0 },
    gangMachines: [3, 3],
    spreadShare: 0.6,
  },
  {
    name: 'database',
    typeNames: ['mem-db-32', 'mem-db-64'],
    capacityTypes: [BareMetal, Reserved, OnDemand],
    priority: 1_000,
    penalties: dollars(4_096, 65_536),
    weights: { plain: 0, small: 3, spanning: 4 },
    gangMachines: [3, 5],
    spreadShare: 0,
  },
  {
    name: 'realtime',
    typeNames: ['realtime-48'],
    capacityTypes: [BareMetal, Reserved],
    priority: 1_000_000,
    penalties: dollars(16_384, 65_536),
    weights: { plain: 2, small: 1, spanning: 0 },
    gangMachines: [3, 3],
    spreadShare: 0.5,
  },
];
