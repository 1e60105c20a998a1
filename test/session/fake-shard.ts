/** The shard as operators see it: the real need table and inventory, without cycles or providers. */
import { ManualClock } from '../../src/base/clock.ts';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { canBeBound, STATE_COUNT } from '../../src/machine/state.ts';
import { NeedTable, type RollupOutcome } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import type { NodeState, OperatorsPort, ShardForOperators } from '../../src/shard/ports/operators.ts';

export class FakeShard implements ShardForOperators {
  readonly epoch = 7;
  readonly clock = new ManualClock(1_000_000);
  readonly needs: NeedTable;
  readonly inventory: Inventory;
  readonly clusters: StringTable;
  readonly groups: StringTable;
  readonly opened: string[] = [];
  readonly closed: string[] = [];
  readonly answered: string[] = [];
  readonly rejections: string[] = [];
  readonly decodedRows: number[] = [];
  refusalText: string | null = null;
  /** Set once the server is up. */
  operators: OperatorsPort | null = null;

  constructor(machinesMax = 2_048) {
    const strings = (name: string, entriesMax: number) =>
      StringTable.create({ name, entriesMax, bytesMax: 256 * entriesMax });
    this.clusters = strings('clusters', 4_096);
    const fingerprints = strings('fingerprints', 8_192);
    this.groups = strings('groups', 262_144);
    const vectors = new VectorTable(new DimensionTable());
    const shared = { clusters: this.clusters, fingerprints, groups: this.groups, vectors };
    this.needs = new NeedTable(shared);
    this.inventory = new Inventory({ ...shared, machinesMax });
  }

  refusal(): string | null {
    return this.refusalText;
  }

  sessionOpened(clusterId: string): void {
    this.opened.push(clusterId);
  }

  sessionClosed(clusterId: string): void {
    this.closed.push(clusterId);
  }

  sessionAnswered(clusterId: string): void {
    this.answered.push(clusterId);
  }

  *acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome> {
    const counted = (index: number) => {
      this.decodedRows.push(index);
      return decodeRow(index);
    };
    const bound = this.boundSlots(clusterId).length;
    return yield* this.needs.acceptInSteps(clusterId, digests, counted, this.clock.nowMs(), bound);
  }

  rejectRollup(clusterId: string, why: string): void {
    this.rejections.push(why);
    this.needs.reject(clusterId);
  }

  boundSlots(clusterId: string): Uint32Array {
    const cluster = this.clusters.find(clusterId);
    if (cluster === 0) return new Uint32Array(0);
    const { indexes } = this.inventory;
    const slots: number[] = [];
    for (let state = 1; state < STATE_COUNT; state++) {
      const start = indexes.startOfCluster(cluster, state);
      const end = start + indexes.countOfCluster(cluster, state);
      for (let at = start; at < end; at++) slots.push(indexes.clusterSlots[at]!);
    }
    return Uint32Array.from(slots);
  }

  readNode(slot: number, clusterId: string): NodeState | null {
    if (this.inventory.columns.state[slot] === 0) return null;
    const machine = this.inventory.get(slot);
    return machine.cluster === clusterId && canBeBound(machine.state) ? nodeOf(machine, clusterId) : null;
  }

  /** Inserts or changes a machine, and notifies the operators as the shard does. */
  put(machine: Machine): number {
    const known = this.inventory.find(machine.id);
    const before = known === 0 ? '' : this.inventory.get(known).cluster;
    const nowMs = this.clock.nowMs();
    if (known === 0) this.inventory.insert(machine, 0, nowMs);
    else this.inventory.apply(known, machine, nowMs, { force: true });
    const slot = this.inventory.find(machine.id);
    if (before !== '' && before !== machine.cluster) this.operators?.nodeLeft(nodeOf(machine, before));
    if (machine.cluster !== '') this.operators?.nodeChanged(machine.cluster, slot, machine.id);
    return slot;
  }

  /** Groups of a cluster's needs, in their order. */
  groupsOf(clusterId: string): string[] {
    const cluster = this.clusters.find(clusterId);
    const start = this.needs.sliceStart(cluster);
    return Array.from({ length: this.needs.sliceCount(cluster) }, (_, position) =>
      this.groups.get(this.needs.group[start + position]!),
    );
  }

  rejectedOf(clusterId: string): number {
    return this.needs.rejectedRollups(this.clusters.find(clusterId));
  }
}

function nodeOf(machine: Machine, clusterId: string): NodeState {
  return {
    machineId: machine.id,
    clusterId,
    state: machine.state,
    nodeName: machine.id,
    providerId: machine.host?.ref ?? '',
    lastError: machine.lastError,
    labels: {
      ...machine.labels,
      'node.kubernetes.io/instance-type': machine.instanceType,
      'topology.kubernetes.io/zone': machine.zone,
    },
    resources: machine.capacity,
  };
}
