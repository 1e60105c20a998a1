/**
 * Needs as the shard serves them, in plain numbers. Every need of a simulation asks for machines of one type, so a number of
 * machines covers it, and each further machine is one too many.
 */
import { BARRED, Flag } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import { Operator, type Requirement } from '../../needs/requirements.ts';
import type { Shard } from '../../shard/shard.ts';
import { isHostile, RACK_KEY, TYPE_KEY, TYPES, ZONE_KEY } from './scenery.ts';

export interface ServedNeed {
  readonly key: string;
  readonly clusterId: string;
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  readonly priority: number;
  /** All its machines must share one rack. */
  readonly isGang: boolean;
  readonly isSpread: boolean;
  readonly type: string;
  /** null: any. */
  readonly zone: string | null;
  /** Number of machines that cover the need. */
  machinesWanted: number;
  /** The verdicts of its rows, combined. */
  isSatisfied: boolean;
  isParked: boolean;
  claimedReported: number;
  /** Slots that the shard claims for it … */
  readonly claimed: number[];
  /** … and leaving ones that stay for it (H5). */
  readonly held: number[];
}

export function needKey(name: { cluster: number; fingerprint: number; group: number }): string {
  return `${name.cluster}|${name.fingerprint}|${name.group}`;
}

/** The need of the machine's assignment. */
export function assignmentKey(shard: Shard, slot: number): string {
  const { cluster, need, group } = shard.inventory.columns;
  return needKey({ cluster: cluster[slot]!, fingerprint: need[slot]!, group: group[slot]! });
}

/** To be called right after a cycle. Without the needs of a hostile tenant, which ask for anything. */
export function servedNeeds(shard: Shard): Map<string, ServedNeed> {
  const { engine, needs, inventory } = shard;
  const served = new Map<string, ServedNeed>();
  for (const cluster of needs.clusterRefs()) {
    if (isHostile(inventory.tables.clusters.get(cluster))) continue;
    const start = needs.sliceStart(cluster);
    engine.verdictsOf(cluster, (row, verdict) => {
      const name = engine.servedAs(cluster, row);
      const key = needKey(name);
      const profile = needs.profiles.get(needs.profile[start + row]!);
      const need = served.get(key) ?? {
        key,
        clusterId: inventory.tables.clusters.get(cluster),
        ...name,
        priority: profile.priority,
        isGang: profile.sameKeys.length > 0 && name.fingerprint === profile.fingerprintRef,
        isSpread: profile.spread.length > 0,
        type: listedValue(profile.requirements, TYPE_KEY)!,
        zone: listedValue(profile.requirements, ZONE_KEY),
        machinesWanted: 0,
        isSatisfied: true,
        isParked: false,
        claimedReported: 0,
        claimed: [],
        held: [],
      };
      need.machinesWanted += machinesFor(shard, needs.aggregate[start + row]!, need.type);
      need.isSatisfied &&= verdict.satisfied;
      need.isParked ||= verdict.parked;
      need.claimedReported += verdict.claimed;
      served.set(key, need);
    });
  }
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    if (inventory.columns.state[slot] === 0) continue;
    const name = engine.claimOf(slot);
    const need = name === null ? undefined : served.get(needKey(name));
    (isLeaving(shard, slot) ? need?.held : need?.claimed)?.push(slot);
  }
  return served;
}

/** H5: marked as leaving and Configured, also if the cycle has just begun an action for it. */
export function isLeaving({ inventory }: Shard, slot: number): boolean {
  return inventory.columns.state[slot] === MachineState.Configured && inventory.hasFlag(slot, Flag.Leaving);
}

function listedValue(requirements: readonly Requirement[], wanted: string): string | null {
  const found = requirements.find(({ key, operator }) => key === wanted && operator === Operator.In);
  return found?.values[0] ?? null;
}

function machinesFor(shard: Shard, aggregate: number, typeName: string): number {
  const { vectors } = shard.inventory.shapes;
  const type = TYPES.find(({ name }) => name === typeName)!;
  const cpu = vectors.unitsOf(aggregate, vectors.dimensions.find('cpu'));
  return Math.ceil(cpu / (1000 * type.cpu));
}

export function rackOf(shard: Shard, slot: number): string {
  return shard.inventory.labelsOf(slot)[RACK_KEY] ?? '';
}

/** Whether the machine has the type and zone of the need and is not in back-off. */
export function isMatch(shard: Shard, slot: number, need: ServedNeed): boolean {
  const { columns, shapes } = shard.inventory;
  const shape = shapes.get(columns.shape[slot]!);
  if (shard.inventory.hasFlag(slot, BARRED)) return false;
  return shape.instanceType === need.type && (need.zone === null || shape.zone === need.zone);
}
