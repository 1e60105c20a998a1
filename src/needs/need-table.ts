/**
 * The demand of every cluster. A roll-up replaces its cluster's needs as a whole: the table checks, merges and
 * orders the rows and writes them as one contiguous slice of columns (need-columns.ts). A failure before the
 * write leaves the table unchanged.
 *
 * 2,000 clusters repeat themselves every ten seconds, so the cost must be in proportion to what is new. If the row
 * digests add up to those of the last roll-up, nothing more is done; otherwise the table keeps each row with a known
 * digest and decodes only the others. A cluster is dirty only if a need was added, withdrawn or changed.
 *
 * Rows of a slice stay where they are until their cluster is dirty.
 */
import { assert } from '../base/assert.ts';
import { ShardError } from '../base/errors.ts';
import type { StringTable } from '../base/string-table.ts';
import type { VectorTable } from '../base/vectors.ts';
import { Acceptance, type OldSlice, type RollupSource } from './acceptance.ts';
import { ClusterLedger, type DigestSum, type LedgerImage, sumOf } from './cluster-ledger.ts';
import { ClusterSlices } from './cluster-slices.ts';
import { FoldNames } from './fold-names.ts';
import { releaseRow, retainRow } from './need-columns.ts';
import { type ProfileImage, ProfileTable } from './profiles.ts';
import type { RollupRow } from './rollup.ts';
import type { DraftTables, RollupDraft } from './rollup-draft.ts';
import { roomFor } from './slice-allocator.ts';
import { type Backlog, type ComparesShapes, inOrder } from './take-up.ts';
import { TakeUps } from './take-ups.ts';
import { AcceptanceLimits, TABLE_SHARE_DEFAULT } from './tenant-limits.ts';

/** Five times the 776,000 needs that the largest shard is built for: 168 MB of columns. */
export const NEEDS_MAX = 4_194_304;

export type RollupOutcome =
  | 'applied' // demand changed: the cluster is dirty
  | 'unchanged' // accepted: it repeats the known demand
  | 'quarantined'; // not applied: a suspicious drop that more roll-ups must confirm

export interface NeedTableOptions {
  readonly clusters: StringTable;
  readonly fingerprints: StringTable;
  readonly groups: StringTable;
  readonly vectors: VectorTable;
  /** Quarantine roll-ups that drop most of a cluster's demand. Default: true. */
  readonly quarantine?: boolean;
  /** T1: largest share of each table that one cluster may have. */
  readonly tableShare?: number;
  /** For tests with small tables: rows that always fit. */
  readonly shareRowsMin?: number;
  /** T7: larger roll-ups are taken up in parts of this many rows, by `takeUp`. Default: every roll-up is taken up whole. */
  readonly takeUpRows?: number;
}

export interface NeedImage {
  readonly count: number;
  readonly profiles: ProfileImage;
  readonly profile: Uint32Array;
  readonly group: Uint32Array;
  readonly aggregate: Uint32Array;
  readonly minUnit: Uint32Array;
  readonly arrivalMs: Float64Array;
  readonly ledger: LedgerImage;
}

export class TooManyNeedsError extends ShardError {
  readonly code = 'too_many_needs';
  readonly next = 'reject-input';

  constructor(clusterId: string, needCount: number) {
    super(
      `The ${needCount} needs of cluster ${JSON.stringify(clusterId)} do not fit: a shard holds ${NEEDS_MAX}. ` +
        'The shard refused the roll-up; the demand accepted before stays. ' +
        'Use fewer groups per cluster, or move the cluster to another shard.',
    );
  }
}

export class NeedTable {
  readonly profiles: ProfileTable;
  /** A decision reads them for the gangs of the table, whose names are always in use. */
  readonly foldNames: FoldNames;
  readonly #tables: DraftTables;
  /** N7: a roll-up that drops nearly all rows of its cluster is quarantined until three in a row agree. */
  isGuarded: boolean;
  readonly #ledger: ClusterLedger;
  readonly #slices: ClusterSlices;
  readonly #takeUps: TakeUps;
  /** Unused scratch: one, unless several roll-ups were ever under way at once. */
  readonly #idle: Acceptance[] = [];

  constructor(options: NeedTableOptions) {
    const { clusters, fingerprints, groups, vectors, tableShare = TABLE_SHARE_DEFAULT } = options;
    this.profiles = new ProfileTable(fingerprints);
    this.foldNames = new FoldNames(groups, vectors);
    const limited = { profiles: this.profiles, fingerprints, groups };
    const limits = new AcceptanceLimits(limited, NEEDS_MAX, tableShare, options.shareRowsMin);
    this.#tables = { ...limited, vectors, foldNames: this.foldNames, limits };
    this.isGuarded = options.quarantine ?? true;
    this.#ledger = new ClusterLedger(clusters);
    this.#slices = new ClusterSlices(this.#ledger, NEEDS_MAX);
    const partRows = options.takeUpRows ?? Number.POSITIVE_INFINITY;
    this.#takeUps = new TakeUps(this.#slices, this.#ledger, this.#tables, partRows);
  }

