/** Metrics of the history of events: how much of it there is, and what happens repeatedly. */
import type { Registry } from 'prom-client';
import { counterFrom, gaugeFrom } from './families.ts';

export interface HistoryCounts {
  readonly recorded: number;
  readonly lost: number;
  readonly bytes: number;
  /** Of the oldest event that is kept; 0 before the first. */
  readonly beginsAtMs: number;
  readonly isFailing: boolean;
  /** What happens repeatedly. */
  readonly patterns: {
    readonly churned: number;
    readonly flippingNeeds: number;
    readonly failingMachines: number;
    readonly failingOfferings: number;
  };
}

/** Null: the shard keeps no history. */
export function historyMetrics(registry: Registry, events: () => HistoryCounts | null): void {
  counterFrom(
    registry,
    { name: 'flotilla_history_events_total', help: 'Events recorded for the history.' },
    () => events()?.recorded ?? null,
  );
  counterFrom(
    registry,
    {
      name: 'flotilla_history_events_lost_total',
      help: 'Events lost because the disk of the history was slow or full.',
    },
    () => events()?.lost ?? null,
  );
  gaugeFrom(
    registry,
    { name: 'flotilla_history_bytes', help: 'Size of the history of events on disk, in bytes.' },
    () => events()?.bytes ?? null,
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_history_oldest_event_timestamp_seconds',
      help: 'Time of the oldest event in the history, in seconds since 1970; 0 before the first.',
    },
    () => {
      const beginsAtMs = events()?.beginsAtMs;
      return beginsAtMs === undefined ? null : beginsAtMs / 1_000;
    },
  );
  gaugeFrom(
    registry,
    { name: 'flotilla_history_failing', help: '1 while writes to the history fail.' },
    () => events()?.isFailing ?? null,
  );
  counterFrom(
    registry,
    {
      name: 'flotilla_churned_machines_total',
      help: 'Machines that their cluster gave up within ten minutes of getting them.',
    },
    () => events()?.patterns.churned ?? null,
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_flipping_needs',
      help: 'Needs that became unmet three times or more in the last hour.',
    },
    () => events()?.patterns.flippingNeeds ?? null,
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_failing_machines',
      help: 'Machines on which an action failed three times or more in the last hour.',
    },
    () => events()?.patterns.failingMachines ?? null,
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_failing_offerings',
      help: 'Offerings of which three machines or more failed to be created in the last hour.',
    },
    () => events()?.patterns.failingOfferings ?? null,
  );
}
