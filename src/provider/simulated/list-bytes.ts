/**
 * A listing as bytes, straight from the columns. What machines share is encoded once and kept: a kind's
 * part for ever (kinds never change), a binding's metadata as long as somebody holds it.
 */
import { MachineListEncoder, type MachineRow } from '../encode/encoder.ts';
import { encodeShape, encodeShardMetadata, NO_BYTES } from '../encode/parts.ts';
import type { StringMap } from './kinds.ts';
import type { Listing } from './listing.ts';
import { hostRefOf } from './machines.ts';
import type { World } from './world.ts';

export class ListBytes {
  readonly #world: World;
  readonly #encoder = new MachineListEncoder();
  readonly #kindBytes: Uint8Array[] = [];
  readonly #metadataBytes = new WeakMap<StringMap, Uint8Array>();

  constructor(world: World) {
    this.#world = world;
  }

  encode({ rows, revision, deletedIds }: Listing): Uint8Array {
    const read = (index: number, into: MachineRow) => this.#read(rows[index]!, into);
    return this.#encoder.encodeList({ rowCount: rows.length, read }, { revision, deletedIds });
  }

  #read(row: number, into: MachineRow): void {
    const { fleet, settings } = this.#world;
    const binding = fleet.bindings[row] ?? null;
    const isHosted = fleet.hosted[row] === 1;
    into.id = fleet.ids[row]!;
    into.state = fleet.state[row]!;
    into.pricePerHourUsd = fleet.pricePerHourUsd[row]!;
    into.interruptionProbability = fleet.interruptionProbability[row]!;
    into.hostProvider = isHosted ? settings.name : '';
    into.hostRef = isHosted ? hostRefOf(fleet, row) : '';
    into.cluster = binding?.cluster ?? '';
    into.lastError = fleet.lastErrors.get(row) ?? '';
    into.shape = this.#kindPart(fleet.kind[row]!);
    into.shardMetadata = binding === null ? NO_BYTES : this.#metadataPart(binding.shardMetadata);
  }

  #kindPart(kind: number): Uint8Array {
    const known = this.#kindBytes[kind];
    if (known !== undefined) return known;
    const bytes = encodeShape(this.#world.kinds.kinds[kind]!);
    this.#kindBytes[kind] = bytes;
    return bytes;
  }

  #metadataPart(metadata: StringMap): Uint8Array {
    const known = this.#metadataBytes.get(metadata);
    if (known !== undefined) return known;
    const bytes = encodeShardMetadata(metadata);
    this.#metadataBytes.set(metadata, bytes);
    return bytes;
  }
}
