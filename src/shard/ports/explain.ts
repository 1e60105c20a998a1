/**
 * Explanations of a need or a machine: facts for programs, and sentences for people that are made from those facts.
 */
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { BudgetView } from './budgets.ts';
import type { Control } from './controls.ts';
import type { MachineView, NeedBackoffView, StateCounts, SuspensionView } from './fleet-view.ts';
import type { NeedView } from './view.ts';

export interface NeedExplanation {
  readonly need: NeedView;
  readonly cycle: number;
  readonly facts: NeedFacts;
  /** The first is the answer; the others give the facts, and what would help. */
  readonly sentences: readonly string[];
}

export interface NeedFacts {
  /** What keeps the need from acquiring any machine: no session or a back-off (A9), a parked gang (A7), a rail. */
  readonly bars: readonly NeedBar[];
  /** Machines that match the requirements and cover the min unit, by state. */
  readonly matching: StateCounts;
  /** Idle or Speculative ones that no need claims and that are not in back-off. */
  readonly free: number;
  /** Idle or Speculative ones that other needs take in this cycle. */
  readonly takenByOthers: number;
  readonly inBackoff: number;
  readonly stuck: number;
  /** The clusters that have the matching Configured machines, the highest priority first. */
  readonly holders: readonly Holder[];
  /** Machines that this need may preempt. */
  readonly preemptible: number;
  /** Machines that this need claims; of a folded gang, those of its fold. */
  readonly ownMachines: number;
  /** Some of them, by id. */
  readonly machines: readonly ServingMachine[];
  /** P6: machines that drain for it, and so count for it already. */
  readonly drainingForIt: number;
  /** A1: gangs that fit one machine are served as one fold; its group, or ''. */
  readonly foldedAs: string;
  /** Of a gang or a need with a spread: the best domains, best first. */
  readonly domains: readonly DomainFacts[];
  /** If no machine matches: the nearest kinds of machine, and what each lacks. */
  readonly nearest: readonly NearMiss[];
}

export interface ServingMachine {
  readonly id: string;
  readonly state: MachineState;
  /** Of a gang or a need with a spread: the value of its key; ''. */
  readonly domain: string;
}

export type NeedBar =
  | { readonly kind: 'no_session' }
  | { readonly kind: 'bootstrap_backoff'; readonly backoff: NeedBackoffView }
  | { readonly kind: 'suspended'; readonly suspension: SuspensionView }
  /** H3: a pause of its cluster, or of machines that match it. */
  | { readonly kind: 'paused'; readonly control: Control; readonly machines: number }
  | { readonly kind: 'parked'; readonly cycles: number }
  /** T8: a limit of its cluster; `pattern` is the entry that sets it, `most` its value. */
  | { readonly kind: 'limited'; readonly limit: string; readonly pattern: string; readonly most: string }
  /** E7: a ceiling of the fleet, and its value. */
  | { readonly kind: 'ceiling'; readonly ceiling: string; readonly most: string }
  | { readonly kind: 'nothing_executes'; readonly why: string };

/** Matching Configured machines at one priority. */
export interface Holder {
  /** Priority of the needs that claim the machines, else of their assignments. */
  readonly priority: number;
  /** No need claims them: they are excess, or their cluster has not reported. */
  readonly isUnclaimed: boolean;
  readonly machines: number;
  /** The number of clusters that have them, and those with most. */
  readonly clusters: number;
  readonly topClusters: readonly { readonly clusterId: string; readonly machines: number }[];
}

export interface DomainFacts {
  /** The value of the key, or the values of several keys joined by commas. */
  readonly domain: string;
  /** The need's own machines in it. */
  readonly own: number;
  /** Free matching machines in it. */
  readonly free: number;
  /** Capacity of both together, in the need's dimensions. */
  readonly capacity: ResourceAmounts;
  /** Covered share of the aggregate in the scarcest dimension, 0 … 1. */
  readonly covered: number;
}

export interface NearMiss {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly machines: StateCounts;
  readonly misses: readonly Miss[];
}

export type Miss =
  | {
      readonly kind: 'requirement';
      readonly key: string;
      readonly operator: number;
      readonly values: readonly string[];
      /** The machines' value; null if they lack the attribute. */
      readonly has: string | null;
    }
  | {
      readonly kind: 'min_unit';
      readonly dimension: string;
      readonly wanted: number;
      readonly has: number;
    };

export interface MachineExplanation {
  readonly machine: MachineView;
  readonly cycle: number;
  readonly facts: MachineFacts;
  readonly sentences: readonly string[];
}

/** A need as its machines' assignment names it: itself, or its fold. */
export interface NeedName {
  readonly clusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
}

export interface MachineFacts {
  /** The need that claims it since the last cycle. */
  readonly claim: NeedName | null;
  /** The need that it was preempted for. */
  readonly drainsFor: NeedName | null;
  /** H5, H6, H7: that it leaves, is cordoned or is given back; null: none of these. */
  readonly order: MachineOrder | null;
  /** Why the shard keeps the machine, or when it reclaims or releases it. */
  readonly stays: MachineStay;
  /** A few unmet needs that the machine matches, with its min unit covered. */
  readonly couldServe: readonly {
    readonly clusterId: string;
    readonly priority: number;
    readonly group: string;
  }[];
}

export interface MachineOrder {
  readonly kind: 'leaving' | 'cordoned' | 'releasing';
  /** Who told the shard; null: a person at the provider, or another part of the shard. */
  readonly control: Control | null;
  /** H7: until when the shard leaves it alone, infinite while it drains; 0: not for this reason. */
  readonly foreignUntilMs: number;
  /** What a leaving machine waits for, as a sentence; else ''. */
  readonly waits: string;
}

export type MachineStay =
  | { readonly kind: 'ordered' } // H5, H6, H7: `order` says it
  | { readonly kind: 'claimed' }
  | { readonly kind: 'acting' } // an action is enqueued or running
  | { readonly kind: 'waiting_for_provider' } // transitional
  | { readonly kind: 'gate' } // N6: its cluster has sent no roll-up yet
  | { readonly kind: 'taking_up'; readonly needs: number; readonly of: number } // N6, T7: needs of its cluster wait for their turn
  | { readonly kind: 'backoff'; readonly untilMs: number }
  | { readonly kind: 'paused'; readonly control: Control } // H3: a pause keeps it
  | { readonly kind: 'disputed' } // T10: two providers claim it
  | { readonly kind: 'ignored' } // T10: no shard assigned it, and such bindings are ignored
  | { readonly kind: 'nothing_executes'; readonly why: string }
  | {
      /** R2: a capped share of a cluster is reclaimed per interval. Its excess, this machine's place (from 1), and the cap. */
      readonly kind: 'reclaim_queue';
      readonly excess: number;
      readonly place: number;
      readonly perInterval: number;
    }
  | { readonly kind: 'budget'; readonly budget: BudgetView } // H9: a disruption budget has no room for its reclaim
  | { readonly kind: 'hold'; readonly leftMs: number; readonly holdMs: number }
  | { readonly kind: 'hold_over' } // released by the next cycle
  | { readonly kind: 'kept_forever' } // bare metal, reserved, unspecified
  | { readonly kind: 'offer' } // Speculative
  | { readonly kind: 'failed' };
