/**
 * Why a need is unmet and why a machine is where it is: facts for programs, sentences for people. Every sentence is made
 * from the facts beside it.
 */
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { BackoffView, MachineView, StateCounts } from './fleet-view.ts';
import type { NeedView } from './view.ts';

export interface NeedExplanation {
  readonly need: NeedView;
  readonly cycle: number;
  readonly facts: NeedFacts;
  /** The first one is the answer; the rest is why. */
  readonly sentences: readonly string[];
}

export interface NeedFacts {
  /** A9, A7: what keeps the need from acquiring anything, whatever there is. */
  readonly bars: readonly NeedBar[];
  /** Machines that match the requirements and cover min_unit, by state. */
  readonly matching: StateCounts;
  /** Of those: Idle or Speculative, not claimed and not in back-off. */
  readonly free: number;
  /** Idle or Speculative ones that another need takes in this cycle. */
  readonly takenByOthers: number;
  readonly inBackoff: number;
  readonly stuck: number;
  /** Who holds the matching Configured machines, the highest priority first. */
  readonly holders: readonly Holder[];
  /** Held at a priority that this need may preempt. */
  readonly preemptible: number;
  /** Machines that count for this need now. */
  readonly ownMachines: number;
  /** P6: machines that drain for it. */
  readonly drainingForIt: number;
  /** A1: served together with others of its kind, under this name; '' if not. */
  readonly foldedAs: string;
  /** Of a Same need or one with a spread: the domains that come nearest, best first. */
  readonly domains: readonly DomainFacts[];
  /** If nothing matches: the kinds of machine that come nearest, and what each lacks. */
  readonly nearest: readonly NearMiss[];
}

export type NeedBar =
  | { readonly kind: 'no_session' }
  | { readonly kind: 'bootstrap_backoff'; readonly backoff: BackoffView }
  | { readonly kind: 'parked'; readonly cycles: number }
  | { readonly kind: 'nothing_executes'; readonly why: string };

/** Machines that are held at one priority. */
export interface Holder {
  /** Of the needs that claim the machines, else of their assignments. */
  readonly priority: number;
  /** Not claimed by any need: excess, or of a cluster that has not reported. */
  readonly isUnclaimed: boolean;
  readonly machines: number;
  /** How many clusters hold them, and those with most of them. */
  readonly clusters: number;
  readonly topClusters: readonly { readonly clusterId: string; readonly machines: number }[];
}

export interface DomainFacts {
  /** Value of the key, or of the keys, joined by commas. */
  readonly domain: string;
  /** The need's own machines in it. */
  readonly own: number;
  /** Free matching machines in it. */
  readonly free: number;
  /** What both have together, of the dimensions that the need wants. */
  readonly capacity: ResourceAmounts;
  /** Of the aggregate, dimension by dimension, the scarcest: 0 … 1. */
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
      /** What the machines have; null if they lack the attribute. */
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

/** A need by the name that its machines carry: its own, or that of its fold. */
export interface NeedName {
  readonly clusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
}

export interface MachineFacts {
  /** The need that counts it in the last cycle. */
  readonly claim: NeedName | null;
  /** P6: the need that it was preempted for. */
  readonly drainsFor: NeedName | null;
  /** Why it is not given back or released, or that it will be. */
  readonly stays: MachineStay;
  /** Needs that are unmet and that it matches and covers the min_unit of; a few. */
  readonly couldServe: readonly {
    readonly clusterId: string;
    readonly priority: number;
    readonly group: string;
  }[];
}

export type MachineStay =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'acting' } // something is enqueued or running for it
  | { readonly kind: 'waiting_for_provider' } // transitional
  | { readonly kind: 'gate' } // N6
  | { readonly kind: 'backoff'; readonly untilMs: number }
  | { readonly kind: 'nothing_executes'; readonly why: string }
  | {
      /** R2: excess machines of its cluster, its place among them (from 1), and how many go per interval. */
      readonly kind: 'reclaim_queue';
      readonly excess: number;
      readonly place: number;
      readonly perInterval: number;
    }
  | { readonly kind: 'hold'; readonly leftMs: number; readonly holdMs: number }
  | { readonly kind: 'hold_over' } // released by the next cycle
  | { readonly kind: 'kept_forever' } // bare metal, reserved, unspecified
  | { readonly kind: 'offer' } // Speculative
  | { readonly kind: 'failed' };
