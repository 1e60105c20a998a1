/** A fleet under construction: machines in the order of the needs that they serve. */
import type { Random } from '../../base/random.ts';
import type { Assignment } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { Catalogue } from './catalogue.ts';
import type { PlannedNeed } from './demand.ts';
import { describeRack, type Rack, RackRoom } from './racks.ts';
import { assignmentOf } from './rollup.ts';

export const NO_CLUSTER = -1;

export class FleetDraft {
  readonly state: Uint8Array;
  readonly rack: Uint32Array;
  readonly cluster: Int32Array;
  readonly assignment: Uint32Array;
  readonly assignments: Assignment[] = [];
  readonly #catalogue: Catalogue;
  readonly #room: RackRoom;
  readonly #fingerprints = new Map<string, string>();
  readonly #machinesByPool: Uint32Array;
  /** Share of the unbound machines that are Idle; the others are Speculative. */
  readonly #idleShare: number;
  /** Share of the demanded machines that are bound. */
  readonly #placedShare: number;
  #rowCount = 0;
  #demandedCount = 0;
  #placedCount = 0;

  constructor(
    catalogue: Catalogue,
    machineCount: number,
    shares: { readonly idle: number; readonly placed: number },
  ) {
    this.#catalogue = catalogue;
    this.#room = new RackRoom(catalogue.pools.length);
    this.#machinesByPool = new Uint32Array(catalogue.pools.length);
    this.#idleShare = shares.idle;
    this.#placedShare = shares.placed;
    this.state = new Uint8Array(machineCount);
    this.rack = new Uint32Array(machineCount);
    this.cluster = new Int32Array(machineCount);
    this.assignment = new Uint32Array(machineCount);
  }

  /**
   * Adds the machines of every need of a cluster, those of a gang in one rack. Needs beyond the placed share get
   * their machines, too, but unbound.
   */
  bind(cluster: number, needs: readonly PlannedNeed[], random: Random): void {
    for (const need of needs) {
      const places = need.places.map(({ type, capacityType, zone }) =>
        this.#catalogue.poolOf(type, capacityType, zone),
      );
      const isPlaced = this.#isPlaced(places.length);
      const assignment = isPlaced ? this.#assignment(need) : 0;
      const together = need.form === 'spanning' ? this.#room.take(places[0]!, places.length) : null;
      for (const pool of places) {
        const rack = together ?? this.#room.take(pool, 1);
        this.#machinesByPool[pool]!++;
        if (isPlaced) this.#push(MachineState.Configured, rack, cluster, assignment);
        else this.#pushUnbound(random, rack);
      }
    }
  }

  /** Adds the remaining machines, unbound, in proportion to the use of each pool. */
  addUnbound(random: Random): void {
    const weights = Array.from(this.#machinesByPool);
    while (this.#rowCount < this.state.length) {
      // The state must be drawn before the pool: another order would change every fleet.
      const state = this.#unboundState(random);
      this.#push(state, this.#room.take(random.weighted(weights), 1), NO_CLUSTER, 0);
    }
  }

  /** Rows by rack; those of one rack in insertion order. */
  inRackOrder(): Uint32Array {
    const start = new Uint32Array(this.#room.poolByRack.length + 1);
    for (const rack of this.rack) start[rack + 1]!++;
    for (let rack = 1; rack < start.length; rack++) start[rack]! += start[rack - 1]!;
    const order = new Uint32Array(this.rack.length);
    for (let row = 0; row < this.rack.length; row++) order[start[this.rack[row]!]!++] = row;
    return order;
  }

  racks(): Rack[] {
    return this.#room.poolByRack.map((pool, rack) => describeRack(this.#catalogue, rack, pool));
  }

  /** Decides for whole needs, spread evenly, so that the placed share of the demand so far is met within one need. */
  #isPlaced(machineCount: number): boolean {
    this.#demandedCount += machineCount;
    const placed = this.#placedCount + machineCount / 2;
    if (this.#placedShare < 1 && placed > this.#demandedCount * this.#placedShare) return false;
    this.#placedCount += machineCount;
    return true;
  }

  #assignment(need: PlannedNeed): number {
    const assignment = assignmentOf(need);
    // Equal texts become one string: a hundred thousand assignments share some thousands of fingerprints.
    const fingerprint = this.#fingerprints.get(assignment.fingerprint) ?? assignment.fingerprint;
    this.#fingerprints.set(fingerprint, fingerprint);
    return this.assignments.push({ ...assignment, fingerprint }) - 1;
  }

  #pushUnbound(random: Random, rack: number): void {
    this.#push(this.#unboundState(random), rack, NO_CLUSTER, 0);
  }

  #unboundState(random: Random): MachineState {
    return random.chance(this.#idleShare) ? MachineState.Idle : MachineState.Speculative;
  }

  #push(state: MachineState, rack: number, cluster: number, assignment: number): void {
    const row = this.#rowCount++;
    this.state[row] = state;
    this.rack[row] = rack;
    this.cluster[row] = cluster;
    this.assignment[row] = assignment;
  }
}
