/**
 * Calls on their way to a thread: all calls of one event-loop turn in one FlatBuffer. One message per call would cost
 * the main thread 10 µs each before anything is sent.
 *
 * A configure carries a bootstrap blob, which is a secret. The encoder copies the finished message out of the builder,
 * moves it to the other thread and wipes the builder's memory. One case remains: a builder that had to grow leaves its
 * smaller buffer, unwiped, to the garbage collector.
 */
import { Builder, ByteBuffer } from 'flatbuffers';
import { assert } from '../../base/assert.ts';
import type { CallKind, ProviderCall } from '../../shard/ports/providers.ts';
import { CallBatch, CallRecord, TextEntry } from '../../wire/calls.generated.ts';

/** Indexed by the number in the message. */
export const CALL_KINDS: readonly (CallKind | 'get')[] = ['create', 'configure', 'drain', 'delete', 'get'];

/** A call or a read that the pool has not sent yet. */
export interface OutgoingCall extends Omit<ProviderCall, 'kind'> {
  readonly call: number;
  readonly kind: CallKind | 'get';
}

/** A call as a thread receives it. The blob is a view of the message. */
export type IncomingCall = Required<OutgoingCall>;

const NO_BYTES = new Uint8Array(0);
const BUILDER_BYTES = 64 * 1024;

export class CallEncoder {
  readonly #builder = new Builder(BUILDER_BYTES);

  /** A message with its own memory, to be moved. `wallAheadMs`: wall clock minus the clock of the deadlines. */
  encode(calls: readonly OutgoingCall[], wallAheadMs = 0): Uint8Array<ArrayBuffer> {
    const builder = this.#builder;
    const records = calls.map((call) => encodeCall(builder, call, wallAheadMs));
    builder.finish(CallBatch.createCallBatch(builder, CallBatch.createCallsVector(builder, records)));
    return cutOut(builder);
  }
}

export function decodeCalls(message: Uint8Array): IncomingCall[] {
  const batch = CallBatch.getRootAsCallBatch(new ByteBuffer(message));
  const calls: IncomingCall[] = [];
  const record = new CallRecord();
  for (let index = 0; index < batch.callsLength(); index++) {
    calls.push(readCall(batch.calls(index, record)!));
  }
  return calls;
}

/** A copy of the finished message; wipes the builder for the next one. */
export function cutOut(builder: Builder): Uint8Array<ArrayBuffer> {
  const built = builder.asUint8Array();
  const message = new Uint8Array(built.length);
  message.set(built);
  built.fill(0);
  builder.clear();
  return message;
}

/** 0 for an empty string: an absent field reads as none. */
export function putText(builder: Builder, text: string): number {
  return text === '' ? 0 : builder.createString(text);
}

/** The same for texts that repeat within a message: the builder writes each once. */
export function putSharedText(builder: Builder, text: string): number {
  return text === '' ? 0 : builder.createSharedString(text);
}

export function putTextEntries(builder: Builder, entries: Readonly<Record<string, string>>): number[] {
  return Object.keys(entries).map((key) =>
    TextEntry.createTextEntry(builder, putSharedText(builder, key), putSharedText(builder, entries[key]!)),
  );
}

/** fromEntries and not assignment: a key may be `__proto__`. */
export function readTextEntries(
  length: number,
  entryAt: (index: number, entry: TextEntry) => TextEntry | null,
): Record<string, string> {
  const entries: [string, string][] = [];
  const entry = new TextEntry();
  for (let index = 0; index < length; index++) {
    entryAt(index, entry);
    entries.push([entry.key() ?? '', entry.value() ?? '']);
  }
  return Object.fromEntries(entries);
}

function encodeCall(builder: Builder, call: OutgoingCall, wallAheadMs: number): number {
  const kind = CALL_KINDS.indexOf(call.kind);
  assert(kind >= 0, `there is no call ${call.kind}`);
  const machineId = putText(builder, call.machineId);
  const clusterId = putSharedText(builder, call.clusterId ?? '');
  const blob = call.bootstrapBlob === undefined ? 0 : builder.createByteVector(call.bootstrapBlob);
  const metadata =
    call.shardMetadata === undefined
      ? 0
      : CallRecord.createShardMetadataVector(builder, putTextEntries(builder, call.shardMetadata));
  CallRecord.startCallRecord(builder);
  CallRecord.addCall(builder, call.call);
  CallRecord.addKind(builder, kind);
  CallRecord.addProvider(builder, call.provider);
  CallRecord.addMachineId(builder, machineId);
  CallRecord.addDeadlineUnixMs(builder, call.deadlineUnixMs + wallAheadMs);
  CallRecord.addGraceSeconds(builder, call.graceSeconds ?? 0);
  CallRecord.addClusterId(builder, clusterId);
  CallRecord.addBootstrapBlob(builder, blob);
  CallRecord.addShardMetadata(builder, metadata);
  CallRecord.addStretch(builder, call.stretch ?? 0);
  return CallRecord.endCallRecord(builder);
}

function readCall(record: CallRecord): IncomingCall {
  return {
    call: record.call(),
    kind: CALL_KINDS[record.kind()]!,
    provider: record.provider(),
    machineId: record.machineId() ?? '',
    deadlineUnixMs: record.deadlineUnixMs(),
    stretch: record.stretch(),
    graceSeconds: record.graceSeconds(),
    clusterId: record.clusterId() ?? '',
    bootstrapBlob: record.bootstrapBlobArray() ?? NO_BYTES,
    shardMetadata: readTextEntries(record.shardMetadataLength(), (index, entry) =>
      record.shardMetadata(index, entry),
    ),
  };
}