  /** Views of the demand as it is now (base/image.ts). */
  image(): NeedImage {
    const rows = this.rowLimit;
    const { profile, group, aggregate, minUnit, arrivalMs } = this.#slices.columns;
    return {
      count: this.#slices.count,
      profiles: this.profiles.image(),
      profile: profile.subarray(0, rows),
      group: group.subarray(0, rows),
      aggregate: aggregate.subarray(0, rows),
      minUnit: minUnit.subarray(0, rows),
      arrivalMs: arrivalMs.subarray(0, rows),
      ledger: this.#ledger.image(),
    };
  }

  /**
   * The demand of an image, over restored tables, for decisions on a copy. Before a roll-up of a cluster is accepted, `ownSlice`
   * takes the references that its rows do not have.
   */
  static restore(image: NeedImage, options: NeedTableOptions): NeedTable {
    const table = new NeedTable(options);
    const profiles = table.profiles.restore(image.profiles);
    const columns = table.#slices.columns;
    columns.reserve(image.profile.length);
    for (let row = 0; row < image.profile.length; row++)
      columns.profile[row] = profiles[image.profile[row]!]!;
    columns.group.set(image.group);
    columns.aggregate.set(image.aggregate);
    columns.minUnit.set(image.minUnit);
    columns.arrivalMs.set(image.arrivalMs);
    table.#ledger.restore(image.ledger);
    table.#slices.restore(image.profile.length, image.count);
    return table;
  }

  /** Of a restored table: from now on the cluster's rows hold their references, so a roll-up may replace them. */
  ownSlice(cluster: number): void {
    const { columns, start, count } = this.#slices.of(cluster);
    for (let row = start; row < start + count; row++) retainRow(columns, row, this.#tables);
    this.#ledger.sliceRoom[cluster] = roomFor(count);
  }

  /** Needs of all clusters. */
  get count(): number {
    return this.#slices.count;
  }

  /** Every row of every slice is below this. */
  get rowLimit(): number {
    return this.#slices.rowLimit;
  }

  // The columns, by row. Arrays are replaced when the table grows: read these again after an `accept`.
  get profile(): Uint32Array {
    return this.#slices.columns.profile;
  }

  get group(): Uint32Array {
    return this.#slices.columns.group;
  }

  get aggregate(): Uint32Array {
    return this.#slices.columns.aggregate;
  }

  get minUnit(): Uint32Array {
    return this.#slices.columns.minUnit;
  }

  /** The version (`versionOf`) in which a row was added or changed. */
  get changedAt(): Uint32Array {
    return this.#slices.columns.changedAt;
  }

  get arrivalMs(): Float64Array {
    return this.#slices.columns.arrivalMs;
  }

  /** First row of a cluster's needs, which stand one after the other in order (need-order.ts). */
  sliceStart(cluster: number): number {
    return this.#ledger.sliceStart[cluster] ?? 0;
  }

  sliceCount(cluster: number): number {
    return this.#ledger.needCount[cluster] ?? 0;
  }

  /** Changes whenever the cluster's needs do: for readers other than the caller of `takeDirty`. */
  versionOf(cluster: number): number {
    return this.#ledger.version[cluster] ?? 0;
  }

  /** Whether the shard accepted demand of this cluster since it started. Until then it reclaims none of its machines. */
  hasReported(cluster: number): boolean {
    return this.#ledger.hasReported(cluster);
  }

  /** T7: whether rows of the accepted roll-up have not had their turn yet, or are to be changed or withdrawn. */
  isTakingUp(cluster: number): boolean {
    return this.#ledger.isTakingUp(cluster);
  }

  /** T7: needs of the accepted roll-up that the slice has as they were sent, and all of them. */
  takenUp(cluster: number): { readonly needs: number; readonly of: number } {
    const takeUp = this.#takeUps.of(cluster);
    if (takeUp === undefined) return { needs: this.sliceCount(cluster), of: this.sliceCount(cluster) };
    return { needs: takeUp.takenUp, of: takeUp.targetCount };
  }

  /** T7: needs of the accepted roll-up that wait for their turn. */
  waitingNeeds(cluster: number): number {
    return this.#takeUps.of(cluster)?.waitingCount ?? 0;
  }

  /** Roll-ups of this cluster that are quarantined now, in a row. */
  quarantinedRollups(cluster: number): number {
    return this.#ledger.quarantinedInARow(cluster);
  }

  /** Rows of the last roll-up that this cluster's demand comes from. */
  acceptedRows(cluster: number): number {
    return this.#ledger.acceptedRows(cluster);
  }

  rejectedRollups(cluster: number): number {
    return this.#ledger.rejectedCount(cluster);
  }

  /** Clusters that have reported since the start: every cluster with needs is among them. */
  clusterRefs(): Iterable<number> {
    return this.#ledger.reported();
  }

  /** Clusters that the next `takeDirty` returns: 0 if its caller has seen all demand. */
  get dirtyCount(): number {
    return this.#ledger.dirtyCount;
  }

  /** Whether the next `takeDirty` returns the cluster. */
  isDirty(cluster: number): boolean {
    return this.#ledger.isDirty(cluster);
  }

  /**
   * Appends the refs of clusters whose needs changed, or that reported for the first time, since the last
   * call. A forgotten cluster is among them; its ref then has no needs, or those of another cluster.
   */
  takeDirty(out: number[]): void {
    this.#ledger.takeDirty(out);
  }

  /** Replaces a cluster's demand. Throws a ShardError if it refuses the roll-up: it counts that and changes no demand. */
  accept(clusterId: string, rows: readonly RollupRow[], nowMs: number, boundMachines: number): RollupOutcome {
    const digests = new Uint32Array(2 * rows.length); // all zero: unknown
    return this.acceptDigested(clusterId, digests, (index) => rows[index]!, nowMs, boundMachines);
  }

  /**
   * The same, by digests: low and high word of each row's digest, in the order of rows. Rows with equal digests are
   * equal, whatever the order of their map entries; 0, 0 stands for unknown. `decodeRow` is called only for new rows:
   * once each, or twice beyond the first few thousand.
   */
  acceptDigested(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
    nowMs: number,
    boundMachines: number,
  ): RollupOutcome {
    const steps = this.acceptInSteps(clusterId, digests, decodeRow, nowMs, boundMachines);
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
    }
  }

