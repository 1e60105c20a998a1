/**
 * A cluster's demand as it changes: jobs end and their like begin, needs grow, shrink, go and come back. Every
 * change is undone by a later one, so that after hours the demand is still about the planned one, which fits
 * the fleet (docs/adr/0012).
 *
 * What a change asks of the shard:
 *   a small gang under a new name      nothing: the fold that it joins is as large as before
 *   more or fewer small gangs          a machine more or less, when the fold's last one fills or empties
 *   a plain need grows or shrinks      a machine more or less
 *   a plain need is replaced           its machines go over to the need that replaces it
 *   a spanning gang is replaced        likewise; one that is withdrawn frees its machines until it comes back
 */
import type { ByteWriter } from '../../base/byte-writer.ts';
import type { Random } from '../../base/random.ts';
import type { MachineType } from '../catalogue/hardware.ts';
import type { SteadyDemand } from '../catalogue/steady-demand.ts';
import { burstNeed } from './burst.ts';
import type { EncodedParts } from './encoded-parts.ts';
import type { DemandSource } from './frames.ts';
import { LiveNeed } from './live-need.ts';

/** Of the small gangs that change: under a new name; the others become more or fewer. */
const RENAMED_SHARE = 0.6;
/** Of the spanning gangs that change: replaced; the others are withdrawn for a while. */
const GANG_REPLACED_SHARE = 0.9;
/** Jobs of the plan are numbered from 0; those that begin later from here. */
const NEW_JOB_NUMBER = 100_000;

export class ClusterDemand implements DemandSource {
  readonly clusterId: string;
  /** Machines that the roll-up asks for, by type. */
  readonly wantedByType: Int32Array;
  rowCount = 0;
  readonly #random: Random;
  readonly #types: readonly MachineType[];
  readonly #parts: EncodedParts;
  readonly #needs: LiveNeed[];
  /** The need of every row of the plan: drawn from, so that a need changes as often as it has rows. */
  readonly #needOfRow: Uint16Array;
  #bursts: LiveNeed[] = [];
  #isShrunk = false;
  #nextJob = NEW_JOB_NUMBER;

  constructor(demand: SteadyDemand, cluster: number, parts: EncodedParts, random: Random) {
    this.clusterId = demand.clusterId(cluster);
    this.#types = demand.catalogue.parts.types;
    this.#parts = parts;
    this.#random = random;
    this.#needs = demand
      .plan(cluster)
      .map((need) => new LiveNeed(need, this.#types.indexOf(need.places[0]!.type), parts));
    this.#needOfRow = Uint16Array.from(
      this.#needs.flatMap((need, index) => Array.from({ length: need.steadyRows }, () => index)),
    );
    this.wantedByType = new Int32Array(this.#types.length);
    this.#recount();
  }

  get wantedCount(): number {
    let count = 0;
    for (const wanted of this.wantedByType) count += wanted;
    return count;
  }

  /** Changes this share of the rows; a fraction of a row is a chance. */
  churn(rowShare: number): void {
    const rows = this.#needOfRow;
    const changes = Math.floor(rows.length * rowShare + this.#random.unit());
    for (let change = 0; change < changes && rows.length > 0; change++) {
      this.#change(this.#needs[rows[this.#random.below(rows.length)]!]!);
    }
    if (changes > 0) this.#recount();
  }

  /** A need of the highest priority for this many machines of a type, until `endBurst`. */
  beginBurst(type: number, machineCount: number): void {
    this.#bursts.push(burstNeed(this.#types[type]!, type, machineCount, this.#parts));
    this.#recount();
  }

  endBurst(): void {
    this.#bursts = [];
    this.#recount();
  }

  /** Every second need is withdrawn until it is told otherwise. */
  shrink(isShrunk: boolean): void {
    this.#isShrunk = isShrunk;
    this.#recount();
  }

  writeRows(writer: ByteWriter): void {
    const groupPrefix = `${this.clusterId}/job-`;
    for (const need of this.#live()) need.writeRows(writer, groupPrefix);
  }

  *#live(): Generator<LiveNeed> {
    const step = this.#isShrunk ? 2 : 1;
    for (let index = 0; index < this.#needs.length; index += step) yield this.#needs[index]!;
    yield* this.#bursts;
  }

  #recount(): void {
    this.wantedByType.fill(0);
    this.rowCount = 0;
    for (const need of this.#live()) {
      this.wantedByType[need.type]! += need.machines;
      this.rowCount += need.rowCount;
    }
  }

  #change(need: LiveNeed): void {
    if (!need.isSteady) this.#restore(need);
    else if (need.form === 'small') this.#changeSmall(need);
    else if (need.form === 'plain') this.#changePlain(need);
    else if (this.#random.chance(GANG_REPLACED_SHARE)) need.jobs[0] = this.#nextJob++;
    else need.setMachines(0);
  }

  #restore(need: LiveNeed): void {
    need.restore();
    if (need.form === 'spanning') need.jobs[0] = this.#nextJob++;
    if (need.form === 'small') this.#setJobCount(need, need.steadyRows);
  }

  #changeSmall(need: LiveNeed): void {
    const { jobs } = need;
    if (this.#random.chance(RENAMED_SHARE)) {
      jobs[this.#random.below(jobs.length)] = this.#nextJob++;
      return;
    }
    const step = this.#random.between(1, need.gangsPerMachine);
    this.#setJobCount(need, Math.max(0, jobs.length + (this.#random.chance(0.5) ? step : -step)));
  }

  #changePlain(need: LiveNeed): void {
    const draw = this.#random.below(3);
    if (draw === 0) need.replace(this.#random.below(36));
    else need.setMachines(need.steadyMachines + (draw === 1 ? 1 : -1));
  }

  #setJobCount(need: LiveNeed, count: number): void {
    need.jobs.length = Math.min(need.jobs.length, count);
    while (need.jobs.length < count) need.jobs.push(this.#nextJob++);
  }
}
