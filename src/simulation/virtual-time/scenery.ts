/** Small random fleets and matching demand, with several types, zones, racks, prices, priorities and gangs. */
import type { Random } from '../../base/random.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import { Operator, type Requirement, WhenUnsatisfiable } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { MachineKind } from '../provider/kinds.ts';
import type { SeedMachine } from '../provider/machines.ts';

export const TYPE_KEY = 'node.kubernetes.io/instance-type';
export const ZONE_KEY = 'topology.kubernetes.io/zone';
export const RACK_KEY = 'example.com/rack';

/** Begins the name of a hostile tenant and each name that it invents, so that checks know it and find what remains of it. */
export const HOSTILE = 'hostile';

export function isHostile(name: string): boolean {
  return name.startsWith(HOSTILE);
}

export interface MachineType {
  readonly name: string;
  readonly cpu: number;
  readonly memoryGi: number;
}

export const TYPES: readonly MachineType[] = [
  { name: 'small', cpu: 4, memoryGi: 16 },
  { name: 'large', cpu: 16, memoryGi: 64 },
  { name: 'dense', cpu: 16, memoryGi: 256 },
];
const ZONES = ['a', 'b'] as const;
const CAPACITY_TYPES = [
  CapacityType.BareMetal,
  CapacityType.Reserved,
  CapacityType.OnDemand,
  CapacityType.Spot,
];
const PRIORITIES = [100, 1_000, 1_000_000] as const;
const BUCKETS = [0, 1, 4, 9, 20, 27] as const;

/** Machines of one kind share one object across histories, because kinds never change. */
const kinds = new Map<string, MachineKind>();

function kindOf(type: MachineType, zone: string, capacityType: number, rack: number): MachineKind {
  const key = `${type.name}/${zone}/${capacityType}/${rack}`;
  const known = kinds.get(key);
  if (known !== undefined) return known;
  const kind: MachineKind = {
    instanceType: type.name,
    zone,
    capacityType: capacityType as MachineKind['capacityType'],
    labels: { [RACK_KEY]: `${zone}-${rack}` },
    resources: { cpu: String(type.cpu), memory: `${type.memoryGi}Gi` },
    allocatable: null,
  };
  kinds.set(key, kind);
  return kind;
}

export function drawMachine(random: Random, id: string): SeedMachine {
  const type = random.pick(TYPES);
  const capacityType = random.pick(CAPACITY_TYPES);
  const kind = kindOf(type, random.pick(ZONES), capacityType, random.below(3));
  return {
    id,
    kind,
    pricePerHourUsd: type.cpu * (capacityType === CapacityType.Spot ? 0.01 : 0.03) * random.between(1, 3),
    interruptionProbability: capacityType === CapacityType.Spot ? random.between(0, 3) / 10 : 0,
    state: random.chance(0.4) ? MachineState.Idle : MachineState.Speculative,
  };
}

/** Few groups, so that some rows of a roll-up merge into one need, and needs come back. T4: one is too long for machines. */
const GROUPS = ['', 'g0', 'g1', 'g2', 'g3', 'g4', `g5${'/long'.repeat(60)}`] as const;
/** T4: a requirement that every machine meets and that makes a fingerprint too long for machines. */
const NOT_LONG: Requirement = {
  key: 'example.com/revision',
  operator: Operator.NotIn,
  values: ['r'.repeat(600)],
};

/**
 * A need for machines of one type, so that a number of machines covers it. Some are spread over zones, some are gangs in one
 * rack; gangs that fit one machine fold.
 */
export function drawRow(random: Random): RollupRow {
  const group = random.pick(GROUPS);
  const type = random.pick(TYPES);
  const form = random.weighted([6, 1, 2]);
  const count = form === 2 ? random.between(1, 3) : random.between(1, 4);
  const requirements: Requirement[] = [{ key: TYPE_KEY, operator: Operator.In, values: [type.name] }];
  if (type.name === 'dense') requirements.push(NOT_LONG);
  if (form === 2) requirements.push({ key: RACK_KEY, operator: Operator.Same, values: [] });
  else if (random.chance(0.2)) {
    requirements.push({ key: ZONE_KEY, operator: Operator.In, values: [random.pick(ZONES)] });
  }
  return {
    requirements,
    aggregate: { cpu: String(count * type.cpu), memory: `${count * type.memoryGi}Gi` },
    minUnit: { cpu: String(type.cpu), memory: `${type.memoryGi}Gi` },
    priority: random.pick(PRIORITIES),
    spread:
      form === 1
        ? [{ topologyKey: ZONE_KEY, maxSkew: 1, whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule }]
        : [],
    interruptionBucket: random.pick(BUCKETS),
    reclamationBucket: random.pick(BUCKETS),
    group,
  };
}

const BROKEN: readonly ((row: RollupRow) => RollupRow)[] = [
  (row) => ({ ...row, aggregate: { cpu: 'a lot' } }),
  (row) => ({ ...row, aggregate: { cpu: '-4' } }),
  (row) => ({ ...row, minUnit: { memory: '1e99' } }),
  (row) => ({ ...row, interruptionBucket: 99 }),
  (row) => ({ ...row, requirements: [{ key: '', operator: Operator.Exists, values: [] }] }),
  (row) => ({
    ...row,
    requirements: [{ key: ZONE_KEY, operator: 77 as Requirement['operator'], values: [] }],
  }),
];

/** V2: a shard must reject a whole roll-up for one invalid row. */
export function drawGarbage(random: Random): RollupRow[] {
  const rows = Array.from({ length: random.between(1, 4) }, () => drawRow(random));
  rows[random.below(rows.length)] = random.pick(BROKEN)(drawRow(random));
  return rows;
}
