/**
 * The changing demand of a cluster: jobs end and similar ones begin, needs grow, shrink, go and come back. A
 * later change reverts each change, so that after hours the demand is still close to the plan, which fits the
 * fleet (docs/adr/0012).
 *
 *   change                           effect on the shard
 *   a small gang gets a new name     none: its fold is as large as before
 *   more or fewer small gangs        one machine more or less, when the fold's last one fills or empties
 *   a plain need grows or shrinks    one machine more or less
 *   a plain need is replaced         the new need takes over its machines
 *   a spanning gang is replaced      the same
 *   a spanning gang is withdrawn     its machines are unassigned until it comes back
 */
import type { ByteWriter } from '../../base/byte-writer.ts';
import type { Random } from '../../base/random.ts';
import type { DemandSource } from '../../operator-kit/frames.ts';
import type { MachineType } from '../catalogue/hardware.ts';
import type { SteadyDemand } from '../catalogue/steady-demand.ts';
import { burstNeed } from './burst.ts';
import type { EncodedParts } from './encoded-parts.ts';
import { LiveNeed } from './live-need.ts';

/** Share of the changes of small gangs that give a new name; the others change the number of gangs. */
const RENAMED_SHARE = 0.6;
/** Share of the changes of spanning gangs that replace one; the others withdraw one for a while. */
const GANG_REPLACED_SHARE = 0.9;
/** Numbers of jobs that begin later; jobs of the plan are numbered from 0. */
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
  /** The need of every row of the plan. Drawing a row makes needs change in proportion to their rows. */
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

  /** Changes this share of the rows; a fraction of a row is rounded at random. */
  churn(rowShare: number): void {
    const rows = this.#needOfRow;
    const changes = Math.floor(rows.length * rowShare + this.#random.unit());
    for (let change = 0; change < changes && rows.length > 0; change++) {
      this.#change(this.#needs[rows[this.#random.below(rows.length)]!]!);
    }
    if (changes > 0) this.#recount();
  }

  /** Adds a need of the highest priority for this many machines of a type, until `endBurst`. */
  beginBurst(type: number, machineCount: number): void {
    this.#bursts.push(burstNeed(this.#types[type]!, type, machineCount, this.#parts));
    this.#recount();
  }

  endBurst(): void {
    this.#bursts = [];
    this.#recount();
  }

  /** True withdraws every second need; false restores them. */
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
