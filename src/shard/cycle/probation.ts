/**
 * The rail for what failed before: a need (X5), the drains of a cluster, an offering or a provider (X15). During the back-off the
 * decision leaves them out. After it they are on probation: of what the cycle decided for them, one machine goes, their probe.
 * While it is tried the decision leaves the need out again, and other needs use the machines that it did not get.
 */
import { ActionKind, type ActionList, Victim } from '../../decision/actions.ts';
import { isBinding } from '../../inventory/intent.ts';
import type { NeedBackoffs } from '../execute/need-backoff.ts';
import type { SharedFaults } from '../machines/shared-faults.ts';

export interface ProbationOptions {
  readonly needs: NeedBackoffs;
  readonly drains: NeedBackoffs;
  readonly faults: SharedFaults;
}

export class Probation {
  readonly #options: ProbationOptions;
  /** Machines on probation that needs without a failure ask for: they tell more about the machine than others. */
  readonly #wanted = new Set<number>();

  constructor(options: ProbationOptions) {
    this.#options = options;
  }

  /** Begins a pass over the actions of a cycle. */
  begin(actions: ActionList): void {
    const { faults } = this.#options;
    this.#wanted.clear();
    if (faults.blamedCount === 0) return;
    for (let index = 0; index < actions.count; index++) {
      const slot = actions.slot[index]!;
      if (!isBinding(actions.kind[index]!) || !faults.isOnProbation(slot, 'bootstrap')) continue;
      if (!this.#isSuspect(actions, index)) this.#wanted.add(slot);
    }
  }

  /** Whether the action may go. Asked once for each action of the list, in order. */
  admits(actions: ActionList, index: number): boolean {
    const kind = actions.kind[index]!;
    if (isBinding(kind)) return this.#admitsBinding(actions, index);
    if (kind !== ActionKind.Reclaim && kind !== ActionKind.Preempt) return true;
    return this.#admitsDrain(actions, index);
  }

  #admitsBinding(actions: ActionList, index: number): boolean {
    const { needs, faults } = this.#options;
    const { slot, forCluster, fingerprint, group } = actions;
    const machine = slot[index]!;
    const isOnProbation = faults.isOnProbation(machine, 'bootstrap');
    if (isOnProbation && this.#wanted.size > 0 && !this.#wanted.has(machine)) return false;
    if (!faults.mayTry(machine, 'bootstrap')) return false;
    if (!needs.admit(forCluster[index]!, fingerprint[index]!, group[index]!, machine)) return false;
    faults.tried(machine, 'bootstrap');
    return true;
  }

  #admitsDrain(actions: ActionList, index: number): boolean {
    const { needs, drains, faults } = this.#options;
    const { kind, slot, cluster, forCluster, fingerprint, group, victim } = actions;
    const machine = slot[index]!;
    if (kind[index] === ActionKind.Preempt && this.#isSuspect(actions, index)) {
      // One machine tells a gang nothing: it needs all of them in one domain.
      if ((victim[index]! & Victim.OfGang) !== 0) return false;
      if (!needs.admit(forCluster[index]!, fingerprint[index]!, group[index]!, machine)) return false;
    }
    if (!faults.mayTry(machine, 'drain') || !drains.admit(cluster[index]!, 0, 0, machine)) return false;
    faults.tried(machine, 'drain');
    return true;
  }

  #isSuspect({ forCluster, fingerprint, group }: ActionList, index: number): boolean {
    return this.#options.needs.isOnProbation(forCluster[index]!, fingerprint[index]!, group[index]!);
  }
}
