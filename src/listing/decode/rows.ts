/** Rows and shapes of a batch as objects, for the few that are passed on, displayed or tested. */
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { Assignment, Machine, ResourceAmounts } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { MachineBatch, RangeList } from './batch.ts';
import { unitsOfWords } from './entry-tables.ts';
import { endOf, startOf } from './range-table.ts';
import { textOf } from './ranges.ts';
import { cutEnd, LAST_ERROR_BYTES_MAX } from './text-limits.ts';

/** The last_error of a Failed machine whose provider gave none. */
export const UNKNOWN_ERROR = 'the provider reported FAILED without last_error';

export interface DecodedShape {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: ResourceAmounts;
}

export function idAt(batch: MachineBatch, row: number): string {
  return textOf(batch.bytes, batch.idStart[row]!, batch.idEnd[row]!);
}

export function stringAt(batch: MachineBatch, ref: number): string {
  return ref === 0 ? '' : textOf(batch.bytes, startOf(batch.strings, ref), endOf(batch.strings, ref));
}

export function lastErrorAt(batch: MachineBatch, row: number): string {
  const start = batch.lastErrorStart[row]!;
  const end = cutEnd(batch.bytes, start, batch.lastErrorEnd[row]!, LAST_ERROR_BYTES_MAX);
  const text = textOf(batch.bytes, start, end);
  return text === '' && batch.state[row] === MachineState.Failed ? UNKNOWN_ERROR : text;
}

/** A copy: it outlives the answer. */
export function revisionOf(batch: MachineBatch): Uint8Array {
  return batch.bytes.slice(batch.revisionStart, batch.revisionEnd);
}

/** Deleted or rejected ids as strings. */
export function idsOf(batch: MachineBatch, list: RangeList): string[] {
  return Array.from({ length: list.count }, (_, index) =>
    textOf(batch.bytes, list.start[index]!, list.end[index]!),
  );
}

/** The machine's own labels, which are not part of its shape. */
export function ownLabelsAt(batch: MachineBatch, row: number): Record<string, string> {
  const { ownLabelKeys, ownLabelStart, ownLabelEnd } = batch;
  const labels: [string, string][] = [];
  for (const [index, key] of ownLabelKeys.entries()) {
    const at = row * ownLabelKeys.length + index;
    if (ownLabelStart[at] === 0) continue;
    labels.push([key, textOf(batch.bytes, ownLabelStart[at]!, ownLabelEnd[at]!)]);
  }
  return Object.fromEntries(labels);
}

export function shapeAt(batch: MachineBatch, shape: number): DecodedShape {
  const { words, wordStart } = batch.shapes;
  const end = wordStart[shape + 1]!;
  let at = wordStart[shape]!;
  const instanceType = stringAt(batch, words[at++]!);
  const zone = stringAt(batch, words[at++]!);
  const capacityType = words[at++]! as CapacityType;
  const labelCount = words[at++]!;
  const labels: [string, string][] = [];
  const capacity: [string, number][] = [];
  for (let label = 0; label < labelCount; label++, at += 2) {
    labels.push([stringAt(batch, words[at]!), stringAt(batch, words[at + 1]!)]);
  }
  for (; at < end; at += 3) {
    capacity.push([stringAt(batch, words[at]!), unitsOfWords(words[at + 1]!, words[at + 2]!)]);
  }
  // fromEntries and not assignment: a label may be named __proto__.
  return {
    instanceType,
    zone,
    capacityType,
    labels: Object.fromEntries(labels),
    capacity: Object.fromEntries(capacity),
  };
}

export function machineAt(batch: MachineBatch, row: number): Machine {
  const shape = shapeAt(batch, batch.shape[row]!);
  const provider = textOf(batch.bytes, batch.hostProviderStart[row]!, batch.hostProviderEnd[row]!);
  const ref = textOf(batch.bytes, batch.hostRefStart[row]!, batch.hostRefEnd[row]!);
  return {
    id: idAt(batch, row),
    state: batch.state[row]! as MachineState,
    host: provider === '' && ref === '' ? null : { provider, ref },
    ...shape,
    pricePerHourUsd: batch.pricePerHourUsd[row]!,
    interruptionProbability: batch.interruptionProbability[row]!,
    labels: { ...shape.labels, ...ownLabelsAt(batch, row) },
    cluster: stringAt(batch, batch.cluster[row]!),
    assignment: batch.assignmentKeys[row] === 0 ? null : assignmentAt(batch, row),
    lastError: lastErrorAt(batch, row),
  };
}

/** The row's assignment; a missing or malformed key is 0 or empty. */
export function assignmentAt(batch: MachineBatch, row: number): Assignment {
  return {
    fingerprint: stringAt(batch, batch.need[row]!),
    group: stringAt(batch, batch.group[row]!),
    priority: batch.priority[row]!,
    interruptionPenalty: batch.interruptionPenalty[row]!,
    reclamationPenalty: batch.reclamationPenalty[row]!,
  };
}
