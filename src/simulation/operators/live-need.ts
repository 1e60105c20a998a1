/**
 * The present and the planned state of one need of a cluster. The number of machines that it takes is known,
 * because the plan is exact (src/simulation/catalogue/demand.ts): adding one machine's worth of the scarce
 * dimension adds one machine, and a fold of small gangs takes as many machines as its gangs fill.
 */
import type { ByteWriter } from '../../base/byte-writer.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { PenaltyBucket } from '../../machine/penalty.ts';
import { closeRow, openRow } from '../../operator-kit/frames.ts';
import { type Form, filled, type PlannedNeed } from '../catalogue/demand.ts';
import type { MachineType } from '../catalogue/hardware.ts';
import type { EncodedParts } from './encoded-parts.ts';

/** Above every bucket of the plans, so that a replaced need never merges with another need. */
const REPLACED_BUCKET = 21;

export class LiveNeed {
  readonly form: Form;
  /** Index in the catalogue's types. */
  readonly type: number;
  readonly gangsPerMachine: number;
  readonly steadyMachines: number;
  readonly steadyRows: number;
  /** Job numbers: one per row of a gang, none for a plain need. */
  readonly jobs: number[];
  readonly #machineType: MachineType;
  readonly #parts: EncodedParts;
  readonly #fixed: Buffer;
  readonly #steadyAmounts: ResourceAmounts;
  readonly #steadyBuckets: readonly [PenaltyBucket, PenaltyBucket];
  #amounts: Buffer;
  #buckets: readonly [PenaltyBucket, PenaltyBucket];
  #machines: number;

  constructor(planned: PlannedNeed, type: number, parts: EncodedParts) {
    const { profile, aggregate, minUnit, places, groups } = planned;
    this.form = planned.form;
    this.type = type;
    this.gangsPerMachine = planned.gangsPerMachine;
    this.steadyMachines = places.length;
    this.steadyRows = groups.length;
    this.jobs =
      this.form === 'plain' ? [] : groups.map((group) => Number(group.slice(group.lastIndexOf('-') + 1)));
    this.#machineType = places[0]!.type;
    this.#parts = parts;
    this.#fixed = parts.fixed(profile, minUnit);
    this.#steadyAmounts = aggregate;
    this.#steadyBuckets = [profile.interruptionPenalty, profile.reclamationPenalty];
    this.#amounts = parts.amounts(aggregate);
    this.#buckets = this.#steadyBuckets;
    this.#machines = places.length;
  }

  get isSteady(): boolean {
    return this.#machines === this.steadyMachines && this.rowCount === this.steadyRows && !this.isReplaced;
  }

  get isReplaced(): boolean {
    return this.#buckets !== this.#steadyBuckets;
  }

  get machines(): number {
    return this.form === 'small' ? Math.ceil(this.jobs.length / this.gangsPerMachine) : this.#machines;
  }

  get rowCount(): number {
    if (this.form === 'small') return this.jobs.length;
    return this.#machines > 0 ? 1 : 0;
  }

  /** For a plain need or a spanning gang; 0 withdraws it. */
  setMachines(count: number): void {
    this.#machines = count;
    if (count === 0) return;
    const more = filled(this.#machineType, Math.abs(count - this.steadyMachines));
    const sign = Math.sign(count - this.steadyMachines);
    const amounts = Object.entries(this.#steadyAmounts).map(
      ([name, units]) => [name, Math.max(1_000, units + sign * (more[name] ?? 0))] as const,
    );
    this.#amounts = this.#parts.amounts(sign === 0 ? this.#steadyAmounts : Object.fromEntries(amounts));
  }

  /** The same amounts under another profile: for the shard one need ends and another begins. */
  replace(variant: number): void {
    this.#buckets = [REPLACED_BUCKET + (variant % 6), REPLACED_BUCKET + (Math.floor(variant / 6) % 6)];
  }

  /** Returns to the plan; gangs keep their present names. */
  restore(): void {
    this.#buckets = this.#steadyBuckets;
    if (this.form !== 'small') this.setMachines(this.steadyMachines);
  }

  writeRows(writer: ByteWriter, groupPrefix: string): void {
    if (this.form === 'plain') {
      if (this.#machines > 0) this.#writeRow(writer, '');
    } else if (this.form === 'small' || this.#machines > 0) {
      for (const job of this.jobs) this.#writeRow(writer, groupPrefix + job);
    }
  }

  #writeRow(writer: ByteWriter, group: string): void {
    const start = openRow(writer);
    writer.raw(this.#fixed);
    writer.raw(this.#amounts);
    writer.tag(0x30);
    writer.varint(this.#buckets[0]);
    writer.tag(0x38);
    writer.varint(this.#buckets[1]);
    if (group !== '') writer.text(0x4a, group);
    closeRow(writer, start);
  }
}
