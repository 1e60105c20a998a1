/**
 * The answer to List: all machines or those that changed since a cursor, filtered by state, up to a limit. A limited listing
 * is in the order of changes, and its revision is that of its last machine, so that the next one continues there.
 *
 * A cursor is 16 bytes: a random number of this process, then the revision. After a restart the record of changes is lost, so
 * the cursors of another process are unknown, and an unknown cursor is answered with everything.
 */
import { randomBytes } from 'node:crypto';
import { ByteWriter, varintBytes } from '../base/byte-writer.ts';
import { encode } from '../wire/codec.ts';
import type { OutgoingMessage } from '../wire/outgoing-message.ts';
import { Refusal } from './errors.ts';
import type { Fleet } from './fleet.ts';
import { encodedMachine, type MachineRecord } from './record.ts';

export interface ListCall {
  /** Empty or left out: all states. */
  readonly states?: readonly number[];
  /** 0 or left out: no limit. */
  readonly maxResults?: number;
  readonly sinceRevision?: Uint8Array;
}

const INCARNATION_BYTES = 8;
const CURSOR_BYTES = 16;
/** Field 1 of MachineList, with a length. */
const MACHINE_TAG = 0x0a;
/** Older than every change. */
const BEFORE_ALL = 0;

export class Listings {
  readonly #fleet: Fleet;
  readonly #providerName: string;
  readonly #incarnation = randomBytes(INCARNATION_BYTES);

  constructor(fleet: Fleet, providerName: string) {
    this.#fleet = fleet;
    this.#providerName = providerName;
  }

  /** A MachineList that is written while it is sent. It must be sent before a machine changes. */
  list(call: ListCall): OutgoingMessage {
    const { states = [], maxResults = 0, sinceRevision = new Uint8Array() } = call;
    if (maxResults < 0) throw new Refusal('invalid_argument', `max_results is ${maxResults}`);
    const fleet = this.#fleet;
    const since = this.#revisionOf(sinceRevision);
    const isWanted = ({ facts }: MachineRecord) => states.length === 0 || states.includes(facts.state);
    const candidates = since === null ? [...fleet.records] : fleet.changedAfter(since);
    let machines = candidates.filter(isWanted);
    let revision = fleet.revision;
    if (maxResults > 0 && machines.length > maxResults) {
      machines = fleet
        .changedAfter(since ?? BEFORE_ALL)
        .filter(isWanted)
        .slice(0, maxResults);
      revision = machines[maxResults - 1]!.revision;
    }
    const deletedIds = since === null ? [] : fleet.removedBetween(since, revision);
    const end = encode('MachineList', { revision: this.#cursorAt(revision), deletedIds });
    return new ListMessage(
      machines.map((record) => encodedMachine(record, this.#providerName)),
      end,
    );
  }

  #cursorAt(revision: number): Buffer {
    const cursor = Buffer.alloc(CURSOR_BYTES);
    this.#incarnation.copy(cursor);
    cursor.writeBigUInt64BE(BigInt(revision), INCARNATION_BYTES);
    return cursor;
  }

  /** Null: everything. */
  #revisionOf(cursor: Uint8Array): number | null {
    if (cursor.byteLength !== CURSOR_BYTES) return null;
    const bytes = Buffer.from(cursor.buffer, cursor.byteOffset, cursor.byteLength);
    if (!bytes.subarray(0, INCARNATION_BYTES).equals(this.#incarnation)) return null;
    const revision = Number(bytes.readBigUInt64BE(INCARNATION_BYTES));
    return this.#fleet.remembersSince(revision) ? revision : null;
  }
}

/** Machines that are already encoded, copied into the frame of the answer. */
class ListMessage implements OutgoingMessage {
  readonly byteLength: number;
  readonly #machines: readonly Buffer[];
  readonly #end: Buffer;

  constructor(machines: readonly Buffer[], end: Buffer) {
    this.#machines = machines;
    this.#end = end;
    this.byteLength = machines.reduce(
      (bytes, { length }) => bytes + 1 + varintBytes(length) + length,
      end.length,
    );
  }

  copy(into: Buffer, at: number): number {
    const writer = new ByteWriter();
    writer.openIn(into, at);
    for (const machine of this.#machines) {
      writer.tag(MACHINE_TAG);
      writer.varint(machine.length);
      writer.raw(machine);
    }
    writer.raw(this.#end);
    return this.byteLength;
  }
}
