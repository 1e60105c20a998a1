/** What the main thread and the thread of the history say to each other. */
import type { EventsPage, EventsQuery } from '../shard/ports/events.ts';
import type { PatternCounts } from './patterns.ts';
import type { EncodedEvents } from './record.ts';

export interface HistorySetup {
  readonly folder: string;
  readonly bytesMax: number;
}

export type ToHistory =
  | { readonly kind: 'append'; readonly events: EncodedEvents; readonly epoch: number }
  | { readonly kind: 'search'; readonly id: number; readonly query: EventsQuery }
  | { readonly kind: 'close' };

export type FromHistory =
  /** The events are in the file. */
  | {
      readonly kind: 'written';
      readonly recordBytes: number;
      readonly count: number;
      readonly bytes: number;
      readonly beginsAtMs: number;
      readonly patterns: PatternCounts;
    }
  /** Every minute: an hour without events ends what happened repeatedly. */
  | { readonly kind: 'patterns'; readonly patterns: PatternCounts }
  /** The disk refused them; the thread keeps them and retries. */
  | { readonly kind: 'failing'; readonly why: string }
  | { readonly kind: 'found'; readonly id: number; readonly page: EventsPage }
  | { readonly kind: 'refused'; readonly id: number; readonly code: string; readonly why: string }
  | { readonly kind: 'closed' };
