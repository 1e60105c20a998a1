/**
 * Prepares one roll-up for the table: checks its rows, merges them, matches them with the cluster's old needs and puts them
 * in order. All of it happens in scratch memory, so the work may pause (`yield`) every millisecond or so while the shard
 * accepts other roll-ups. The table does not change until the roll-up is written.
 *
 * Two passes over the rows: the first checks every row and keeps no reference, so the second cannot fail on a bad row. The
 * first pass keeps decoded rows up to a limit; the second decodes the rest again, because a hundred megabytes of row objects
 * would cost more in garbage collection than the decoding does.
 */
import type { NeedColumns } from './need-columns.ts';
import { NeedOrder } from './need-order.ts';
import { PairIndex } from './pair-index.ts';
import { type RollupRow, RowChecker } from './rollup.ts';
import { type DraftTables, RollupDraft } from './rollup-draft.ts';
import { TenantCounter } from './tenant-limits.ts';

/** Rows of one step. A new row costs 3 to 6 µs, so a step is one to two milliseconds. */
const ROWS_PER_STEP = 256;
/** T7: bytes of new rows of one step. Usual rows have 350 bytes, so 256 of them are about as much; one row may be as long. */
const ROW_BYTES_PER_STEP = 64 * 1024;
/** About a kilobyte each. */
const DECODED_ROWS_MAX = 4_096;
/** The same in bytes on the wire: 4,096 usual rows. */
const DECODED_BYTES_MAX = 2 * 1024 * 1024;
/** Usual rows have 350 bytes and a few parts. An empty part has two bytes and becomes an object of sixty: such rows are not kept. */
const DECODED_PART_BYTES_MIN = 8;
/** Scratch for more rows than this is not kept for the next roll-up. */
const KEPT_ROWS_MAX = 8_192;

export interface RollupSource {
  readonly clusterId: string;
  /** Low and high word of each row's digest. */
  readonly digests: Uint32Array;
  /** Called for new rows only: once each, or twice beyond the first few thousand. */
  readonly decodeRow: (index: number) => RollupRow;
}

/** The cluster's needs before the roll-up. */
export interface OldSlice {
  readonly columns: NeedColumns;
  readonly start: number;
  readonly count: number;
}

export class Acceptance {
  readonly draft: RollupDraft;
  /** Replaced rows whose references are not released yet. */
  readonly #replaced: RollupDraft;
  readonly #order: NeedOrder;
  readonly #checker: RowChecker;
  readonly #tables: DraftTables;
  readonly #counter: TenantCounter;
  readonly #rowByDigest = new PairIndex();

  constructor(tables: DraftTables) {
    this.#tables = tables;
    this.#counter = new TenantCounter(tables.limits, tables);
    this.draft = new RollupDraft(tables);
    this.#replaced = new RollupDraft(tables);
    this.#order = new NeedOrder(tables.profiles, tables.groups);
    this.#checker = new RowChecker(tables.vectors.dimensions);
  }

  /** Fills the draft with the roll-up's needs; throws a ShardError if it is refused. */
  *makeDraft(source: RollupSource, old: OldSlice): Generator<void> {
    this.draft.drop();
    yield* this.#indexDigests(old);
    const decoded = yield* this.#checkRows(source, old.columns);
    const { digests, decodeRow } = source;
    const rowCount = digests.length / 2;
    this.draft.begin(source.clusterId);
    this.#counter.begin(source.clusterId, rowCount);
    let stepBytes = 0;
    for (let index = 0; index < rowCount; index++) {
      if (index % ROWS_PER_STEP === ROWS_PER_STEP - 1) {
        yield;
        this.#tables.profiles.settleRanks();
      }
      const low = digests[2 * index]!;
      const high = digests[2 * index + 1]!;
      const known = this.#rowByDigest.get(low, high);
      let rowBytes = 0;
      if (known >= 0) this.draft.keep(old.columns, known);
      else {
        const row = decoded[index] ?? decodeRow(index);
        this.draft.add(row, low, high);
        rowBytes = row.wireBytes ?? 0;
      }
      this.#countLast(index);
      this.draft.mergeLast(index);
      stepBytes += rowBytes;
      if (stepBytes < ROW_BYTES_PER_STEP) continue;
      stepBytes = 0;
      yield;
    }
    this.#counter.end(this.draft.columns, this.draft.count);
  }

  /** The draft's rows in the order of needs. Call `matchWith` first. Valid until the next call. */
  order(oldCount: number): Generator<void, Uint32Array> {
    return this.#order.of(this.draft, oldCount);
  }

  /** Takes over the references of a slice that is about to be overwritten. */
  takeOver(old: OldSlice): void {
    this.#replaced.takeOver(old.columns, old.start, old.count);
  }

  *releaseReplaced(): Generator<void> {
    while (!this.#replaced.dropSome(4 * ROWS_PER_STEP)) yield;
  }

  /** Releases all references, at whatever point the work ended. Returns whether the scratch is worth keeping. */
  end(): boolean {
    this.draft.drop();
    this.#replaced.drop();
    return this.draft.columns.profile.length <= KEPT_ROWS_MAX;
  }

  /** T1: counts the row that was added last, before it may be merged into another. */
  #countLast(index: number): void {
    const { profile, group, fold } = this.draft.columns;
    const row = this.draft.count - 1;
    const foldGroup = fold[row] === 0 ? 0 : this.#tables.foldNames.groupOf(fold[row]! - 1);
    this.#counter.count(profile[row]!, group[row]!, foldGroup, index);
  }

  *#checkRows(source: RollupSource, columns: NeedColumns): Generator<void, (RollupRow | undefined)[]> {
    const { digests, decodeRow } = source;
    const checker = this.#checker;
    const { vectors } = this.#tables;
    const decoded: (RollupRow | undefined)[] = [];
    let decodedCount = 0;
    let decodedBytes = 0;
    let stepBytes = 0;
    checker.begin(source.clusterId);
    for (let index = 0; index < digests.length / 2; index++) {
      if (index % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
      const known = this.#rowByDigest.get(digests[2 * index]!, digests[2 * index + 1]!);
      if (known >= 0) {
        checker.countKept(vectors, columns.aggregate[known]!, index);
        checker.countKept(vectors, columns.minUnit[known]!, index);
        continue;
      }
      const row = decodeRow(index);
      checker.check(row, index);
      const { wireBytes = 0 } = row;
      decodedBytes += wireBytes;
      const isKept = decodedCount++ < DECODED_ROWS_MAX && decodedBytes < DECODED_BYTES_MAX;
      if (isKept && !hasTinyParts(row)) decoded[index] = row;
      stepBytes += wireBytes;
      if (stepBytes < ROW_BYTES_PER_STEP) continue;
      stepBytes = 0;
      yield;
    }
    checker.end();
    return decoded;
  }

  *#indexDigests({ columns, start, count }: OldSlice): Generator<void> {
    this.#rowByDigest.clear();
    for (let row = start; row < start + count; row++) {
      if ((row - start) % (16 * ROWS_PER_STEP) === 16 * ROWS_PER_STEP - 1) yield;
      const low = columns.digestLow[row]!;
      const high = columns.digestHigh[row]!;
      if (low !== 0 || high !== 0) this.#rowByDigest.set(low, high, row);
    }
  }
}

function hasTinyParts({ requirements, spread, wireBytes }: RollupRow): boolean {
  const parts = 1 + requirements.length + spread.length;
  return wireBytes !== undefined && parts * DECODED_PART_BYTES_MIN > wireBytes;
}
