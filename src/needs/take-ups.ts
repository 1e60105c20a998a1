/** T7: the clusters whose roll-ups are taken up in parts (take-up.ts): those with more rows than one part has. */
import type { ClusterLedger } from './cluster-ledger.ts';
import type { ClusterSlices } from './cluster-slices.ts';
import { NeedColumns } from './need-columns.ts';
import type { DraftTables, RollupDraft } from './rollup-draft.ts';
import { type Backlog, type ComparesShapes, rowsOfProfile, TakeUp } from './take-up.ts';

const SCRATCH_ROWS = 4_096;
/** Scratch for more rows is not kept. */
const SCRATCH_ROWS_KEPT = 16_384;

export class TakeUps {
  readonly #slices: ClusterSlices;
  readonly #ledger: ClusterLedger;
  readonly #tables: DraftTables;
  readonly #partRows: number;
  readonly #byCluster = new Map<number, TakeUp>();
  #scratch = new NeedColumns(SCRATCH_ROWS);

  constructor(slices: ClusterSlices, ledger: ClusterLedger, tables: DraftTables, partRows: number) {
    this.#slices = slices;
    this.#ledger = ledger;
    this.#tables = tables;
    this.#partRows = partRows;
  }

  of(cluster: number): TakeUp | undefined {
    return this.#byCluster.get(cluster);
  }

  /** Whether these rows are more than one part. */
  isLarge({ profile }: NeedColumns, count: number): boolean {
    let rows = count;
    for (let row = 0; row < count && rows <= this.#partRows; row++)
      rows += rowsOfProfile(this.#tables.profiles, profile[row]!) - 1;
    return rows > this.#partRows;
  }

  /** The slice follows this roll-up from now on; false, and no change, if the table has no room for it. */
  begin(cluster: number, draft: RollupDraft, order: Uint32Array, target: NeedColumns): boolean {
    const rowsMax = Math.max(this.#slices.of(cluster).count, draft.count);
    if (this.#slices.resize(cluster, rowsMax) < 0) return false;
    const { profiles } = this.#tables;
    const takeUp = new TakeUp(target, draft.count, this.#tables, this.#partRows, profiles);
    const placeOf = new Uint32Array(order.length);
    for (let place = 0; place < order.length; place++) placeOf[order[place]!] = place;
    const placeOfDraftRow = (row: number) => (row < 0 ? -1 : placeOf[row]!);
    const before = this.#byCluster.get(cluster);
    if (before !== undefined) takeUp.takeOver(before, (row) => placeOfDraftRow(draft.successorOf(row)));
    const { profile, group } = this.#slices.columns;
    takeUp.begin(this.#slices.of(cluster), (row) =>
      placeOfDraftRow(draft.rowOf(profiles.get(profile[row]!).fingerprintRef, group[row]!)),
    );
    draft.handOver();
    this.#byCluster.set(cluster, takeUp);
    this.#ledger.rollup[cluster]!++;
    this.#ledger.setTakingUp(cluster, !takeUp.isTried);
    return true;
  }

  /** Takes up the next part of each; see `NeedTable.takeUp`. */
  advance(
    isOrdinary: boolean,
    backlogOf: (cluster: number) => Backlog | null,
    comparesShapes: ComparesShapes,
  ): boolean {
    let canGoOn = false;
    for (const [cluster, takeUp] of this.#byCluster) {
      if (takeUp.isComplete) continue;
      const backlog = backlogOf(cluster);
      if (backlog !== null) this.#takePart(cluster, takeUp, isOrdinary, backlog, comparesShapes);
      if (takeUp.canGoOn) canGoOn = true;
    }
    return canGoOn;
  }

  /** The cluster is small again, or goes: its slice is all that the table keeps of it. */
  end(cluster: number): void {
    const takeUp = this.#byCluster.get(cluster);
    if (takeUp === undefined) return;
    for (const _ of takeUp.release()); // a generator, so that a large one can pause
    this.#byCluster.delete(cluster);
    this.#ledger.rollup[cluster]!++; // a roll-up that is being compared with the target begins again
    this.#slices.resize(cluster, this.#slices.of(cluster).count);
  }

  #takePart(
    cluster: number,
    takeUp: TakeUp,
    isOrdinary: boolean,
    backlog: Backlog,
    comparesShapes: ComparesShapes,
  ): void {
    const version = this.#ledger.version[cluster]! + 1;
    const slice = this.#slices.of(cluster);
    const { count, hasChanged } = takeUp.advance(
      slice,
      backlog,
      isOrdinary,
      version,
      this.#scratch,
      comparesShapes,
    );
    if (this.#scratch.profile.length > SCRATCH_ROWS_KEPT) this.#scratch = new NeedColumns(SCRATCH_ROWS);
    this.#ledger.setTakingUp(cluster, !takeUp.isTried);
    if (hasChanged) {
      this.#slices.changed(cluster, count);
      this.#ledger.markDirty(cluster);
    }
    if (takeUp.isComplete && !this.isLarge(takeUp.target, takeUp.targetCount)) this.end(cluster);
  }
}
