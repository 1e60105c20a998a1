/**
 * What the operators' edge asks of the shard: sessions that open, answer and close, roll-ups, and the machines of a cluster. The
 * state is elsewhere: sessions in SessionBits, demand in the need table, machines in the inventory.
 */
import type { Clock } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { canBeBound, type MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { NeedTable, RollupOutcome } from '../../needs/need-table.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { Cycle } from '../cycle/cycle.ts';
import type { CapacityHints } from '../hints/hints.ts';
import { nodeStateOf } from '../machines/node-state.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { NodeState, ShardForOperators } from '../ports/operators.ts';
import type { AwayClusters } from './away-clusters.ts';
import type { SessionBits } from './session-bits.ts';

export interface OperatorCallsOptions {
  readonly epoch: number;
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly clock: Clock;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly sessions: SessionBits;
  readonly away: AwayClusters;
  readonly hints: CapacityHints;
  readonly cycle: Cycle;
  /** Why the shard accepts no sessions now; null if it does. */
  readonly refusal: () => string | null;
  /** Asks for a cycle. */
  readonly wake: () => void;
}

export class OperatorCalls implements ShardForOperators {
  readonly epoch: number;
  readonly refusal: () => string | null;
  readonly #options: OperatorCallsOptions;

  constructor(options: OperatorCallsOptions) {
    this.epoch = options.epoch;
    this.refusal = options.refusal;
    this.#options = options;
  }

  sessionOpened(clusterId: string): void {
    const { hints, sessions, wake } = this.#options;
    hints.sessionOpened(clusterId);
    if (sessions.open(clusterId)) wake();
  }

  sessionClosed(clusterId: string): void {
    const { hints, sessions, away } = this.#options;
    hints.sessionClosed(clusterId);
    sessions.close(clusterId);
    away.note(clusterId);
  }

  sessionAnswered(clusterId: string): void {
    const { sessions, wake } = this.#options;
    if (sessions.answered(clusterId)) wake();
  }

  *acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome> {
    const { inventory, needs, clock, counters, observer, away, cycle, wake } = this.#options;
    const { clusters } = inventory.tables;
    const known = clusters.find(clusterId);
    const bound = known === 0 ? 0 : this.#boundCount(known);
    const nowMs = clock.nowMs();
    try {
      const outcome = yield* needs.acceptInSteps(clusterId, digests, decodeRow, nowMs, bound);
      // Again: a cluster that was unknown has a ref now.
      const cluster = clusters.find(clusterId);
      if (outcome === 'unchanged') counters.rollupsUnchanged++;
      else if (outcome === 'applied') {
        counters.rollupsAccepted++;
        cycle.noteDemand(cluster, nowMs);
        wake();
      } else {
        const inARow = needs.quarantinedRollups(cluster);
        observer.happened({ kind: 'rollup_quarantined', level: 'warn', clusterId, inARow });
      }
      return outcome;
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      observer.happened({ kind: 'rollup_rejected', level: 'warn', clusterId, detail: error.message });
      throw error;
    } finally {
      away.note(clusterId);
    }
  }

  rejectRollup(clusterId: string, why: string): void {
    const { inventory, needs, observer, away } = this.#options;
    // An unknown cluster has no count of its own, and the table of clusters may have no room for one.
    if (inventory.tables.clusters.find(clusterId) !== 0) needs.reject(clusterId);
    away.note(clusterId);
    observer.happened({ kind: 'rollup_rejected', level: 'warn', clusterId, detail: why });
  }

  /** O1: a resync sends every machine bound to the cluster. */
  boundSlots(clusterId: string): Uint32Array {
    const { tables, indexes } = this.#options.inventory;
    const cluster = tables.clusters.find(clusterId);
    if (cluster === 0) return new Uint32Array(0);
    const slots: number[] = [];
    for (let state = 1; state < STATE_COUNT; state++) {
      if (!canBeBound(state as MachineState)) continue;
      const start = indexes.startOfCluster(cluster, state);
      const end = start + indexes.countOfCluster(cluster, state);
      for (let position = start; position < end; position++) slots.push(indexes.clusterSlots[position]!);
    }
    return Uint32Array.from(slots);
  }

  readNode(slot: number, clusterId: string): NodeState | null {
    const { inventory } = this.#options;
    const { columns, tables } = inventory;
    const state = columns.state[slot];
    if (state === undefined || state === 0 || !canBeBound(state as MachineState)) return null;
    const cluster = columns.cluster[slot]!;
    if (cluster === 0 || cluster !== tables.clusters.find(clusterId)) return null;
    return nodeStateOf(inventory, slot, clusterId);
  }

  #boundCount(cluster: number): number {
    const { indexes } = this.#options.inventory;
    let count = 0;
    for (let state = 1; state < STATE_COUNT; state++) {
      if (canBeBound(state as MachineState)) count += indexes.countOfCluster(cluster, state);
    }
    return count;
  }
}
