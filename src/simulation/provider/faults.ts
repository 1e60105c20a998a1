/**
 * Faults: rules by which some operations end otherwise than they should, after their ack. A rule selects
 * operations by cluster, need, instance type and share. So one need can be given a broken bootstrap, while
 * its neighbours on the same provider work.
 *
 * A provider never interprets shard_metadata. This module does, because a test selects by need what a shard
 * must explain by need; without a rule about a need it reads nothing.
 */
import type { Random } from '../../base/random.ts';
import type { StoredBinding } from './fleet.ts';
import type { StringMap } from './kinds.ts';
import type { OperationName } from './lifecycle.ts';

/** How a faulty operation ends: FAILED, back in the state before it, without the machine, or never. */
export const FAULT_ENDS = ['failed', 'undone', 'gone', 'never'] as const;
export type FaultEnd = (typeof FAULT_ENDS)[number];

export interface Fault {
  readonly operation: OperationName;
  /** Null: of any cluster. Only Configure and Drain know a cluster and a need. */
  readonly cluster: string | null;
  /** The group of the need, or a part of its fingerprint. Null: any need. */
  readonly need: string | null;
  readonly instanceType: string | null;
  /** Share of the selected operations that end so. */
  readonly share: number;
  readonly end: FaultEnd;
  /** Time from the ack to the end; null: the latency of the operation. */
  readonly afterMs: number | null;
}

/** The ending of an operation in progress, as a column of the fleet. */
export const Ending = { Target: 0, Failed: 1, Undone: 2, Gone: 3, TimedOut: 4 } as const;
export type Ending = (typeof Ending)[keyof typeof Ending];

/** A prefix and two keys of the shard's metadata. */
export const METADATA_PREFIX = 'bigfleet.lucy.sh/assigned-';
const FINGERPRINT_KEY = `${METADATA_PREFIX}need-fingerprint`;
const GROUP_KEY = `${METADATA_PREFIX}group`;

export class Faults {
  readonly #rules: readonly Fault[];
  readonly #random: Random;

  constructor(rules: readonly Fault[], random: Random) {
    this.#rules = rules;
    this.#random = random;
  }

  /** The first rule that applies to an operation, or null. `binding`: the machine's, after Configure stored it. */
  draw(operation: OperationName, binding: StoredBinding | null, instanceType: string): Fault | null {
    for (const rule of this.#rules) {
      const isSelected =
        rule.operation === operation &&
        (rule.cluster === null || rule.cluster === binding?.cluster) &&
        (rule.instanceType === null || rule.instanceType === instanceType) &&
        (rule.need === null || (binding !== null && isOfNeed(binding.shardMetadata, rule.need)));
      if (isSelected && this.#random.chance(rule.share)) return rule;
    }
    return null;
  }
}

function isOfNeed(metadata: StringMap, need: string): boolean {
  return metadata[GROUP_KEY] === need || (metadata[FINGERPRINT_KEY] ?? '').includes(need);
}
