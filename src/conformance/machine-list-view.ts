/**
 * An encoded MachineList, decoded on demand. Decoding 500,000 machines into objects takes half a minute, and
 * a run lists dozens of times to examine one of them. So the view keeps the bytes, reads id and state of
 * each row, and decodes a whole machine only when a check asks for it.
 *
 *   column                     unit, meaning
 *   machineStart, machineEnd   u32, the encoded Machine within `bytes`
 *   states                     u8, the number on the wire; 255 for every number that does not fit
 *   ids                        string
 */
import { decode } from '../wire/codec.ts';
import type { Snapshot } from './snapshot.ts';
import { WireReader, WireType } from './wire-reader.ts';

/** Stands for every number that does not fit into the column. */
const OTHER_STATE = 255;
/** Field numbers of MachineList and Machine. */
const LIST_MACHINES = 1;
const LIST_REVISION = 2;
const LIST_DELETED_IDS = 3;
const MACHINE_ID = 1;
const MACHINE_STATE = 2;

export class MachineListView {
  readonly byteLength: number;
  readonly revision: Uint8Array;
  readonly deletedIds: readonly string[];
  readonly ids: readonly string[];
  readonly states: Uint8Array;
  readonly #bytes: Buffer;
  readonly #machineStart: Uint32Array;
  readonly #machineEnd: Uint32Array;
  #rowById: Map<string, number> | undefined;

  /** Throws MalformedMessageError if the bytes are not a MachineList. */
  constructor(bytes: Buffer) {
    const reader = new WireReader(bytes);
    const bounds: number[] = [];
    const deletedIds: string[] = [];
    let revision = new Uint8Array(0);
    while (reader.hasMore) {
      const tag = reader.uint32();
      if (tag === tagOf(LIST_MACHINES, WireType.Bytes)) bounds.push(reader.passBytes(), reader.offset);
      else if (tag === tagOf(LIST_DELETED_IDS, WireType.Bytes)) deletedIds.push(reader.text());
      else if (tag === tagOf(LIST_REVISION, WireType.Bytes)) {
        const start = reader.passBytes();
        revision = Uint8Array.from(bytes.subarray(start, reader.offset));
      } else reader.skip(tag & 7);
    }
    this.#bytes = bytes;
    this.byteLength = bytes.length;
    this.revision = revision;
    this.deletedIds = deletedIds;
    this.#machineStart = Uint32Array.from({ length: bounds.length / 2 }, (_, row) => bounds[2 * row]!);
    this.#machineEnd = Uint32Array.from({ length: bounds.length / 2 }, (_, row) => bounds[2 * row + 1]!);
    this.states = new Uint8Array(bounds.length / 2);
    this.ids = this.#readHeads();
  }

  get machineCount(): number {
    return this.states.length;
  }

  machine(row: number): Snapshot {
    return decode('Machine', this.#encoded(row));
  }

  /** -1 if the machine is not listed. */
  rowOf(machineId: string): number {
    if (this.#rowById === undefined) {
      this.#rowById = new Map();
      for (let row = this.machineCount - 1; row >= 0; row--) this.#rowById.set(this.ids[row]!, row);
    }
    return this.#rowById.get(machineId) ?? -1;
  }

  find(machineId: string): Snapshot | undefined {
    const row = this.rowOf(machineId);
    return row < 0 ? undefined : this.machine(row);
  }

  rowsInState(state: number): number[] {
    const rows: number[] = [];
    for (let row = 0; row < this.states.length; row++) if (this.states[row] === state) rows.push(row);
    return rows;
  }

  /** The ids of `other` that are not listed here. */
  idsMissingFrom(other: readonly string[]): string[] {
    return other.filter((id) => this.rowOf(id) < 0);
  }

  /** Rows with equal bytes need not be judged twice. */
  hasSameBytes(row: number, other: MachineListView, otherRow: number): boolean {
    return this.#encoded(row).equals(other.#encoded(otherRow));
  }

  #encoded(row: number): Buffer {
    return this.#bytes.subarray(this.#machineStart[row]!, this.#machineEnd[row]!);
  }

  /** Id and state of every machine. If a field is repeated, the last one counts, as in protobuf. */
  #readHeads(): string[] {
    const ids: string[] = [];
    for (let row = 0; row < this.machineCount; row++) {
      const reader = new WireReader(this.#bytes, this.#machineStart[row]!, this.#machineEnd[row]!);
      let id = '';
      let state = 0;
      while (reader.hasMore) {
        const tag = reader.uint32();
        if (tag === tagOf(MACHINE_ID, WireType.Bytes)) id = reader.text();
        else if (tag === tagOf(MACHINE_STATE, WireType.Varint)) state = reader.uint32();
        else reader.skip(tag & 7);
      }
      ids.push(id);
      this.states[row] = Math.min(state, OTHER_STATE);
    }
    return ids;
  }
}

function tagOf(fieldNumber: number, wireType: number): number {
  return (fieldNumber << 3) | wireType;
}
