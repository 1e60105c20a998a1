/**
 * A client with its decoder: calls in, validated plain data out. A worker has one per provider. An answer that is not
 * a message, or a machine that breaks the rules (such as another id than the one asked for), is the failure
 * `malformed`. Listings are not for this class: list-runner.ts decodes them.
 */

import { ShardError } from '../../base/errors.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import { INVALID_REASONS, type MachineBatch } from '../../listing/decode/batch.ts';
import { MachineDecoder } from '../../listing/decode/decoder.ts';
import { machineAt } from '../../listing/decode/rows.ts';
import type { InvalidReason, Machine } from '../../machine/machine.ts';
import type { CallTarget, ConfigureTarget, DrainTarget, ProviderClient } from './client.ts';
import type { Answered, CallFailure, RawOutcome } from './outcome.ts';

/** `malformed` because of a record has the reason, for the counter. */
export interface ReadFailure extends CallFailure {
  readonly reason?: InvalidReason;
}

export interface Accepted {
  readonly kind: 'accepted';
  readonly machineId: string;
  /** '' for a Get. */
  readonly operationId: string;
  readonly machine: Machine;
}

export type CallOutcome = Accepted | ReadFailure;

export interface ProviderReaderOptions {
  readonly ownLabelKeys?: readonly string[];
}

export class ProviderReader {
  readonly client: ProviderClient;
  readonly #decoder: MachineDecoder;

  constructor(client: ProviderClient, options: ProviderReaderOptions = {}) {
    this.client = client;
    const labels = options.ownLabelKeys === undefined ? {} : { ownLabelKeys: options.ownLabelKeys };
    this.#decoder = new MachineDecoder({ ...labels, bytesMax: client.limits.answerBytesMax });
  }

  async create(target: CallTarget): Promise<CallOutcome> {
    return this.#readAck(await this.client.create(target));
  }

  async configure(target: ConfigureTarget): Promise<CallOutcome> {
    return this.#readAck(await this.client.configure(target));
  }

  async drain(target: DrainTarget): Promise<CallOutcome> {
    return this.#readAck(await this.client.drain(target));
  }

  async delete(target: CallTarget): Promise<CallOutcome> {
    return this.#readAck(await this.client.delete(target));
  }

  async get(target: CallTarget): Promise<CallOutcome> {
    return this.#readMachine(await this.client.get(target), ({ bytes, machineId }) => {
      this.#decoder.decodeMachine(bytes, machineId);
      return '';
    });
  }

  #readAck(outcome: RawOutcome): CallOutcome {
    return this.#readMachine(outcome, ({ bytes, machineId }) => this.#decoder.decodeAck(bytes, machineId));
  }

  /** `decode` fills the batch with one row or one rejection and returns the operation's id. */
  #readMachine(outcome: RawOutcome, decode: (answer: Answered) => string): CallOutcome {
    if (outcome.kind !== 'answered') return outcome;
    let operationId: string;
    try {
      operationId = decode(outcome);
    } catch (error) {
      return malformed(outcome, error);
    }
    const { batch } = this.#decoder;
    if (batch.rowCount === 0) return refusedRecord(outcome, batch);
    return { kind: 'accepted', machineId: outcome.machineId, operationId, machine: machineAt(batch, 0) };
  }
}

function refusedRecord({ machineId, attemptCount }: Answered, batch: MachineBatch): ReadFailure {
  const reason = INVALID_REASONS.find((_, index) => batch.rejectedCounts[index]! > 0) ?? 'structural';
  const detail = boundedDetail(batch.rejectionTexts[0] ?? 'the answer contains no machine');
  return { kind: 'malformed', machineId, status: '', detail, attemptCount, reason };
}

function malformed({ machineId, attemptCount }: Answered, error: unknown): ReadFailure {
  if (!(error instanceof ShardError)) throw error; // a bug of this shard, not of the provider
  return { kind: 'malformed', machineId, status: '', detail: boundedDetail(error.message), attemptCount };
}
