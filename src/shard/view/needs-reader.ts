/**
 * Needs with verdicts in one order over all clusters. Each cluster's needs are in that order already, so a page is a
 * merge: a heap of clusters by their next need. Every page finds its place by the key that it begins after, because
 * between two pages the event loop runs, roll-ups arrive and cycles pass; 2,000 clusters cost such a search
 * about a millisecond, and nothing has to be kept for a reader who may never come back.
 */
import { compareBytewise } from '../../base/dimensions.ts';
import { ShardError } from '../../base/errors.ts';
import type { StringTable } from '../../base/string-table.ts';
import type { NeedsHeader, NeedsPage, NeedsQuery, NeedsReader, NeedView } from '../ports/view.ts';
import {
  allRows,
  decodeCursor,
  encodeCursor,
  type NeedKey,
  type RowList,
  rowsUpTo,
  someRows,
} from './need-key.ts';
import { readNeed } from './need-row.ts';
import type { ViewSources } from './sources.ts';
import { UnmetRows } from './unmet-rows.ts';

/** About two milliseconds of the main thread. */
export const NEEDS_PER_PAGE = 500;
/** Rows looked at in one turn when a filter lets few of them through. */
const ROWS_PER_TURN = 20_000;

/** Cycles waited for: each reads all demand there is, so a second one is rare and this many mean that none runs. */
const ATTEMPTS_MAX = 50;

export class NotInStepError extends ShardError {
  readonly code = 'not_in_step';
  readonly next = 'retry-next-cycle';

  constructor() {
    super(
      'Demand has changed and no cycle has read it: the shard is stopping, or demand changes faster than it decides. ' +
        'Verdicts would not belong to the needs shown, so none are shown; ask again in a moment.',
    );
  }
}

interface Lane {
  readonly cluster: number;
  readonly clusterId: string;
  readonly start: number;
  readonly rows: RowList;
  position: number;
}

export class NeedsView implements NeedsReader {
  readonly #sources: ViewSources;
  readonly #groups: StringTable;
  readonly unmet: UnmetRows;

  constructor(sources: ViewSources) {
    this.#sources = sources;
    this.#groups = sources.inventory.tables.groups;
    this.unmet = new UnmetRows(sources);
  }

  async inspectNeeds(query: NeedsQuery) {
    await this.inStep();
    const header = this.#header(query.clusterId ?? '');
    return { header, pages: this.#pages(query) };
  }

  async needsPage(query: NeedsQuery, after: string): Promise<NeedsPage> {
    const limit = Math.min(query.limit || NEEDS_PER_PAGE, NEEDS_PER_PAGE);
    const { needs, last, isEnd } = await this.#page(query, after === '' ? null : decodeCursor(after), limit);
    const next = isEnd || last === null ? '' : encodeCursor(last);
    return { ...this.#header(query.clusterId ?? ''), needs, next };
  }

  /** Rows and verdicts belong together when this has settled, until the next await. */
  async inStep(): Promise<void> {
    const { needs, nextCycle, nextTurn } = this.#sources;
    for (let attempt = 0; needs.dirtyCount > 0; attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new NotInStepError();
      await nextCycle();
      if (needs.dirtyCount > 0) await nextTurn(); // no cycle came, or another roll-up did
    }
  }

  async *#pages(query: NeedsQuery): AsyncGenerator<readonly NeedView[]> {
    let left = query.limit || Number.POSITIVE_INFINITY;
    let after: NeedKey | null = null;
    while (left > 0) {
      const { needs, last, isEnd } = await this.#page(query, after, Math.min(left, NEEDS_PER_PAGE));
      if (needs.length > 0) yield needs;
      if (isEnd) return;
      left -= needs.length;
      after = last;
      await this.#sources.nextTurn();
    }
  }

  /** In step at each return, so that the header can be read right after it. */
  async #page(query: NeedsQuery, after: NeedKey | null, limit: number) {
    const needs: NeedView[] = [];
    let last = after;
    for (;;) {
      await this.inStep();
      const found = this.#take(query, last, limit - needs.length, needs);
      last = found.last;
      if (found.isEnd || needs.length >= limit) return { needs, last, isEnd: found.isEnd };
      await this.#sources.nextTurn();
    }
  }

