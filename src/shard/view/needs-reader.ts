/**
 * Needs with verdicts in one order over all clusters. Each cluster's needs are in that order already, so a page is a
 * merge: a heap of clusters by their next need. Every page finds its place by the key that it begins after, because roll-ups
 * arrive and cycles run between two pages. For 2,000 clusters such a search costs about a millisecond, and the shard keeps
 * no state for a reader that may never come back.
 */
import { compareBytewise } from '../../base/dimensions.ts';
import { ShardError } from '../../base/errors.ts';
import type { StringTable } from '../../base/string-table.ts';
import type { NeedsHeader, NeedsPage, NeedsQuery, NeedsReader, NeedView } from '../ports/view.ts';
import { NeedContexts, type Unmet } from './need-context.ts';
import { NeedRows } from './need-filter.ts';
import { decodeCursor, encodeCursor, type NeedKey, type RowList, rowsUpTo } from './need-key.ts';
import { readNeed } from './need-row.ts';
import type { ViewSources } from './sources.ts';
import { UnmetRows } from './unmet-rows.ts';

/** About two milliseconds of the main thread. */
export const NEEDS_PER_PAGE = 500;

/** Cycles to wait for: each reads all demand, so a second one is rare, and this many mean that no cycle runs. */
const ATTEMPTS_MAX = 50;

export class NotInStepError extends ShardError {
  readonly code = 'not_in_step';
  readonly next = 'retry-next-cycle';

  constructor() {
    super(
      'The demand has changed and no cycle has read it: the shard is stopping, or demand changes faster than it decides. ' +
        'The verdicts would not match the needs, so the shard returned none. Ask again in a moment.',
    );
  }
}

interface ClusterRows {
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

  /** After this, rows and verdicts are of the same demand until the next await. */
  async inStep(): Promise<void> {
    const { needs, nextCycle, nextTurn } = this.#sources;
    for (let attempt = 0; needs.dirtyCount > 0; attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new NotInStepError();
      await nextCycle();
      if (needs.dirtyCount > 0) await nextTurn(); // no cycle ran, or another roll-up came
    }
  }

  /** The same for the rows of one cluster: the demand of the others may be ahead of its verdicts. */
  async inStepOf(cluster: number): Promise<void> {
    const { needs, nextCycle, nextTurn } = this.#sources;
    for (let attempt = 0; needs.isDirty(cluster); attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new NotInStepError();
      await nextCycle();
      if (needs.isDirty(cluster)) await nextTurn();
    }
  }

  async *#pages(query: NeedsQuery): AsyncGenerator<readonly NeedView[]> {
    let left = query.limit || Number.POSITIVE_INFINITY;
    let after: NeedKey | null = null;
    const contexts = new NeedContexts(this.#sources);
    while (left > 0) {
      const { needs, last, isEnd } = await this.#page(query, after, Math.min(left, NEEDS_PER_PAGE), contexts);
      if (needs.length > 0) yield needs;
      if (isEnd) return;
      left -= needs.length;
      after = last;
      await this.#sources.nextTurn();
    }
  }

