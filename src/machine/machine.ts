/** A machine as one object, for the edges. Inside the shard a machine is a row of columns. */
import { ShardError } from '../base/errors.ts';
import type { CapacityType } from './capacity-type.ts';
import type { PenaltyBucket } from './penalty.ts';
import { isMachineState, MachineState, STATE_NAMES } from './state.ts';

export interface HostRef {
  readonly provider: string;
  readonly ref: string;
}

/** The need that a machine was bound for: copied from the need at the bind, kept until the machine is unbound. */
export interface Assignment {
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
  readonly interruptionPenalty: PenaltyBucket;
  readonly reclamationPenalty: PenaltyBucket;
}

/** Quantities by Kubernetes resource name, in the units of base/quantity.ts. */
export type ResourceAmounts = Readonly<Record<string, number>>;

export interface Machine {
  readonly id: string;
  readonly state: MachineState;
  readonly host: HostRef | null;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly pricePerHourUsd: number;
  readonly interruptionProbability: number;
  /** The provider's `allocatable` if given, else its `resources`. */
  readonly capacity: ResourceAmounts;
  readonly labels: Readonly<Record<string, string>>;
  /** '' = bound to no cluster. */
  readonly cluster: string;
  readonly assignment: Assignment | null;
  readonly lastError: string;
}

export class InvalidMachineError extends ShardError {
  readonly code = 'invalid_machine';
  readonly next = 'reject-input';
  /** The metric label under which the record is counted. */
  readonly reason: InvalidReason;

  constructor(machineId: string, reason: InvalidReason, what: string) {
    super(
      `Machine ${JSON.stringify(machineId)} is not valid: ${what}. ` +
        'The shard refused the record and keeps the last good one. Correct it at the provider.',
    );
    this.reason = reason;
  }
}

export type InvalidReason = 'price' | 'interruption_probability' | 'structural';

export class IllegalTransitionError extends ShardError {
  readonly code = 'illegal_transition';
  readonly next = 'reject-input';

  constructor(machineId: string, from: MachineState, to: MachineState) {
    super(
      `Machine ${JSON.stringify(machineId)} cannot go from ${STATE_NAMES[from]} to ${STATE_NAMES[to]}. ` +
        'The shard left the machine as it was.',
    );
  }
}

const S = MachineState;

/** Which parts a machine must, may or must not have in each state, whatever the source of the record. */
const STRUCTURE: Readonly<
  Record<MachineState, { host: 'must' | 'never' | 'may'; cluster: 'must' | 'never' | 'may' }>
> = {
  [S.Speculative]: { host: 'never', cluster: 'never' },
  [S.Creating]: { host: 'never', cluster: 'never' },
  [S.Idle]: { host: 'must', cluster: 'never' },
  [S.Configuring]: { host: 'must', cluster: 'may' },
  [S.Configured]: { host: 'must', cluster: 'must' },
  [S.Draining]: { host: 'must', cluster: 'must' },
  [S.Deleting]: { host: 'must', cluster: 'never' },
  [S.Failed]: { host: 'may', cluster: 'may' },
};

/** The input of the checks: a few scalars, so that a decoder can check a row without building a machine. */
export interface MachineFacts {
  readonly state: number;
  readonly hasHost: boolean;
  readonly hasCluster: boolean;
  readonly hasLastError: boolean;
  readonly pricePerHourUsd: number;
  readonly interruptionProbability: number;
}

/**
 * Checks a provider's record; null if it is valid. Only the shard knows the future cluster of a Creating machine,
 * so a record that shows one is as wrong as an Idle one with a cluster.
 */
export function findInvalid(machineId: string, facts: MachineFacts): InvalidMachineError | null {
  const bad = (reason: InvalidReason, what: string) => new InvalidMachineError(machineId, reason, what);
  if (machineId === '') return bad('structural', 'the id is empty');
  if (!isMachineState(facts.state)) return bad('structural', `unknown state ${facts.state}`);
  const { pricePerHourUsd: price, interruptionProbability: probability } = facts;
  if (!(price >= 0 && price < Number.POSITIVE_INFINITY)) {
    return bad('price', `price_per_hour is ${price}, which is not a number of dollars ≥ 0`);
  }
  if (!(probability >= 0 && probability <= 1)) {
    return bad(
      'interruption_probability',
      `interruption_probability is ${probability}, which is not in [0, 1]`,
    );
  }
  const { host, cluster } = STRUCTURE[facts.state];
  const name = STATE_NAMES[facts.state];
  if (host === 'must' && !facts.hasHost) return bad('structural', `${name} without a host`);
  if (host === 'never' && facts.hasHost) return bad('structural', `${name} with a host`);
  if (cluster === 'must' && !facts.hasCluster) return bad('structural', `${name} without a cluster`);
  if (cluster === 'never' && facts.hasCluster) return bad('structural', `${name} with a cluster`);
  if (facts.state === S.Failed && !facts.hasLastError) return bad('structural', 'Failed without last_error');
  return null;
}