  /** Without a turn of the event loop in between: what it reads is of one moment. */
  #take(query: NeedsQuery, after: NeedKey | null, limit: number, out: NeedView[]) {
    const heap = this.#lanes(query, after);
    const { engine } = this.#sources;
    let looked = 0;
    let taken = 0;
    let last: NeedKey | null = after;
    for (let at = (heap.length >> 1) - 1; at >= 0; at--) this.#sink(heap, at);
    while (heap.length > 0 && taken < limit && looked < ROWS_PER_TURN) {
      const lane = heap[0]!;
      const row = lane.rows.at(lane.position);
      looked++;
      if (this.#fits(query, lane.start + row)) {
        out.push(readNeed(this.#sources, lane, row, engine.verdict(lane.cluster, row)));
        taken++;
      }
      const isLast = taken === limit || looked === ROWS_PER_TURN;
      if (isLast) last = this.#keyOf(lane, row);
      lane.position++;
      if (lane.position === lane.rows.count) {
        const moved = heap.pop()!;
        if (heap.length > 0) heap[0] = moved;
      }
      if (heap.length > 0) this.#sink(heap, 0);
    }
    return { last, isEnd: heap.length === 0 };
  }

  #lanes({ clusterId = '', unmetOnly = false }: NeedsQuery, after: NeedKey | null): Lane[] {
    const { needs, inventory } = this.#sources;
    const lanes: Lane[] = [];
    for (const cluster of this.#clusterRefs(clusterId, unmetOnly)) {
      const unmet = unmetOnly ? this.unmet.ofCluster(cluster) : undefined;
      const rows = unmet === undefined ? allRows(needs.sliceCount(cluster)) : someRows(unmet);
      const start = needs.sliceStart(cluster);
      const id = inventory.tables.clusters.get(cluster);
      const position = after === null ? 0 : rowsUpTo(needs, this.#groups, start, id, rows, after);
      if (position < rows.count) lanes.push({ cluster, clusterId: id, start, rows, position });
    }
    return lanes;
  }

  #clusterRefs(clusterId: string, unmetOnly: boolean): Iterable<number> {
    const { needs, inventory } = this.#sources;
    if (clusterId === '') return unmetOnly ? this.unmet.clusters() : needs.clusterRefs();
    const cluster = inventory.tables.clusters.find(clusterId);
    if (cluster === 0 || (unmetOnly && this.unmet.ofCluster(cluster) === undefined)) return [];
    return [cluster];
  }

  #fits({ group = '', fingerprint = '' }: NeedsQuery, tableRow: number): boolean {
    const { needs } = this.#sources;
    if (group !== '' && this.#groups.get(needs.group[tableRow]!) !== group) return false;
    return fingerprint === '' || needs.profiles.get(needs.profile[tableRow]!).fingerprint === fingerprint;
  }

  #keyOf(lane: Lane, row: number): NeedKey {
    const { needs } = this.#sources;
    const nameOf = (at: number) => ({
      fingerprint: needs.profiles.get(needs.profile[lane.start + at]!).fingerprint,
      group: this.#groups.get(needs.group[lane.start + at]!),
    });
    const name = nameOf(row);
    let twin = 0;
    for (let position = lane.position - 1; position >= 0; position--) {
      const before = nameOf(lane.rows.at(position));
      if (before.fingerprint !== name.fingerprint || before.group !== name.group) break;
      twin++;
    }
    const { priority } = needs.profiles.get(needs.profile[lane.start + row]!);
    const arrivalMs = needs.arrivalMs[lane.start + row]!;
    return { priority, arrivalMs, clusterId: lane.clusterId, ...name, twin };
  }

  #header(clusterId: string): NeedsHeader {
    const { needs, inventory } = this.#sources;
    const { cycle, lastCycleAtMs } = this.#sources.status();
    const header = { cycle, computedAtMs: lastCycleAtMs };
    if (clusterId === '') return { ...header, totalNeeds: needs.count, unmetNeeds: this.unmet.count };
    const cluster = inventory.tables.clusters.find(clusterId);
    if (cluster === 0) return { ...header, totalNeeds: 0, unmetNeeds: 0 };
    const unmetNeeds = this.unmet.ofCluster(cluster)?.length ?? 0;
    return { ...header, totalNeeds: needs.sliceCount(cluster), unmetNeeds };
  }

  #isBefore(laneA: Lane, laneB: Lane): boolean {
    const { needs } = this.#sources;
    const rowA = laneA.start + laneA.rows.at(laneA.position);
    const rowB = laneB.start + laneB.rows.at(laneB.position);
    const byPriority =
      needs.profiles.get(needs.profile[rowB]!).priority - needs.profiles.get(needs.profile[rowA]!).priority;
    if (byPriority !== 0) return byPriority < 0;
    const byArrival = needs.arrivalMs[rowA]! - needs.arrivalMs[rowB]!;
    if (byArrival !== 0) return byArrival < 0;
    return compareBytewise(laneA.clusterId, laneB.clusterId) < 0;
  }

  #sink(heap: Lane[], from: number): void {
    const lane = heap[from]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#isBefore(heap[child]!, lane)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = lane;
  }
}
