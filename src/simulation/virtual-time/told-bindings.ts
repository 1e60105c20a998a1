/**
 * Y1: the history tells every beginning and end of a binding. This check believes nothing but the events: after every cycle
 * they must say of each machine whether it is bound and to which cluster. Machines of a provider's first listing are the
 * exception, because nothing happened to them.
 */
import { MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { NotedEvent } from '../../shard/ports/events.ts';
import type { Shard } from '../../shard/shard.ts';
import { Violation } from './invariants.ts';

const S = MachineState;

export class ToldBindings {
  /** By machine: the cluster whose node it is, as the events tell. */
  readonly #told = new Map<string, string>();
  /** Providers whose first listing has been applied. */
  readonly #listed = new Set<number>();

  noted({ machineId = '', clusterId = '', from = 0, to = 0 }: NotedEvent): void {
    if (machineId === '' || (from === 0 && to === 0)) return; // it tells of no move
    if (to === S.Configured) this.#told.set(machineId, clusterId);
    else this.#told.delete(machineId);
  }

  /** Throws a Violation. */
  check({ inventory, reconciler }: Shard): void {
    const { columns, tables } = inventory;
    const seen = new Set<string>();
    const adopted: number[] = [];
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const state = columns.state[slot]!;
      if (state === 0) continue;
      const machineId = inventory.idOf(slot);
      const cluster = state === S.Configured ? tables.clusters.get(columns.cluster[slot]!) : '';
      const provider = columns.provider[slot]!;
      seen.add(machineId);
      if (this.#listed.has(provider)) this.#compare(machineId, cluster, state);
      else if (cluster === '') this.#told.delete(machineId);
      else this.#told.set(machineId, cluster);
      if (reconciler.hasListed(provider)) adopted.push(provider);
    }
    for (const machineId of this.#told.keys())
      if (!seen.has(machineId)) throw new Violation(`Y1: ${machineId} is gone, and no event says so`);
    for (const provider of adopted) this.#listed.add(provider);
  }

  #compare(machineId: string, cluster: string, state: number): void {
    const told = this.#told.get(machineId) ?? '';
    if (told === cluster) return;
    const is = cluster === '' ? STATE_NAMES[state as MachineState] : `bound to ${cluster}`;
    const says = told === '' ? 'not bound' : `bound to ${told}`;
    throw new Violation(`Y1: the history says that ${machineId} is ${says}, but it is ${is}`);
  }
}
