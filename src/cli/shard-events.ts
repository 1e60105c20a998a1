/** Opens the history of events in the data directory of a shard. */
import { join } from 'node:path';
import type { ShardConfig } from '../config/shard-config.ts';
import { EventLog } from '../events/event-log.ts';
import type { Logger } from '../observe/log.ts';
import { pathOfWorker } from '../provider/pool/setup.ts';

const FOLDER = 'events';

export interface EventLogParts {
  readonly config: Pick<ShardConfig, 'maxHistoryBytes' | 'dataDir'>;
  /** It changes when a standby becomes active. */
  readonly epoch: () => number;
  readonly log: Logger;
  readonly version: string;
}

export interface ShardEvents {
  readonly log: EventLog;
  /** Notes that the shard stopped, and writes what is left. */
  close(): Promise<void>;
}

/** Null: the history is turned off. */
export function openEventLog({ config, epoch, log, version }: EventLogParts): ShardEvents | null {
  if (config.maxHistoryBytes === 0) return null;
  const folder = join(config.dataDir, FOLDER);
  const events = new EventLog({
    folder,
    bytesMax: config.maxHistoryBytes,
    epoch,
    program: pathOfWorker(historyProgram()),
    onFailing: (error) => {
      const next = 'events are kept in memory and retried; beyond 64 MiB they are lost';
      log.error('history_failing', { path: folder, error, next });
    },
    onRecovered: () => log.info('history_recovered', { path: folder, lost: events.counts.lost }),
  });
  events.note({ kind: 'shard_started', detail: `version ${version}` });
  return {
    log: events,
    close: () => {
      events.note({ kind: 'shard_stopped' });
      return events.close();
    },
  };
}

/** Next to this module in the build. Tests run this module as TypeScript, but threads always run from the build. */
function historyProgram(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? '../../dist/workers/history.js' : '../../workers/history.js', import.meta.url);
}
