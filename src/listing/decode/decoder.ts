/**
 * Decodes a provider's answers from bytes to columns in one pass: List, Get and the acks of lifecycle calls.
 *
 *   const decoder = new MachineDecoder();
 *   const batch = decoder.decodeList(bytes);             // the decoder's one batch, valid until the next decode
 *   for (let row = 0; row < batch.rowCount; row++) …     // batch.ts: the columns; rows.ts: a row as an object
 *
 * A large listing can also be read in parts, into the same batch: `beginList`, then `readList` until it returns false.
 * Rows of earlier parts stay, unless a later record has their id (`repeatedRows`).
 *
 * The decoder validates each record once. A record that breaks a rule becomes no row: the batch counts it by reason and
 * keeps its id, so that the machine is not taken for removed. So does a machine of a listing whose own bytes are malformed:
 * its length says where the next one begins. Other bytes that are not a message are an error and leave the batch empty, and so
 * is a listing in which every record is malformed and has no readable id.
 *
 * - An id listed twice is one row: the last valid record counts, as for every repeated field in protobuf.
 * - A string that is not UTF-8 or too long (text-limits.ts) rejects its record; in an assignment only its key. `last_error`
 *   may be anything, and is cut.
 * - A host with neither provider nor ref is no host. An unknown capacity type is Unspecified.
 * - `allocatable` counts if it is present, even if empty.
 */
import { hashBytes } from '../../base/hash.ts';
import { isCapacityType } from '../../machine/capacity-type.ts';
import { AnswerReader } from './answer-reader.ts';
import { INVALID_REASONS, MachineBatch, REJECTION_TEXTS_MAX } from './batch.ts';
import { LabelEntries, ResourceEntries } from './entry-tables.ts';
import { AnswerTooLargeError, MalformedAnswerError, MalformedRecordError } from './errors.ts';
import { IdIndex, INDEXED_ROWS_MAX } from './id-index.ts';
import { MachineReader, RowFault } from './machine-reader.ts';
import { RangeTable } from './range-table.ts';
import { isText, textOf } from './ranges.ts';
import { ShapeTable } from './shape-table.ts';
import { cutEnd } from './text-limits.ts';
import { type FaultDetail, isAllowed, reasonOf, refusalOf } from './validity.ts';

/** 1 GiB: four times 500,000 machines of 500 bytes. Also keeps every offset below 2^31. */
export const ANSWER_BYTES_MAX = 2 ** 30;

/** Four times the default capacity of an inventory; at 85 bytes a row, 360 MB of columns. */
export const RECORDS_MAX = 2 ** 22;

/** Of an id in an error text: the rest of the text must stay readable. */
const SHOWN_ID_BYTES_MAX = 128;
const SHOWN_TEXT_BYTES_MAX = 64;

export interface MachineDecoderOptions {
  /** Labels whose values differ per machine; they are not part of a shape. */
  readonly ownLabelKeys?: readonly string[];
  readonly bytesMax?: number;
  /** Maximum machines of one answer, and maximum deleted ids. */
  readonly recordsMax?: number;
}

export class MachineDecoder {
  readonly batch: MachineBatch;
  readonly #bytesMax: number;
  readonly #recordsMax: number;
  readonly #reader = new AnswerReader();
  readonly #labels: LabelEntries;
  readonly #resources: ResourceEntries;
  readonly #machine: MachineReader;
  readonly #ids: IdIndex;
  #recordCount = 0;
  /** Of the latest RowFault.Malformed: what was found where. */
  #malformedWhat = '';
  #malformedAt = 0;

  constructor(options: MachineDecoderOptions = {}) {
    const { ownLabelKeys = ['kubernetes.io/hostname'] } = options;
    this.#bytesMax = Math.min(options.bytesMax ?? ANSWER_BYTES_MAX, ANSWER_BYTES_MAX);
    this.#recordsMax = Math.min(options.recordsMax ?? RECORDS_MAX, INDEXED_ROWS_MAX);
    const strings = new RangeTable();
    this.batch = new MachineBatch(strings, new ShapeTable(), ownLabelKeys);
    this.#labels = new LabelEntries(this.#reader, strings, ownLabelKeys);
    this.#resources = new ResourceEntries(this.#reader, strings);
    this.#machine = new MachineReader(this.#reader, strings, this.#labels, this.#resources, ownLabelKeys);
    this.#ids = new IdIndex(this.batch);
  }

  /** A MachineList. */
  decodeList(bytes: Uint8Array): MachineBatch {
    return this.#decode(bytes, () => this.#readList(bytes.length));
  }

  /** A MachineList in parts; reads nothing yet. */
  beginList(bytes: Uint8Array): MachineBatch {
    return this.#decode(bytes, () => {});
  }

  /** Reads the next part: the fields that begin within so many bytes. Returns whether there is more. */
  readList(byteCount: number): boolean {
    const { batch } = this;
    batch.beginPart();
    this.#reading(() => this.#readList(byteCount));
    return this.#reader.at < batch.bytes.length;
  }

