/** Between the port's words and etcd's messages. Keys and values are UTF-8; a value that is not is no value of ours. */
import {
  EventEventType,
  type KeyValue,
  type MessageInits,
  type Messages,
  CompareCompareTarget as Target,
} from '../../wire/etcd.ts';
import type { Comparison, DirectoryEntry, DirectoryEvent, Operation, Position } from '../port.ts';

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** The first key after all those that begin with the prefix. */
export function endOfPrefix(prefix: string): Uint8Array {
  const end = Buffer.from(prefix, 'utf8');
  // The bytes of UTF-8 are below 0xff, so the last one can always be raised.
  end[end.length - 1]!++;
  return end;
}

export function entryOf({ key, value, createRevision, modRevision, lease }: KeyValue): DirectoryEntry {
  return { key: textOf(key), value: textOf(value), createRevision, modRevision, leaseId: lease };
}

export function eventOf({ type, kv }: Messages['Event']): DirectoryEvent {
  if (type === EventEventType.DELETE) {
    return { kind: 'delete', key: textOf(kv!.key), modRevision: kv!.modRevision };
  }
  return { kind: 'put', entry: entryOf(kv!) };
}

export function positionOf(header: Messages['ResponseHeader'] | null): Position {
  return { clusterId: (header?.clusterId ?? 0).toString(16), revision: header?.revision ?? 0 };
}

export function compareOf(comparison: Comparison): MessageInits['Compare'] {
  const key = bytesOf(comparison.key);
  switch (comparison.kind) {
    case 'absent':
      return { key, target: Target.CREATE, createRevision: 0 };
    case 'created-at':
      return { key, target: Target.CREATE, createRevision: comparison.createRevision };
    case 'modified-at':
      return { key, target: Target.MOD, modRevision: comparison.modRevision };
    case 'equals':
      return { key, target: Target.VALUE, value: bytesOf(comparison.value) };
  }
}

export function requestOf(operation: Operation): MessageInits['RequestOp'] {
  const key = bytesOf(operation.key);
  if (operation.kind === 'delete') return { requestDeleteRange: { key } };
  return { requestPut: { key, value: bytesOf(operation.value), lease: operation.leaseId ?? 0 } };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