  /** Without contexts, rows and verdicts are in step at the return, so the caller can read the header right after it. */
  async #page(query: NeedsQuery, after: NeedKey | null, limit: number, contexts: NeedContexts | null = null) {
    const needs: NeedView[] = [];
    const unmet: Unmet[] = [];
    const note = (cluster: number, row: number) => {
      const index = needs.length - 1;
      if (contexts !== null && !needs[index]!.satisfied)
        unmet.push(contexts.unmet(index, cluster, row, needs[index]!));
    };
    await this.inStep();
    const { last, isEnd } = this.#take(query, after, limit, needs, note);
    if (unmet.length > 0) await contexts?.fill(needs, unmet);
    return { needs, last, isEnd };
  }

  /** Synchronous, so it reads one moment. */
  #take(
    query: NeedsQuery,
    after: NeedKey | null,
    limit: number,
    out: NeedView[],
    note: (cluster: number, row: number) => void,
  ) {
    const heap = this.#clusterRows(query, after);
    const { engine } = this.#sources;
    let taken = 0;
    let last: NeedKey | null = after;
    for (let at = (heap.length >> 1) - 1; at >= 0; at--) this.#sink(heap, at);
    while (heap.length > 0 && taken < limit) {
      const next = heap[0]!;
      const row = next.rows.at(next.position);
      out.push(readNeed(this.#sources, next, row, engine.verdict(next.cluster, row)));
      note(next.cluster, row);
      if (++taken === limit) last = this.#keyOf(next, row);
      next.position++;
      if (next.position === next.rows.count) {
        const moved = heap.pop()!;
        if (heap.length > 0) heap[0] = moved;
      }
      if (heap.length > 0) this.#sink(heap, 0);
    }
    return { last, isEnd: heap.length === 0 };
  }

  #clusterRows(
    { clusterId = '', unmetOnly = false, group = '', fingerprint = '', gangs, namePrefix }: NeedsQuery,
    after: NeedKey | null,
  ): ClusterRows[] {
    const { needs, inventory } = this.#sources;
    const found: ClusterRows[] = [];
    const wanted = new NeedRows(this.#sources, {
      group: group === '' ? undefined : group,
      fingerprint: fingerprint === '' ? undefined : fingerprint,
      gangs,
      namePrefix,
    });
    if (wanted.isNone) return found;
    for (const cluster of this.#clusterRefs(clusterId, unmetOnly)) {
      const rows = wanted.of(cluster, unmetOnly ? this.unmet.ofCluster(cluster) : undefined);
      const start = needs.sliceStart(cluster);
      const id = inventory.tables.clusters.get(cluster);
      const position = after === null ? 0 : rowsUpTo(needs, this.#groups, start, id, rows, after);
      if (position < rows.count) found.push({ cluster, clusterId: id, start, rows, position });
    }
    return found;
  }

  #clusterRefs(clusterId: string, unmetOnly: boolean): Iterable<number> {
    const { needs, inventory } = this.#sources;
    if (clusterId === '') return unmetOnly ? this.unmet.clusters() : needs.clusterRefs();
    const cluster = inventory.tables.clusters.find(clusterId);
    if (cluster === 0 || (unmetOnly && this.unmet.ofCluster(cluster) === undefined)) return [];
    return [cluster];
  }

  #keyOf(from: ClusterRows, row: number): NeedKey {
    const { needs } = this.#sources;
    const nameOf = (at: number) => ({
      fingerprint: needs.profiles.get(needs.profile[from.start + at]!).fingerprint,
      group: this.#groups.get(needs.group[from.start + at]!),
    });
    const name = nameOf(row);
    let twin = 0;
    for (let position = from.position - 1; position >= 0; position--) {
      const before = nameOf(from.rows.at(position));
      if (before.fingerprint !== name.fingerprint || before.group !== name.group) break;
      twin++;
    }
    const { priority } = needs.profiles.get(needs.profile[from.start + row]!);
    const arrivalMs = needs.arrivalMs[from.start + row]!;
    return { priority, arrivalMs, clusterId: from.clusterId, ...name, twin };
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

  #isBefore(a: ClusterRows, b: ClusterRows): boolean {
    const { needs } = this.#sources;
    const rowA = a.start + a.rows.at(a.position);
    const rowB = b.start + b.rows.at(b.position);
    const byPriority =
      needs.profiles.get(needs.profile[rowB]!).priority - needs.profiles.get(needs.profile[rowA]!).priority;
    if (byPriority !== 0) return byPriority < 0;
    const byArrival = needs.arrivalMs[rowA]! - needs.arrivalMs[rowB]!;
    if (byArrival !== 0) return byArrival < 0;
    return compareBytewise(a.clusterId, b.clusterId) < 0;
  }

  #sink(heap: ClusterRows[], from: number): void {
    const moved = heap[from]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#isBefore(heap[child]!, moved)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  }
}