  /** A Machine: one row, or one rejection. With an `askedId`, every other id is rejected. */
  decodeMachine(bytes: Uint8Array, askedId: string | null): MachineBatch {
    return this.#decode(bytes, () => {
      this.#machine.begin();
      this.#machine.read(0, bytes.length);
      this.#commit(askedId);
    });
  }

  /** A TransitionAck: the operation's id, and its machine as for `decodeMachine`. */
  decodeAck(bytes: Uint8Array, askedId: string | null): string {
    let operationId = '';
    this.#decode(bytes, () => {
      operationId = this.#readAck(bytes.length, askedId);
    });
    return operationId;
  }

  #decode(bytes: Uint8Array, read: () => void): MachineBatch {
    const { batch } = this;
    const reader = this.#reader;
    batch.reset(bytes.subarray(0, 0));
    if (bytes.length > this.#bytesMax) throw new AnswerTooLargeError('bytes', this.#bytesMax);
    reader.open(bytes);
    batch.reset(reader.bytes);
    batch.strings.reset(reader.bytes, reader.view);
    batch.shapes.reset();
    this.#labels.reset();
    this.#resources.reset();
    this.#machine.assignment.reset();
    this.#ids.reset();
    this.#recordCount = 0;
    this.#reading(read);
    return batch;
  }

  #reading(read: () => void): void {
    const { batch } = this;
    try {
      read();
    } catch (error) {
      batch.reset(batch.bytes.subarray(0, 0));
      throw error;
    }
  }

  #readList(byteCount: number): void {
    const reader = this.#reader;
    const machine = this.#machine;
    const { batch } = this;
    const recordsMax = this.#recordsMax;
    const end = batch.bytes.length;
    const stop = Math.min(end, reader.at + byteCount);
    while (reader.at < stop) {
      const tag = reader.tag(end);
      if (tag === 0x0a) {
        if (this.#recordCount === recordsMax) throw new AnswerTooLargeError('machines', recordsMax);
        const machineEnd = reader.lengthEnd(end);
        reader.row = this.#recordCount++;
        machine.begin();
        try {
          machine.read(reader.at, machineEnd);
        } catch (error) {
          this.#noteMalformed(error);
        }
        this.#commit(null);
        reader.row = null;
        reader.at = machineEnd;
      } else if (tag === 0x12) {
        batch.revisionEnd = reader.lengthEnd(end);
        batch.revisionStart = reader.at;
        reader.at = batch.revisionEnd;
      } else if (tag === 0x1a) {
        if (batch.deletedIds.count === recordsMax) throw new AnswerTooLargeError('deleted ids', recordsMax);
        const idEnd = reader.lengthEnd(end);
        batch.deletedIds.push(reader.at, idEnd);
        reader.at = idEnd;
      } else reader.skip(tag, end);
    }
    // Not one record of it is a machine, so it is no listing: a message of another type, or noise.
    const isNoise = reader.at >= end && batch.unnamedCount > 0 && batch.unnamedCount === this.#recordCount;
    if (isNoise) throw new MalformedAnswerError(this.#malformedAt, this.#malformedWhat);
  }

  #readAck(end: number, askedId: string | null): string {
    const reader = this.#reader;
    const machine = this.#machine;
    let operationId = '';
    machine.begin();
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) {
        const idEnd = reader.lengthEnd(end);
        operationId = textOf(reader.bytes, reader.at, idEnd);
        reader.at = idEnd;
      } else if (tag === 0x12) {
        const machineEnd = reader.lengthEnd(end);
        machine.read(reader.at, machineEnd); // parts of one message merge
        reader.at = machineEnd;
      } else reader.skip(tag, end);
    }
    this.#commit(askedId); // without a machine the id is empty, which rejects it
    return operationId;
  }

  /** T5: a malformed record hides no other. Fields before the fault were read, and nearly always the id is among them. */
  #noteMalformed(error: unknown): void {
    if (!(error instanceof MalformedRecordError)) throw error;
    const machine = this.#machine;
    machine.fault = RowFault.Malformed;
    this.#malformedWhat = error.what;
    this.#malformedAt = error.offset;
  }

  /** Turns the machine that was read into a row or a rejection. */
  #commit(askedId: string | null): void {
    const { batch } = this;
    const { bytes, view } = this.#reader;
    const machine = this.#machine;
    const { idStart, idEnd } = machine;
    machine.finish();
    if (machine.fault !== RowFault.None) {
      this.#refuse(machine.clusterEnd > machine.clusterStart, askedId);
      return;
    }
    const strings = batch.strings;
    const cluster = strings.intern(machine.clusterStart, machine.clusterEnd);
    const instanceType = strings.intern(machine.instanceTypeStart, machine.instanceTypeEnd);
    const zone = strings.intern(machine.zoneStart, machine.zoneEnd);
    const isAllText =
      (strings.text[cluster]! & strings.text[instanceType]! & strings.text[zone]!) === 1 &&
      isText(bytes, view, idStart, idEnd) &&
      isText(bytes, view, machine.hostProviderStart, machine.hostProviderEnd) &&
      isText(bytes, view, machine.hostRefStart, machine.hostRefEnd);
    if (!isAllText) machine.fault = RowFault.NotText;
    const hasHost = machine.hasHost();
    const { state, pricePerHourUsd, interruptionProbability } = machine;
    if (
      idStart === idEnd ||
      machine.fault !== RowFault.None ||
      !isAllowed(state, hasHost, cluster !== 0, pricePerHourUsd, interruptionProbability) ||
      (askedId !== null && askedId !== textOf(bytes, idStart, idEnd))
    ) {
      this.#refuse(cluster !== 0, askedId);
      return;
    }
    const row = this.#rowFor(hashBytes(bytes, idStart, idEnd));
    const capacityType = isCapacityType(machine.capacityType) ? machine.capacityType : 0;
    batch.capacityType[row] = capacityType;
    batch.shape[row] = batch.shapes.intern(
      instanceType,
      zone,
      capacityType,
      machine.labels,
      machine.capacity(),
    );
    batch.state[row] = state;
    batch.cluster[row] = cluster;
    batch.pricePerHourUsd[row] = pricePerHourUsd + 0; // −0 is 0
    batch.interruptionProbability[row] = interruptionProbability + 0;
    this.#writeAssignment(row);
    this.#writeOffsets(row);
  }

  #rowFor(hash: number): number {
    const { batch } = this;
    const { idStart, idEnd } = this.#machine;
    if (batch.rowCount === batch.idStart.length) batch.grow();
    const row = this.#ids.rowFor(this.#reader.view, hash, idStart, idEnd);
    if (row === batch.rowCount) batch.rowCount++;
    else batch.noteRepeated(row);
    batch.idHash[row] = hash;
    return row;
  }

  #writeAssignment(row: number): void {
    const { batch } = this;
    const { assignment } = this.#machine;
    batch.need[row] = assignment.need;
    batch.group[row] = assignment.group;
    batch.priority[row] = assignment.priority;
    batch.interruptionPenalty[row] = assignment.interruptionPenalty;
    batch.reclamationPenalty[row] = assignment.reclamationPenalty;
    batch.assignmentKeys[row] = assignment.keys;
  }

  #writeOffsets(row: number): void {
    const { batch } = this;
    const machine = this.#machine;
    batch.idStart[row] = machine.idStart;
    batch.idEnd[row] = machine.idEnd;
    batch.hostProviderStart[row] = machine.hostProviderStart;
    batch.hostProviderEnd[row] = machine.hostProviderEnd;
    batch.hostRefStart[row] = machine.hostRefStart;
    batch.hostRefEnd[row] = machine.hostRefEnd;
    batch.lastErrorStart[row] = machine.lastErrorStart;
    batch.lastErrorEnd[row] = machine.lastErrorEnd;
    const keyCount = machine.ownLabelStart.length;
    for (let key = 0; key < keyCount; key++) {
      batch.ownLabelStart[row * keyCount + key] = machine.ownLabelStart[key]!;
      batch.ownLabelEnd[row * keyCount + key] = machine.ownLabelEnd[key]!;
    }
  }

  #refuse(hasCluster: boolean, askedId: string | null): void {
    const { batch } = this;
    const machine = this.#machine;
    const { idStart, idEnd, state, pricePerHourUsd, interruptionProbability, fault } = machine;
    batch.rejectedIds.push(idStart, idEnd);
    if (fault === RowFault.Malformed && idStart === idEnd) batch.unnamedCount++;
    const isStructural = idStart === idEnd || fault === RowFault.Malformed || fault === RowFault.TooLong;
    const reason = isStructural ? 'structural' : reasonOf(state, pricePerHourUsd, interruptionProbability);
    batch.rejectedCounts[INVALID_REASONS.indexOf(reason)]!++;
    if (batch.rejectionTexts.length === REJECTION_TEXTS_MAX) return;
    const id = this.#shown(idStart, idEnd, SHOWN_ID_BYTES_MAX);
    const facts = { state, hasHost: machine.hasHost(), hasCluster, pricePerHourUsd, interruptionProbability };
    batch.rejectionTexts.push(refusalOf(id, facts, this.#faultDetail(fault), askedId).message);
  }

  #faultDetail(fault: RowFault): FaultDetail {
    const { longStart, longEnd, longWhat, longMax } = this.#machine;
    if (fault === RowFault.Malformed) {
      const what = `${this.#malformedWhat} at byte ${this.#malformedAt}`;
      return { fault, what, position: this.#recordCount };
    }
    if (fault !== RowFault.TooLong) return { fault };
    const begins = this.#shown(longStart, longEnd, SHOWN_TEXT_BYTES_MAX);
    return { fault, what: longWhat, begins, byteCount: longEnd - longStart, bytesMax: longMax };
  }

  #shown(start: number, end: number, bytesMax: number): string {
    const cut = cutEnd(this.batch.bytes, start, end, bytesMax);
    return textOf(this.batch.bytes, start, cut) + (cut === end ? '' : '…');
  }
}
