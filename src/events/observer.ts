/** Connects the history with the shard: what the shard notes of machines, and those of its other events that explain them. */
import type { NotedEvent } from '../shard/ports/events.ts';
import type { ShardEvent, ShardObserver } from '../shard/ports/observer.ts';
import type { EventLog } from './event-log.ts';

export function historyObserver(history: EventLog): Partial<ShardObserver> {
  let cycle = 0;
  return {
    noted: (event) => history.note(event),
    cycleEnded: (report) => {
      cycle = report.cycle;
    },
    happened: (event) => {
      const noted = notedOf(event);
      if (noted !== null) history.note({ cycle, ...noted });
    },
  };
}

/** Null: the log is enough. */
function notedOf(event: ShardEvent): NotedEvent | null {
  switch (event.kind) {
    case 'offering_backoff': {
      const detail = `its machines failed to be created; the shard tries again in ${seconds(event.forMs)}`;
      return { kind: 'offering_backoff', offering: event.offering, detail };
    }
    case 'shared_fault': {
      const detail = `${event.attempt}s of ${event.needs} needs failed on it; the shard tries one machine at a time for ${seconds(event.forMs)}`;
      return { kind: 'offering_backoff', provider: event.provider, offering: event.offering, detail };
    }
    case 'cluster_suspended':
      return { kind: 'cluster_suspended', clusterId: event.clusterId, detail: event.reason };
    case 'rollup_quarantined': {
      const detail = `it would take away most of its demand; ${event.inARow} in a row so far`;
      return { kind: 'rollup_quarantined', clusterId: event.clusterId, detail };
    }
    case 'control':
      return { kind: 'control', detail: controlWords(event) };
    case 'fenced':
      return { kind: 'fenced', machineId: event.machineId, detail: event.detail };
    default:
      return null;
  }
}

function controlWords({
  command,
  subject,
  who,
  why,
  outcome,
  detail,
}: ShardEvent & { kind: 'control' }): string {
  if (outcome === 'refused') return `the shard refused ${command} ${subject} of ${who}: ${detail}`;
  if (command === 'expire') return `the pause of ${subject} by ${who} ended`;
  return `${who} told the shard to ${command.replace('-', ' ')} ${subject}: ${why}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
