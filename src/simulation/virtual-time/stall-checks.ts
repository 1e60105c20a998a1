/**
 * X16: what a process may send after it stood still. The checks know when the process was stopped and when its sessions answered;
 * they ask the shard for neither.
 */
import type { ProviderAnswer, ProviderCall } from '../../shard/ports/providers.ts';
import { Violation } from './invariants.ts';
import type { Process } from './world.ts';

/** Answers that a provider did not give. */
const NO_ANSWERS: readonly ProviderAnswer['kind'][] = [
  'timeout',
  'unavailable',
  'worker_lost',
  'malformed',
  'held',
];

export class StallChecks {
  /** By machine: when its action was decided, in true time. */
  readonly #decidedMs = new Map<string, number>();
  /** Machines whose calls were sent after the last stall and are not answered. */
  readonly #open = new Set<string>();
  #stallEndedMs = 0;
  #hasAnswer = true;

  decided({ life }: Process, machineId: string): void {
    this.#decidedMs.set(machineId, life.uptimeMs());
  }

  sent(process: Process, { kind, machineId }: ProviderCall): void {
    const stop = process.life.lastStop();
    if (stop === null || stop.toMs - stop.fromMs <= process.shard.settings.stallAfterMs) return;
    const { fromMs, toMs } = stop;
    const what = `${kind} for ${machineId} after it stood still for ${toMs - fromMs} ms`;
    if (toMs !== this.#stallEndedMs) {
      this.#stallEndedMs = toMs;
      this.#hasAnswer = false;
      this.#open.clear();
    }
    if ((this.#decidedMs.get(machineId) ?? 0) < toMs)
      throw new Violation(`X16: the process sends ${what}, and decided it before`);
    if (!this.#hasAnswer && this.#open.size > 0)
      throw new Violation(`X16: the process sends ${what}, while its first call has no answer`);
    this.#open.add(machineId);
    if (kind !== 'create' && kind !== 'configure') return;
    const { inventory } = process.shard;
    const clusterId = inventory.tables.clusters.get(inventory.columns.cluster[inventory.find(machineId)]!);
    if ((process.operators.aliveMs.get(clusterId) ?? 0) < toMs)
      throw new Violation(`X16: the process sends ${what}, and the session of ${clusterId} has not answered`);
  }

  answered({ machineId }: ProviderCall, { kind }: ProviderAnswer): void {
    if (this.#open.delete(machineId) && !NO_ANSWERS.includes(kind)) this.#hasAnswer = true;
  }
}
