/**
 * Fills a provider from a catalogue: rack by rack, the same machines for the same seed. Machines that begin
 * bound carry what a shard would have written, so that one that starts against such a provider finds a
 * fleet at work. The keys are the shard's business: to the provider they are bytes.
 */
import { assert } from '../../base/assert.ts';
import { Random } from '../../base/random.ts';
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import { bucketOfDollars } from '../../machine/penalty.ts';
import { MachineState } from '../../machine/state.ts';
import { type Catalogue, type MachineType, type Offer, RACK_KEY, RACK_MACHINES_MAX } from './catalogue.ts';
import type { MachineKind, StringMap } from './kinds.ts';
import type { SeedMachine } from './machines.ts';

export interface FleetPlan {
  readonly machineCount: number;
  /** Shares of all machines that begin Configured and Idle; the rest are offers. */
  readonly configuredShare: number;
  readonly idleShare: number;
  /** Machines of one cluster, on average. */
  readonly machinesPerCluster: number;
  readonly seed: number;
}

export const DEFAULT_PLAN: FleetPlan = {
  machineCount: 1_000,
  configuredShare: 0,
  idleShare: 0.1,
  machinesPerCluster: 250,
  seed: 1,
};

interface Rack {
  readonly idPrefix: string;
  readonly kind: MachineKind;
  readonly type: MachineType;
  readonly offer: Offer;
  readonly pricePerHourUsd: number;
}

export function* generateMachines(catalogue: Catalogue, plan: FleetPlan): Generator<SeedMachine> {
  assert(plan.configuredShare + plan.idleShare <= 1, 'the shares of states add up to more than all');
  const random = new Random(plan.seed);
  const clusters = names('cluster-', 4, Math.max(1, Math.round(plan.machineCount / plan.machinesPerCluster)));
  const places = names('-', 2, RACK_MACHINES_MAX);
  const stamps = new Map<string, StringMap>();
  let rack = drawRack(catalogue, random, 0);
  for (let index = 0; index < plan.machineCount; index++) {
    const place = index % RACK_MACHINES_MAX;
    if (place === 0) rack = drawRack(catalogue, random, index / RACK_MACHINES_MAX);
    const draw = random.unit();
    const seed = {
      id: rack.idPrefix + places[place]!,
      kind: rack.kind,
      pricePerHourUsd: rack.pricePerHourUsd,
      interruptionProbability: rack.offer.interruptionProbability,
    };
    if (draw < plan.configuredShare) {
      const cluster = random.pick(clusters);
      yield { ...seed, state: MachineState.Configured, cluster, shardMetadata: stampOf(rack.type, stamps) };
    } else if (draw < plan.configuredShare + plan.idleShare) {
      yield { ...seed, state: MachineState.Idle };
    } else {
      yield seed;
    }
  }
}

function names(prefix: string, digits: number, count: number): string[] {
  return Array.from({ length: count }, (_, number) => prefix + String(number).padStart(digits, '0'));
}

function drawRack(catalogue: Catalogue, random: Random, number: number): Rack {
  const type = catalogue.types[random.weighted(catalogue.types.map(({ weight }) => weight))]!;
  const offer = type.offers[random.weighted(type.offers.map(({ weight }) => weight))]!;
  const [zone, priceFactor] = random.pick(catalogue.zones);
  const name = `${zone.slice(-1)}${String(number).padStart(5, '0')}`;
  const kind: MachineKind = {
    instanceType: type.name,
    zone,
    capacityType: offer.capacityType,
    resources: type.resources,
    allocatable: type.allocatable,
    labels: {
      'kubernetes.io/arch': 'amd64',
      'topology.kubernetes.io/region': catalogue.region,
      [RACK_KEY]: `rack-${name}`,
      'fleet.example.com/capacity-type': CAPACITY_TYPE_NAMES[offer.capacityType],
      ...type.labels,
    },
  };
  const pricePerHourUsd = offer.pricePerHourUsd * priceFactor;
  return { idPrefix: `${type.name}-${name}`, kind, type, offer, pricePerHourUsd };
}

const METADATA_PREFIX = 'bigfleet.lucy.sh/assigned-';

/** One object per type: half a million bound machines share a handful of them. */
function stampOf(type: MachineType, stamps: Map<string, StringMap>): StringMap {
  const known = stamps.get(type.name);
  if (known !== undefined) return known;
  const bucket = bucketOfDollars(type.penaltyUsd);
  const stamp = Object.freeze({
    [`${METADATA_PREFIX}priority`]: String(type.priority),
    [`${METADATA_PREFIX}interruption-penalty-dollars`]: String(type.penaltyUsd),
    [`${METADATA_PREFIX}reclamation-penalty-dollars`]: String(type.penaltyUsd),
    [`${METADATA_PREFIX}need-fingerprint`]: `p=${type.priority}|ipb=${bucket}|rpb=${bucket}|reqs=node.kubernetes.io/instance-type:1:${type.name};|spr=`,
    [`${METADATA_PREFIX}group`]: '',
  });
  stamps.set(type.name, stamp);
  return stamp;
}
