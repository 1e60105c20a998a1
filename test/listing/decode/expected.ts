/**
 * The meaning of a listing, in plain code: protobufjs decodes it, and each message becomes a machine or a reason for its
 * rejection. The columnar decoder must agree.
 */
import { parseSupply } from '../../../src/base/quantity.ts';
import { INVALID_REASONS, type MachineBatch } from '../../../src/listing/decode/batch.ts';
import { idsOf, machineAt, revisionOf } from '../../../src/listing/decode/rows.ts';
import { type CapacityType, isCapacityType } from '../../../src/machine/capacity-type.ts';
import {
  type Assignment,
  findInvalid,
  type InvalidReason,
  type Machine,
} from '../../../src/machine/machine.ts';
import { bucketOfDollars } from '../../../src/machine/penalty.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { decode } from '../../../src/wire/codec.ts';
import type { Machine as MachineMessage } from '../../../src/wire/protocol.generated.ts';

export interface Meaning {
  readonly machines: readonly Machine[];
  readonly rejectedIds: readonly string[];
  readonly rejectedCounts: Readonly<Record<InvalidReason, number>>;
  readonly duplicateIdCount: number;
  readonly deletedIds: readonly string[];
  readonly revision: readonly number[];
}

/** Throws what protobufjs throws if the bytes are not a MachineList. */
export function expectedMeaning(bytes: Uint8Array): Meaning {
  const message = decode('MachineList', bytes);
  const machines = new Map<string, Machine>();
  const rejectedIds: string[] = [];
  const rejectedCounts = { price: 0, interruption_probability: 0, structural: 0 };
  let duplicateIdCount = 0;
  for (const record of message.machines) {
    const result = expectedMachine(record);
    if (typeof result === 'string') {
      rejectedIds.push(record.id);
      rejectedCounts[result]++;
      continue;
    }
    if (machines.has(result.id)) duplicateIdCount++;
    machines.set(result.id, result); // a Map keeps the place of the first
  }
  return {
    machines: [...machines.values()],
    rejectedIds,
    rejectedCounts,
    duplicateIdCount,
    deletedIds: [...message.deletedIds],
    revision: [...message.revision],
  };
}

export function meaningOf(batch: MachineBatch): Meaning {
  const [price, interruption_probability, structural] = INVALID_REASONS.map(
    (_, index) => batch.rejectedCounts[index]!,
  ) as [number, number, number];
  return {
    machines: Array.from({ length: batch.rowCount }, (_, row) => machineAt(batch, row)),
    rejectedIds: idsOf(batch, batch.rejectedIds),
    rejectedCounts: { price, interruption_probability, structural },
    duplicateIdCount: batch.duplicateIdCount,
    deletedIds: idsOf(batch, batch.deletedIds),
    revision: [...revisionOf(batch)],
  };
}

export function expectedMachine(record: MachineMessage): Machine | InvalidReason {
  const host = record.host;
  const hasHost = host !== null && (host.provider !== '' || host.ref !== '');
  const invalid = findInvalid(record.id, {
    state: record.state,
    hasHost,
    hasCluster: record.cluster !== '',
    hasLastError: true,
    pricePerHourUsd: record.pricePerHour,
    interruptionProbability: record.interruptionProbability,
  });
  if (invalid !== null) return invalid.reason;
  const resources = amounts(record.resources?.resources ?? {});
  const allocatable = record.allocatable === null ? resources : amounts(record.allocatable.resources);
  if (resources === null || allocatable === null) return 'structural';
  return {
    id: record.id,
    state: record.state as MachineState,
    host: hasHost ? { provider: host.provider, ref: host.ref } : null,
    instanceType: record.instanceType,
    zone: record.zone,
    capacityType: isCapacityType(record.capacityType) ? record.capacityType : (0 as CapacityType),
    pricePerHourUsd: record.pricePerHour + 0,
    interruptionProbability: record.interruptionProbability + 0,
    capacity: allocatable,
    labels: Object.fromEntries(Object.entries(record.labels)),
    cluster: record.cluster,
    assignment: expectedAssignment(record.shardMetadata),
    lastError:
      record.lastError === '' && record.state === MachineState.Failed
        ? 'the provider reported FAILED without last_error'
        : record.lastError,
  };
}

function amounts(quantities: Readonly<Record<string, string>>): Record<string, number> | null {
  const result: [string, number][] = [];
  for (const [name, text] of Object.entries(quantities)) {
    try {
      const units = parseSupply(name, text);
      if (units !== 0) result.push([name, units]);
    } catch {
      return null;
    }
  }
  return Object.fromEntries(result);
}

function expectedAssignment(metadata: Readonly<Record<string, string>>): Assignment | null {
  const values = new Map(
    Object.entries(metadata).map(([key, value]) => [key.replace('bigfleet.lucy.sh/assigned-', '!'), value]),
  );
  const integer = /^[+-]?\d+$/.test(values.get('!priority') ?? '')
    ? Number(values.get('!priority'))
    : Number.NaN;
  const priority = integer >= -(2 ** 31) && integer < 2 ** 31 ? integer + 0 : null;
  const interruption = expectedBucket(values.get('!interruption-penalty-dollars'));
  const reclamation = expectedBucket(values.get('!reclamation-penalty-dollars'));
  const fingerprint = values.get('!need-fingerprint');
  const group = values.get('!group');
  const known = [priority, interruption, reclamation, fingerprint ?? null, group ?? null];
  if (known.every((value) => value === null)) return null;
  return {
    priority: priority ?? 0,
    interruptionPenalty: interruption ?? 0,
    reclamationPenalty: reclamation ?? 0,
    fingerprint: fingerprint ?? '',
    group: group ?? '',
  };
}

function expectedBucket(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\+?inf(inity)?$/i.test(text)) return bucketOfDollars(Number.POSITIVE_INFINITY);
  return /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && text.length <= 64
    ? bucketOfDollars(Number(text))
    : null;
}
