/**
 * Small random worlds for judging decisions: few enough machines that a solver finds the best assignment, and drawn from wide
 * ranges, so that no rule can be tuned to them. Each kind makes one thing hard.
 *
 *   plain    plenty of machines, nothing bound
 *   spread   the same; every second need must spread over the zones
 *   gangs    the same; every second need must be in one rack
 *   scarce   the needs ask for more than there is
 *   bound    needs grew: a part of each is covered by machines that it has
 */
import type { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine, ResourceAmounts } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import {
  fingerprintOf,
  Operator,
  type Requirement,
  WhenUnsatisfiable,
} from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY } from '../../src/simulation/catalogue/hardware.ts';

export const KINDS = ['plain', 'spread', 'gangs', 'scarce', 'bound'] as const;
export type Kind = (typeof KINDS)[number];

export const MACHINES_MAX = 60;
export const NEEDS_MAX = 12;

const ZONES = ['zone-a', 'zone-b', 'zone-c'];
const RACKS_PER_ZONE = 2;
const CLUSTERS = ['red', 'green', 'blue'];
const PRIORITIES = [100, 1_000, 1_000_000];
/** Penalties from nothing to $64. */
const BUCKET_MAX = 9;
const GIB = 1024 * 1024; // KiB

/** What a capacity type costs of the list price, how often it is interrupted at most, and how many offerings are of it. */
const CAPACITY_TYPES = [
  { capacityType: CapacityType.BareMetal, factor: 0.55, interruptedMost: 0, weight: 1 },
  { capacityType: CapacityType.Reserved, factor: 0.6, interruptedMost: 0, weight: 1 },
  { capacityType: CapacityType.OnDemand, factor: 1, interruptedMost: 0.001, weight: 3 },
  { capacityType: CapacityType.Spot, factor: 0.35, interruptedMost: 0.15, weight: 3 },
] as const;
/** Most machines that are free are offers: committed ones are bound, and others are released soon (R3). */
const IDLE_SHARE = 0.15;

interface Type {
  readonly name: string;
  readonly capacity: ResourceAmounts;
  readonly pricePerHourUsd: number;
}

/** Machines of one type, zone and capacity type have one price, as in price lists. */
interface Offering {
  readonly type: Type;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly pricePerHourUsd: number;
  readonly interruptionProbability: number;
}

/** One need of a world: its row, and the cluster that sends it. */
export interface SmallNeed {
  readonly clusterId: string;
  readonly row: RollupRow;
  /** In units. */
  readonly aggregate: ResourceAmounts;
  readonly minUnit: ResourceAmounts;
}

export interface SmallWorld {
  readonly kind: Kind;
  readonly machines: Machine[];
  readonly needs: SmallNeed[];
}

export function drawWorld(kind: Kind, random: Random): SmallWorld {
  const types = Array.from({ length: random.between(2, 6) }, (_, index) => drawType(`type-${index}`, random));
  const offerings = Array.from({ length: random.between(5, 12) }, () => drawOffering(types, random));
  const machines = Array.from({ length: random.between(30, MACHINES_MAX) }, (_, index) =>
    drawMachine(`m-${index}`, random.pick(offerings), random),
  );
  const supply = machines.reduce((sum, { capacity }) => sum + capacity.cpu!, 0);
  const needCount = random.between(4, NEEDS_MAX);
  const demand = supply * (kind === 'scarce' ? 0.8 + 0.6 * random.unit() : 0.08 + 0.12 * random.unit());
  const shares = Array.from({ length: needCount }, () => 0.3 + random.unit());
  const all = shares.reduce((sum, share) => sum + share, 0);
  const needs = shares.map((share, index) => drawNeed(kind, (demand * share) / all, types, index, random));
  return { kind, needs, machines: kind === 'bound' ? bindSome(machines, needs, random) : machines };
}

function drawType(name: string, random: Random): Type {
  const cores = random.pick([2, 4, 8, 16, 32, 48, 64]);
  const gibibytes = cores * random.pick([1, 2, 4, 8]);
  const pricePerHourUsd = (0.035 * cores + 0.004 * gibibytes) * (0.7 + 0.7 * random.unit());
  return { name, capacity: { cpu: cores * 1_000, memory: gibibytes * GIB }, pricePerHourUsd };
}

function drawOffering(types: readonly Type[], random: Random): Offering {
  const type = random.pick(types);
  const kind = CAPACITY_TYPES[random.weighted(CAPACITY_TYPES.map(({ weight }) => weight))]!;
  const price = type.pricePerHourUsd * kind.factor * (0.9 + 0.2 * random.unit());
  return {
    type,
    zone: random.pick(ZONES),
    capacityType: kind.capacityType,
    pricePerHourUsd: Math.round(price * 1e4) / 1e4,
    interruptionProbability: Math.round(kind.interruptedMost * random.unit() * 1e3) / 1e3,
  };
}

