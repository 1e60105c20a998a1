/** The history of the shard: what it tells, and what readers ask. */
import type { EventKind, FleetEvent } from '../../machine/event.ts';

/** What a caller knows of an event. The history adds the time and the epoch. */
export type NotedEvent = Pick<FleetEvent, 'kind'> & Partial<Omit<FleetEvent, 'epoch' | 'atMs'>>;

/** An event must match all fields. Fields that are left out or '' match every event. */
export interface EventsQuery {
  readonly machineId?: string;
  /** Events of its machines and needs, and preemptions for it. */
  readonly clusterId?: string;
  readonly fingerprint?: string;
  readonly group?: string;
  readonly provider?: string;
  readonly offering?: string;
  readonly kinds?: readonly EventKind[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly limit: number;
  /** The `next` of the page before; '' or left out: the newest events. */
  readonly before?: string;
}

/** An event and the sentence that tells it. */
export interface ToldEvent extends FleetEvent {
  readonly sentence: string;
}

/** A time in which events may be missing. */
export interface HistoryGap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly why: string;
}

export interface EventsPage {
  /** The newest first. */
  readonly events: readonly ToldEvent[];
  /** For the next older page; '' if there is none. */
  readonly next: string;
  /** The oldest event that is kept; 0 if there is none. */
  readonly beginsAtMs: number;
  /** From here on no event is missing. */
  readonly wholeSinceMs: number;
  /** The newest first. */
  readonly gaps: readonly HistoryGap[];
  readonly bytes: number;
}

export interface EventReader {
  /** Throws a ShardError for a cursor that is not one, and while the history cannot be read. */
  read(query: EventsQuery): Promise<EventsPage>;
}
