/**
 * Results on their way back: all calls that a thread finished in one event-loop turn, of any batch, in one FlatBuffer.
 * The thread has validated the machine in a result when it decoded it; the main thread only rebuilds the object.
 */
import { Builder, ByteBuffer } from 'flatbuffers';
import { assert } from '../../base/assert.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { InvalidReason, Machine } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { ProviderAnswer, ProviderFailureKind } from '../../shard/ports/providers.ts';
import { Amount, MachineRecord, ResultBatch, ResultRecord } from '../../wire/calls.generated.ts';
import { cutOut, putSharedText, putText, putTextEntries, readTextEntries } from './call-batch.ts';

/** Indexed by the number in the message. */
const ANSWER_KINDS: readonly ('accepted' | ProviderFailureKind)[] = [
  'accepted',
  'not_found',
  'unsupported',
  'fenced',
  'timeout',
  'unavailable',
  'worker_lost',
  'invalid',
  'malformed',
  'other',
  'held',
];
/** 1 + index in the message. */
const REASONS: readonly InvalidReason[] = ['price', 'interruption_probability', 'structural'];

const BUILDER_BYTES = 64 * 1024;

export interface CallResult {
  readonly call: number;
  readonly answer: ProviderAnswer;
}

export class ResultEncoder {
  readonly #builder = new Builder(BUILDER_BYTES);

  /** A message with its own memory, to be moved. */
  encode(results: readonly CallResult[]): Uint8Array<ArrayBuffer> {
    const builder = this.#builder;
    const records = results.map((result) => encodeResult(builder, result));
    builder.finish(ResultBatch.createResultBatch(builder, ResultBatch.createResultsVector(builder, records)));
    return cutOut(builder);
  }
}

export function decodeResults(message: Uint8Array): CallResult[] {
  const batch = ResultBatch.getRootAsResultBatch(new ByteBuffer(message));
  const results: CallResult[] = [];
  const record = new ResultRecord();
  for (let index = 0; index < batch.resultsLength(); index++) {
    batch.results(index, record);
    results.push({ call: record.call(), answer: readAnswer(record) });
  }
  return results;
}

function encodeResult(builder: Builder, { call, answer }: CallResult): number {
  const kind = ANSWER_KINDS.indexOf(answer.kind);
  assert(kind >= 0, `there is no answer ${answer.kind}`);
  const machine = answer.kind === 'accepted' ? encodeMachine(builder, answer.machine) : 0;
  const detail = answer.kind === 'accepted' ? 0 : putText(builder, answer.detail);
  const reason =
    answer.kind === 'accepted' || answer.reason === undefined ? 0 : 1 + REASONS.indexOf(answer.reason);
  ResultRecord.startResultRecord(builder);
  ResultRecord.addCall(builder, call);
  ResultRecord.addKind(builder, kind);
  ResultRecord.addDetail(builder, detail);
  ResultRecord.addReason(builder, reason);
  ResultRecord.addMachine(builder, machine);
  return ResultRecord.endResultRecord(builder);
}

function encodeMachine(builder: Builder, machine: Machine): number {
  const { host, assignment } = machine;
  const id = putText(builder, machine.id);
  const hostProvider = putSharedText(builder, host?.provider ?? '');
  const hostRef = putText(builder, host?.ref ?? '');
  const instanceType = putSharedText(builder, machine.instanceType);
  const zone = putSharedText(builder, machine.zone);
  const amounts = Object.keys(machine.capacity).map((name) =>
    Amount.createAmount(builder, putSharedText(builder, name), machine.capacity[name]!),
  );
  const capacity = MachineRecord.createCapacityVector(builder, amounts);
  const labels = MachineRecord.createLabelsVector(builder, putTextEntries(builder, machine.labels));
  const cluster = putSharedText(builder, machine.cluster);
  const fingerprint = putSharedText(builder, assignment?.fingerprint ?? '');
  const group = putSharedText(builder, assignment?.group ?? '');
  const lastError = putText(builder, machine.lastError);
  return MachineRecord.createMachineRecord(
    builder,
    id,
    machine.state,
    host !== null,
    hostProvider,
    hostRef,
    instanceType,
    zone,
    machine.capacityType,
    machine.pricePerHourUsd,
    machine.interruptionProbability,
    capacity,
    labels,
    cluster,
    assignment !== null,
    fingerprint,
    group,
    assignment?.priority ?? 0,
    assignment?.interruptionPenalty ?? 0,
    assignment?.reclamationPenalty ?? 0,
    lastError,
  );
}

function readAnswer(record: ResultRecord): ProviderAnswer {
  const kind = ANSWER_KINDS[record.kind()]!;
  if (kind === 'accepted') return { kind, machine: readMachine(record.machine()!) };
  const reason = REASONS[record.reason() - 1];
  const detail = record.detail() ?? '';
  return reason === undefined ? { kind, detail } : { kind, detail, reason };
}

function readMachine(record: MachineRecord): Machine {
  return {
    id: record.id() ?? '',
    state: record.state() as MachineState,
    host: record.hasHost() ? { provider: record.hostProvider() ?? '', ref: record.hostRef() ?? '' } : null,
    instanceType: record.instanceType() ?? '',
    zone: record.zone() ?? '',
    capacityType: record.capacityType() as CapacityType,
    pricePerHourUsd: record.pricePerHourUsd(),
    interruptionProbability: record.interruptionProbability(),
    capacity: readAmounts(record),
    labels: readTextEntries(record.labelsLength(), (index, entry) => record.labels(index, entry)),
    cluster: record.cluster() ?? '',
    assignment: record.hasAssignment()
      ? {
          fingerprint: record.fingerprint() ?? '',
          group: record.group() ?? '',
          priority: record.priority(),
          interruptionPenalty: record.interruptionPenalty(),
          reclamationPenalty: record.reclamationPenalty(),
        }
      : null,
    lastError: record.lastError() ?? '',
  };
}

function readAmounts(record: MachineRecord): Record<string, number> {
  const amounts: [string, number][] = [];
  const amount = new Amount();
  for (let index = 0; index < record.capacityLength(); index++) {
    record.capacity(index, amount);
    amounts.push([amount.name() ?? '', amount.units()]);
  }
  return Object.fromEntries(amounts);
}
