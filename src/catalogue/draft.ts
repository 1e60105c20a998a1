/** A fleet while it is being put together: machines in the order in which needs claim them. */
import type { Random } from '../base/random.ts';
import type { Assignment } from '../machine/machine.ts';
import { MachineState } from '../machine/state.ts';
import type { PlannedNeed } from './demand.ts';
import { describeRack, POOLS, poolOf, type Rack, RackRoom } from './racks.ts';
import { stampOf } from './rollup.ts';

/** Of the machines that serve no cluster; the others are offers that nobody has taken up. */
const IDLE_SHARE = 0.4;

export const NO_CLUSTER = -1;

export class FleetDraft {
  readonly state: Uint8Array;
  readonly rack: Uint32Array;
  readonly cluster: Int32Array;
  readonly assignment: Uint32Array;
  readonly assignments: Assignment[] = [];
  readonly #room = new RackRoom();
  readonly #fingerprints = new Map<string, string>();
  readonly #machinesByPool = new Uint32Array(POOLS.length);
  #rowCount = 0;

  constructor(machineCount: number) {
    this.state = new Uint8Array(machineCount);
    this.rack = new Uint32Array(machineCount);
    this.cluster = new Int32Array(machineCount);
    this.assignment = new Uint32Array(machineCount);
  }

  /** Gives every need of a cluster its machines, a gang all in one rack. */
  bind(cluster: number, needs: readonly PlannedNeed[]): void {
    for (const need of needs) {
      const stamp = stampOf(need);
      // Equal texts become one string: a hundred thousand stamps share some thousand fingerprints.
      const fingerprint = this.#fingerprints.get(stamp.fingerprint) ?? stamp.fingerprint;
      this.#fingerprints.set(fingerprint, fingerprint);
      const assignment = this.assignments.push({ ...stamp, fingerprint }) - 1;
      const places = need.places.map(({ type, capacityType, zone }) => poolOf(type, capacityType, zone));
      const together = need.form === 'spanning' ? this.#room.take(places[0]!, places.length) : null;
      for (const pool of places) {
        const rack = together ?? this.#room.take(pool, 1);
        this.#machinesByPool[pool]!++;
        this.#push(MachineState.Configured, rack, cluster, assignment);
      }
    }
  }

  /** Fills up with machines that serve nobody, of every pool in proportion to its use. */
  addUnbound(random: Random): void {
    const weights = Array.from(this.#machinesByPool);
    while (this.#rowCount < this.state.length) {
      const state = random.chance(IDLE_SHARE) ? MachineState.Idle : MachineState.Speculative;
      this.#push(state, this.#room.take(random.weighted(weights), 1), NO_CLUSTER, 0);
    }
  }

  /** Rows by rack, those of one rack in the order in which they came. */
  inRackOrder(): Uint32Array {
    const start = new Uint32Array(this.#room.poolByRack.length + 1);
    for (const rack of this.rack) start[rack + 1]!++;
    for (let rack = 1; rack < start.length; rack++) start[rack]! += start[rack - 1]!;
    const order = new Uint32Array(this.rack.length);
    for (let row = 0; row < this.rack.length; row++) order[start[this.rack[row]!]!++] = row;
    return order;
  }

  racks(): Rack[] {
    return this.#room.poolByRack.map((pool, rack) => describeRack(rack, pool));
  }

  #push(state: MachineState, rack: number, cluster: number, assignment: number): void {
    const row = this.#rowCount++;
    this.state[row] = state;
    this.rack[row] = rack;
    this.cluster[row] = cluster;
    this.assignment[row] = assignment;
  }
}
