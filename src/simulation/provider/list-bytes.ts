/**
 * A listing as a message, straight from the columns. The part that a kind shares is encoded once and kept,
 * because kinds never change. The part of a single machine is kept for listings of the whole fleet, which
 * come every ten seconds and differ little; a short listing is encoded on request.
 */
import type { OutgoingMessage } from '../../wire/outgoing-message.ts';
import { MachineListEncoder, MachineRow, writeMachine } from './encode/encoder.ts';
import { encodeShape, NO_BYTES, shardMetadataView } from './encode/parts.ts';
import type { SelectedRows } from './listing.ts';
import { hostRefOf } from './machines.ts';
import { OwnParts } from './own-parts.ts';
import { WholeListing } from './whole-listing.ts';
import type { World } from './world.ts';

const NO_MACHINES = { rowCount: 0, read: () => {} };

export class ListBytes {
  readonly #world: World;
  readonly #encoder = new MachineListEncoder();
  readonly #kindBytes: Uint8Array[] = [];
  readonly #own: OwnParts;
  readonly #row = new MachineRow();

  constructor(world: World) {
    this.#world = world;
    this.#own = new OwnParts(world.fleet, (row, writer) => {
      this.#read(row, this.#row);
      writeMachine(writer, this.#row);
    });
  }

  /** Makes the first listing as fast as later ones. */
  prepare(): void {
    this.#own.refresh();
  }

  /** The message must be sent before a machine changes. */
  message({ rows, revision, deletedIds }: SelectedRows): OutgoingMessage {
    const end = { revision, deletedIds };
    if (rows.length < this.#world.fleet.machineCount) {
      const read = (index: number, into: MachineRow) => {
        const shape = this.#shapeOf(rows[index]!);
        this.#read(rows[index]!, into);
        into.shape = shape;
      };
      return this.#encoder.encodeList({ rowCount: rows.length, read }, end);
    }
    this.#own.refresh();
    const shapeOf = (row: number) => this.#shapeOf(row);
    return new WholeListing(rows, this.#own, shapeOf, this.#encoder.encodeList(NO_MACHINES, end));
  }

  #shapeOf(row: number): Uint8Array {
    const kind = this.#world.fleet.kind[row]!;
    const known = this.#kindBytes[kind];
    if (known !== undefined) return known;
    const bytes = encodeShape(this.#world.kinds.kinds[kind]!);
    this.#kindBytes[kind] = bytes;
    return bytes;
  }

  /** Fills all fields but the shape. The row must be written before the next one is read. */
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
    into.shape = NO_BYTES;
    into.shardMetadata = binding === null ? NO_BYTES : shardMetadataView(binding.shardMetadata);
  }
}