  /**
   * The same in steps of a millisecond or two. Other code may run between them: other clusters, readers, even another
   * roll-up of this cluster. Demand changes in one of the steps, as a whole. The caller must not change `digests` before
   * the end, and calls `return()` on the generator to give up half-way.
   */
  *acceptInSteps(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
    nowMs: number,
    boundMachines: number,
  ): Generator<void, RollupOutcome> {
    assert(digests.length % 2 === 0, 'a digest is two words');
    const source = { clusterId, digests, decodeRow };
    const sum = sumOf(digests);
    if (this.#isRepeat(source, sum)) return 'unchanged';
    const acceptance = this.#idle.pop() ?? new Acceptance(this.#tables);
    try {
      let outcome: RollupOutcome | null = null;
      while (outcome === null) outcome = yield* this.#attempt(acceptance, source, sum, nowMs, boundMachines);
      yield* acceptance.releaseReplaced();
      return outcome;
    } catch (error) {
      if (error instanceof ShardError) this.reject(clusterId);
      throw error;
    } finally {
      if (acceptance.end()) this.#idle.push(acceptance);
    }
  }

  /** Counts a roll-up that was refused before its rows were read: undecodable, or for another cluster. */
  reject(clusterId: string): void {
    this.#ledger.rejected(this.#ledger.open(clusterId));
  }

  /**
   * T7: takes up the next part of each large roll-up, before a decision. `backlogOf`: what the last decision said about a
   * cluster's rows; null if it has not read them. `comparesShapes`: of which profiles it takes up few unmet needs. Returns whether another part would change something at once.
   */
  takeUp(
    isOrdinary: boolean,
    backlogOf: (cluster: number) => Backlog | null,
    comparesShapes: ComparesShapes = () => false,
  ): boolean {
    return this.#takeUps.advance(isOrdinary, backlogOf, comparesShapes);
  }

  /** Withdraws all demand of a cluster and forgets that it ever reported. */
  forget(cluster: number): void {
    if (!this.#ledger.isKnown(cluster)) return;
    this.#takeUps.end(cluster);
    this.#ledger.rollup[cluster]!++;
    if (this.#ledger.hasReported(cluster)) this.#ledger.markDirty(cluster);
    const { columns, start, count } = this.#slices.of(cluster);
    for (let row = start; row < start + count; row++) releaseRow(columns, row, this.#tables);
    this.#slices.changed(cluster, 0);
    this.#slices.resize(cluster, 0);
    this.#ledger.close(cluster);
  }

  #isRepeat({ clusterId, digests }: RollupSource, sum: DigestSum): boolean {
    const cluster = this.#ledger.open(clusterId);
    if (!this.#ledger.isRepeat(cluster, digests.length / 2, sum)) return false;
    this.#ledger.accepted(cluster, digests.length / 2, sum);
    return true;
  }

  /** Null if another roll-up replaced the cluster's needs between two steps: the caller tries again. */
  *#attempt(
    acceptance: Acceptance,
    source: RollupSource,
    sum: DigestSum,
    nowMs: number,
    boundMachines: number,
  ): Generator<void, RollupOutcome | null> {
    const cluster = this.#ledger.open(source.clusterId);
    const rollup = this.#ledger.rollup[cluster]!;
    const version = this.#ledger.version[cluster]!;
    const replaced = this.#takeUps.of(cluster);
    const old =
      replaced === undefined
        ? this.#slices.of(cluster)
        : { columns: replaced.target, start: 0, count: replaced.targetCount };
    const isFirst = !this.#ledger.hasReported(cluster);
    const isCurrent = () => this.#ledger.rollup[cluster] === rollup;
    const steps = this.#prepare(acceptance, source, old, isFirst, nowMs, version + 1);
    const order = yield* whileCurrent(steps, isCurrent);
    if (order === 'overtaken') return null;
    const { draft } = acceptance;
    const isLarge = replaced !== undefined || this.#takeUps.isLarge(draft.columns, draft.count);
    const target = order !== null && isLarge ? yield* whileCurrent(inOrder(draft, order), isCurrent) : null;
    if (target === 'overtaken') return null;
    // No pause from here to the end: readers see the old demand or the new.
    const rowCount = source.digests.length / 2;
    if (this.isGuarded && this.#ledger.shouldQuarantine(cluster, rowCount, boundMachines)) {
      this.#ledger.quarantined(cluster);
      return 'quarantined';
    }
    if (order === null) learnDigests(draft, old);
    else if (target === null) this.#write(cluster, source.clusterId, acceptance, old, order);
    else if (!this.#takeUps.begin(cluster, draft, order, target))
      throw new TooManyNeedsError(source.clusterId, draft.count);
    this.#ledger.accepted(cluster, rowCount, sum);
    if (target !== null && replaced !== undefined) yield* replaced.releaseAll();
    return order === null ? 'unchanged' : 'applied';
  }

  /** The draft's rows in order; null if nothing changed. */
  *#prepare(
    acceptance: Acceptance,
    source: RollupSource,
    old: OldSlice,
    isFirst: boolean,
    nowMs: number,
    nextVersion: number,
  ): Generator<void, Uint32Array | null> {
    yield* acceptance.makeDraft(source, old);
    const { columns, start, count } = old;
    const hasChanged = yield* acceptance.draft.matchWith(columns, start, count, nowMs, nextVersion);
    return hasChanged || isFirst ? yield* acceptance.order(old.count) : null;
  }

  /** Writes the draft over the cluster's slice. */
  #write(
    cluster: number,
    clusterId: string,
    acceptance: Acceptance,
    old: OldSlice,
    order: Uint32Array,
  ): void {
    const { draft } = acceptance;
    const start = this.#slices.resize(cluster, Math.max(old.count, draft.count));
    if (start < 0) throw new TooManyNeedsError(clusterId, draft.count);
    const slice = this.#slices.of(cluster);
    acceptance.takeOver(slice); // the draft has its own references to everything that it keeps
    for (let place = 0; place < order.length; place++) {
      slice.columns.copyRow(start + place, draft.columns, order[place]!);
    }
    this.#slices.changed(cluster, draft.count);
    this.#slices.resize(cluster, draft.count); // not less than what it takes up now, so it stays where it is
    this.#ledger.rollup[cluster]!++;
    draft.handOver();
    this.#ledger.markDirty(cluster);
  }
}

/** The same needs came from rows with other digests: the next roll-up matches by the new ones. */
function learnDigests(draft: RollupDraft, { columns, start, count }: OldSlice): void {
  const { digestLow, digestHigh } = draft.columns;
  for (let position = 0; position < count; position++) {
    const row = draft.successorOf(position);
    columns.digestLow[start + position] = digestLow[row]!;
    columns.digestHigh[start + position] = digestHigh[row]!;
  }
}

/** Runs the steps to their end, or stops as soon as their input is out of date. */
function* whileCurrent<T>(
  steps: Generator<void, T>,
  isCurrent: () => boolean,
): Generator<void, T | 'overtaken'> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    yield;
    if (!isCurrent()) return 'overtaken';
  }
}