function drawMachine(id: string, { type, zone, ...offered }: Offering, random: Random): Machine {
  const isIdle = random.chance(IDLE_SHARE);
  return {
    ...offered,
    id,
    state: isIdle ? MachineState.Idle : MachineState.Speculative,
    host: isIdle ? { provider: 'quality', ref: id } : null,
    instanceType: type.name,
    zone,
    capacity: type.capacity,
    labels: { [RACK_KEY]: `${zone}-${random.below(RACKS_PER_ZONE)}` },
    cluster: '',
    assignment: null,
    lastError: '',
  };
}

function drawNeed(
  kind: Kind,
  milliCpu: number,
  types: readonly Type[],
  index: number,
  random: Random,
): SmallNeed {
  const isConstrained = index % 2 === 0;
  const requirements: Requirement[] = [];
  const isGang = kind === 'gangs' && isConstrained;
  if (random.chance(0.3) && kind !== 'spread')
    requirements.push({ key: ZONE_KEY, operator: Operator.In, values: [random.pick(ZONES)] });
  if (random.chance(0.25)) {
    const names = random.shuffle(types.map(({ name }) => name)).slice(0, random.between(1, types.length));
    requirements.push({ key: INSTANCE_TYPE_KEY, operator: Operator.In, values: names });
  }
  if (isGang) requirements.push({ key: RACK_KEY, operator: Operator.Same, values: [] });
  const smallest = Math.min(...types.map(({ capacity }) => capacity.cpu!));
  const cpu = Math.max(1_000, Math.round(milliCpu / 500) * 500);
  const memory = Math.round(((cpu / 1_000) * random.pick([0.5, 1, 2, 4]) * GIB) / 1_024) * 1_024;
  const aggregate = random.chance(0.2) ? { cpu } : { cpu, memory };
  const minUnit = { cpu: Math.min(smallest, random.pick([500, 1_000, 2_000])) };
  const isSpread = kind === 'spread' && isConstrained;
  return {
    clusterId: random.pick(CLUSTERS),
    aggregate,
    minUnit,
    row: {
      requirements,
      aggregate: quantities(aggregate),
      minUnit: quantities(minUnit),
      priority: random.pick(PRIORITIES),
      spread: isSpread
        ? [
            {
              topologyKey: ZONE_KEY,
              maxSkew: random.between(1, 2),
              whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule,
            },
          ]
        : [],
      interruptionBucket: random.between(0, BUCKET_MAX),
      reclamationBucket: random.between(0, BUCKET_MAX),
      group: `need-${index}`,
    },
  };
}

/** Each need has some machines that match it already, and lacks the rest. */
function bindSome(machines: readonly Machine[], needs: readonly SmallNeed[], random: Random): Machine[] {
  return machines.map((machine) => {
    const need = random.chance(0.35)
      ? needs.find((one) => random.chance(0.3) && fits(machine, one))
      : undefined;
    if (need === undefined) return machine;
    const { row, clusterId } = need;
    const assignment = {
      fingerprint: fingerprintOf({
        requirements: row.requirements,
        spread: row.spread,
        priority: row.priority,
        interruptionPenalty: row.interruptionBucket,
        reclamationPenalty: row.reclamationBucket,
      }),
      group: row.group,
      priority: row.priority,
      interruptionPenalty: row.interruptionBucket,
      reclamationPenalty: row.reclamationBucket,
    };
    const host = { provider: 'quality', ref: machine.id };
    return { ...machine, state: MachineState.Configured, host, cluster: clusterId, assignment };
  });
}

/** Whether the machine meets the need's requirements and holds its min_unit. */
export function fits(machine: Machine, { row, minUnit }: SmallNeed): boolean {
  const attributes: Record<string, string> = {
    [ZONE_KEY]: machine.zone,
    [INSTANCE_TYPE_KEY]: machine.instanceType,
  };
  const isMet = ({ key, operator, values }: Requirement) =>
    operator === Operator.Same ? machine.labels[key] !== undefined : values.includes(attributes[key] ?? '');
  return row.requirements.every(isMet) && machine.capacity.cpu! >= minUnit.cpu!;
}

function quantities({ cpu, memory }: ResourceAmounts): Record<string, string> {
  return { cpu: `${cpu}m`, ...(memory === undefined ? {} : { memory: `${memory}Ki` }) };
}
