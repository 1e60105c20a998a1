/** The shard's side of operator sessions over the real tables of a realistic fleet, without cycles or providers. */
import { systemClock } from '../../src/base/clock.ts';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import { canBeBound, STATE_COUNT } from '../../src/machine/state.ts';
import { NeedTable, type RollupOutcome } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import type { NodeState, ShardForOperators } from '../../src/shard/ports/operators.ts';
import type { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';

export class BenchShard implements ShardForOperators {
  readonly epoch = 1;
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly #clusters: StringTable;
  rejectedCount = 0;

  constructor(fleet: SteadyFleet) {
    const strings = (name: string, entriesMax: number) =>
      StringTable.create({ name, entriesMax, bytesMax: 64 * entriesMax + 65_536 });
    this.#clusters = strings('clusters', 65_535);
    const fingerprints = strings('fingerprints', 131_072);
    const groups = strings('groups', 4_194_304);
    const vectors = new VectorTable(new DimensionTable());
    const shared = { clusters: this.#clusters, fingerprints, groups, vectors };
    this.needs = new NeedTable(shared);
    this.inventory = new Inventory({ ...shared, machinesMax: fleet.machineCount + 1_024 });
    for (const machine of fleet.machines()) this.inventory.insert(machine, 0, 0);
  }

  refusal(): null {
    return null;
  }

  sessionOpened(): void {}

  sessionClosed(): void {}

  sessionAnswered(): void {}

  acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome> {
    return this.needs.acceptInSteps(clusterId, digests, decodeRow, systemClock.nowMs(), 0);
  }

  rejectRollup(): void {
    this.rejectedCount++;
  }

  boundSlots(clusterId: string): Uint32Array {
    const cluster = this.#clusters.find(clusterId);
    const { indexes } = this.inventory;
    const slots: number[] = [];
    for (let state = 1; cluster !== 0 && state < STATE_COUNT; state++) {
      const start = indexes.startOfCluster(cluster, state);
      const end = start + indexes.countOfCluster(cluster, state);
      for (let at = start; at < end; at++) slots.push(indexes.clusterSlots[at]!);
    }
    return Uint32Array.from(slots);
  }

  readNode(slot: number, clusterId: string): NodeState | null {
    const machine = this.inventory.get(slot);
    if (machine.cluster !== clusterId || !canBeBound(machine.state)) return null;
    const { id, state, host, lastError, labels, capacity } = machine;
    return {
      machineId: id,
      clusterId,
      state,
      nodeName: id,
      providerId: host?.ref ?? '',
      lastError,
      labels: {
        ...labels,
        'node.kubernetes.io/instance-type': machine.instanceType,
        'topology.kubernetes.io/zone': machine.zone,
      },
      resources: capacity,
    };
  }
}

/** Machines that are bound to a cluster. */
export function boundCount(fleet: SteadyFleet, shard: BenchShard): number {
  let count = 0;
  for (let cluster = 0; cluster < fleet.clusterCount; cluster++) {
    count += shard.boundSlots(fleet.rollup(cluster).clusterId).length;
  }
  return count;
}
