/**
 * Finds events, the newest first. A search skips blocks by their time and by their filter, reads the rest, and gives the
 * thread back every few milliseconds, so that writing goes on meanwhile.
 */
import { ShardError } from '../base/errors.ts';
import type { FleetEvent } from '../machine/event.ts';
import type { EventsPage, EventsQuery, ToldEvent } from '../shard/ports/events.ts';
import { keysOfQuery, mayContain } from './key-filter.ts';
import { type BlockPlace, SegmentReader } from './segment.ts';
import type { EventStore, Segment } from './store.ts';
import { sentenceOf } from './words.ts';

export class BadCursorError extends ShardError {
  readonly code = 'bad_parameter';
  readonly next = 'reject-input';

  constructor(cursor: string) {
    super(
      `The parameter before is ${JSON.stringify(cursor.slice(0, 100))}, which is not the "next" of a page. ` +
        'Ask for the first page again, without it.',
    );
  }
}

const SLICE_MS = 10;

/** Where a page ended: the event with this number in this block was its last. */
interface Cursor {
  readonly segment: number;
  readonly at: number;
  readonly event: number;
}

const NEWEST: Cursor = { segment: Number.POSITIVE_INFINITY, at: 0, event: 0 };

export async function search(
  store: EventStore,
  query: EventsQuery,
  nextTurn: () => Promise<void>,
): Promise<EventsPage> {
  const found = new Search(store, query);
  await found.run(nextTurn);
  const { gaps, wholeSinceMs } = store.gaps();
  const { beginsAtMs, bytes } = store;
  return { events: found.events, next: found.next, beginsAtMs, wholeSinceMs, gaps, bytes };
}

class Search {
  readonly events: ToldEvent[] = [];
  /** Set when one more event was found than the page may have. */
  next = '';
  readonly #store: EventStore;
  readonly #query: EventsQuery;
  readonly #keys: readonly string[];
  readonly #from: Cursor;
  /** The cursor of the last event found. */
  #last = '';
  #sliceBegan = performance.now();

  constructor(store: EventStore, query: EventsQuery) {
    this.#store = store;
    this.#query = query;
    this.#keys = keysOfQuery(query);
    this.#from = cursorOf(query.before ?? '');
  }

  async run(nextTurn: () => Promise<void>): Promise<void> {
    // A copy: the thread writes and deletes files between slices.
    for (const segment of [...this.#store.segments].reverse()) {
      if (segment.number > this.#from.segment) continue;
      if (await this.#searchSegment(segment, nextTurn)) return;
    }
  }

  /** True: the page is full. */
  async #searchSegment(segment: Segment, nextTurn: () => Promise<void>): Promise<boolean> {
    const blocks = segment.index.blocks.slice();
    if (!blocks.some((place) => this.#isInTime(place))) return false;
    const file = openIfThere(segment.path);
    if (file === null) return false;
    try {
      for (let number = blocks.length - 1; number >= 0; number--) {
        const place = blocks[number]!;
        if (segment.number === this.#from.segment && place.at > this.#from.at) continue;
        if (this.#isInTime(place) && this.#searchBlock(segment, place, file)) return true;
        if (performance.now() - this.#sliceBegan < SLICE_MS) continue;
        await nextTurn();
        this.#sliceBegan = performance.now();
      }
      return false;
    } finally {
      file.close();
    }
  }

  #searchBlock(segment: Segment, place: BlockPlace, file: SegmentReader): boolean {
    if (!mayContain(file.filterOf(place), this.#keys, this.#query.kinds)) return false;
    const events = file.eventsOf(place) ?? []; // a damaged block tells nothing; the others do
    const isAtCursor = segment.number === this.#from.segment && place.at === this.#from.at;
    for (let number = (isAtCursor ? this.#from.event : events.length) - 1; number >= 0; number--) {
      const event = events[number];
      if (event === undefined || !fits(event, this.#query)) continue;
      if (this.events.length === this.#query.limit) {
        this.next = this.#last;
        return true;
      }
      this.events.push({ ...event, sentence: sentenceOf(event) });
      this.#last = `${segment.number}.${place.at}.${number}`;
    }
    return false;
  }

  #isInTime({ header }: BlockPlace): boolean {
    const { sinceMs = Number.NEGATIVE_INFINITY, untilMs = Number.POSITIVE_INFINITY } = this.#query;
    return header.maxMs >= sinceMs && header.minMs <= untilMs;
  }
}

function fits(event: FleetEvent, query: EventsQuery): boolean {
  const { machineId, clusterId, fingerprint, group, provider, offering, kinds, sinceMs, untilMs } = query;
  const is = (wanted: string | undefined, name: string) => (wanted ?? '') === '' || wanted === name;
  return (
    is(machineId, event.machineId) &&
    (is(clusterId, event.clusterId) || is(clusterId, event.forClusterId)) &&
    is(fingerprint, event.fingerprint) &&
    is(group, event.group) &&
    is(provider, event.provider) &&
    is(offering, event.offering) &&
    (kinds === undefined || kinds.length === 0 || kinds.includes(event.kind)) &&
    event.atMs >= (sinceMs ?? Number.NEGATIVE_INFINITY) &&
    event.atMs <= (untilMs ?? Number.POSITIVE_INFINITY)
  );
}

/** Null if the file has gone: it was the oldest. */
function openIfThere(path: string): SegmentReader | null {
  try {
    return new SegmentReader(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Throws BadCursorError. */
function cursorOf(text: string): Cursor {
  if (text === '') return NEWEST;
  const parts = /^(\d{1,15})\.(\d{1,15})\.(\d{1,9})$/.exec(text);
  if (parts === null) throw new BadCursorError(text);
  return { segment: Number(parts[1]), at: Number(parts[2]), event: Number(parts[3]) };
}
