/** Encodes listings, compares them with an inventory in this thread, and turns the result into machines again. */
import type { Inventory } from '../../../src/inventory/inventory.ts';
import { parseOwnLabels, parseShapeKey } from '../../../src/inventory/shape-key-reader.ts';
import { type ComparedListing, ListingComparison } from '../../../src/listing/compare/comparison.ts';
import { ASSIGNMENT_KEY_NAMES } from '../../../src/listing/decode/assignment.ts';
import { MachineDecoder } from '../../../src/listing/decode/decoder.ts';
import type { CapacityType } from '../../../src/machine/capacity-type.ts';
import type { Machine } from '../../../src/machine/machine.ts';
import type { MachineState } from '../../../src/machine/state.ts';
import type { ListingRows } from '../../../src/shard/ports/providers.ts';
import { encode } from '../../../src/wire/codec.ts';
import type { MachineInit } from '../../../src/wire/protocol.generated.ts';

export const OWN_LABEL = 'kubernetes.io/hostname';

/** A machine as its provider would write it. Penalties are bucket numbers: 1 is $0, 27 pinned. */
export function onWire(machine: Machine): MachineInit {
  const { capacity, assignment } = machine;
  const shardMetadata =
    assignment === null
      ? {}
      : {
          [ASSIGNMENT_KEY_NAMES[1]]: `${assignment.priority}`,
          [ASSIGNMENT_KEY_NAMES[2]]: dollarsOf(assignment.interruptionPenalty),
          [ASSIGNMENT_KEY_NAMES[4]]: dollarsOf(assignment.reclamationPenalty),
          [ASSIGNMENT_KEY_NAMES[8]]: assignment.fingerprint,
          [ASSIGNMENT_KEY_NAMES[16]]: assignment.group,
        };
  const resources = Object.fromEntries(
    Object.entries(capacity).map(([name, units]) => [name, name === 'memory' ? `${units}Ki` : `${units}m`]),
  );
  return {
    id: machine.id,
    state: machine.state,
    host: machine.host,
    instanceType: machine.instanceType,
    zone: machine.zone,
    capacityType: machine.capacityType,
    pricePerHour: machine.pricePerHourUsd,
    interruptionProbability: machine.interruptionProbability,
    resources: { resources },
    labels: machine.labels,
    lastError: machine.lastError,
    cluster: machine.cluster,
    shardMetadata,
  };
}

function dollarsOf(bucket: number): string {
  if (bucket === 27) return '+Inf';
  return bucket <= 1 ? '0' : `${2 ** (bucket - 3)}`;
}

export interface ListingParts {
  readonly deletedIds?: readonly string[];
  readonly revision?: Uint8Array;
  readonly isFull?: boolean;
  readonly provider?: number;
}

/** Compares listings with one inventory, one after the other, as the listing thread does. */
export class Lister {
  readonly #decoder = new MachineDecoder({ ownLabelKeys: [OWN_LABEL] });
  readonly #comparison: ListingComparison;

  constructor(inventory: Inventory) {
    this.#comparison = new ListingComparison(inventory.share(), ['p0', 'p1']);
  }

  list(machines: readonly MachineInit[], parts: ListingParts = {}): ComparedListing {
    const { deletedIds = [], revision = new Uint8Array(0), isFull = true, provider = 0 } = parts;
    const bytes = encode('MachineList', { machines, deletedIds, revision });
    return this.#comparison.compare(this.#decoder.decodeList(bytes), { provider, isFull });
  }
}

function text(rows: ListingRows, start: Uint32Array, end: Uint32Array, index: number): string {
  return Buffer.from(rows.bytes.subarray(start[index], end[index])).toString('utf8');
}

/** The rows as machines. */
export function machinesOf(rows: ListingRows): Machine[] {
  const string = (index: number) => text(rows, rows.stringStart, rows.stringEnd, index);
  return Array.from({ length: rows.count }, (_, row) => {
    const index = rows.shape[row]!;
    const shape = parseShapeKey(rows.bytes, rows.shapeKeyStart[index]!, rows.shapeKeyEnd[index]!, new Map());
    const own = rows.bytes.slice(rows.ownLabelsStart[row], rows.ownLabelsEnd[row]);
    const provider = text(rows, rows.hostProviderStart, rows.hostProviderEnd, row);
    const ref = text(rows, rows.hostRefStart, rows.hostRefEnd, row);
    return {
      id: text(rows, rows.idStart, rows.idEnd, row),
      state: rows.state[row]! as MachineState,
      host: provider === '' && ref === '' ? null : { provider, ref },
      instanceType: shape.instanceType,
      zone: shape.zone,
      capacityType: shape.capacityType as CapacityType,
      pricePerHourUsd: rows.pricePerHourUsd[row]!,
      interruptionProbability: rows.interruptionProbability[row]!,
      capacity: { ...shape.capacity },
      labels: { ...Object.fromEntries(shape.labels), ...parseOwnLabels(own, own.length, [OWN_LABEL]) },
      cluster: string(rows.cluster[row]!),
      assignment:
        rows.hasAssignment[row] === 0
          ? null
          : {
              fingerprint: string(rows.need[row]!),
              group: string(rows.group[row]!),
              priority: rows.priority[row]!,
              interruptionPenalty: rows.interruptionPenalty[row]!,
              reclamationPenalty: rows.reclamationPenalty[row]!,
            },
      lastError: text(rows, rows.lastErrorStart, rows.lastErrorEnd, row),
    };
  });
}

/** Ids of the slots that a listing removes. */
export function removedIds(inventory: Inventory, { removed }: ComparedListing): string[] {
  return Array.from(removed.slot, (slot) => inventory.idOf(slot)).sort();
}

/** Applies a listing with plain objects and without rules: every row is taken. */
export function applyAll(inventory: Inventory, listing: ComparedListing, provider = 0): void {
  for (const [index, machine] of machinesOf(listing.rows).entries()) {
    const slot = listing.rows.slot[index]!;
    if (slot === 0) inventory.insert(machine, provider, 0);
    else inventory.apply(slot, machine, 0, { force: true, generation: listing.rows.generation[index]! });
  }
  for (const slot of listing.removed.slot) inventory.remove(slot);
}
