/**
 * The log: one line per event with a name and fields, as JSON or readable text. Half a million machines can report the same
 * failure at once, so the log summarises repeated events (log-limit.ts). A reader that is too slow loses lines, but never
 * stops the shard. Secrets are redacted (log-fields.ts).
 */
import { pino } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { type LogFields, safeFields } from './log-fields.ts';
import { RepeatLimit } from './log-limit.ts';
import { prettyLine } from './log-pretty.ts';

export type { LogFields } from './log-fields.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Logger {
  /** Event names are snake_case and stable, because users search for them. */
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  with(fields: LogFields): Logger;
}

export interface LogSink {
  write(line: string): void;
  /** Writes the buffer before it returns, for a process that exits at once. It may overtake a line that is being written. */
  flush(): void;
  /** Resolves when all lines are written, or the reader has gone. */
  drain(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  /** Fields on every line, such as the shard's id. */
  readonly fields?: LogFields;
  readonly clock?: Clock;
  /** Default: standard error. */
  readonly sink?: LogSink;
}

/** The root of a log: its owner changes level and format, and closes it. */
export interface RootLogger extends Logger {
  setLevel(level: LogLevel): void;
  setFormat(format: LogOptions['format']): void;
  /** Writes pending summaries and the buffer before it returns, for a process that exits at once. */
  flush(): void;
  /** Writes pending summaries and waits until all lines are out. The log can still be used afterwards. */
  drain(): Promise<void>;
}

export function createLogger(options: LogOptions): RootLogger {
  const { clock = systemClock, level, sink = standardError() } = options;
  let { format } = options;
  const write = (line: string) => sink.write(format === 'pretty' ? prettyLine(line) : line);
  const root = pino(
    {
      level,
      base: safeFields(options.fields ?? {}),
      messageKey: 'event',
      timestamp: () => `,"time":"${new Date(clock.nowMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  const limit = new RepeatLimit(clock, (repeatedLevel, event, suppressedCount) =>
    root[repeatedLevel](
      { more: suppressedCount, note: `… and ${grouped(suppressedCount)} more`, ...formerName(event) },
      event,
    ),
  );
  return {
    ...loggerOf(root, limit),
    setLevel: (wanted) => {
      root.level = wanted;
    },
    setFormat: (wanted) => {
      format = wanted;
    },
    flush: () => {
      limit.flush();
      sink.flush();
    },
    drain: () => {
      limit.flush();
      return sink.drain();
    },
  };
}

function loggerOf(lines: pino.Logger, limit: RepeatLimit, common: LogFields = {}): Logger {
  const logAt =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      // Debug lines are never limited: at this level the user wants every line.
      if (!lines.isLevelEnabled(level) || (level !== 'debug' && !limit.admits(level, event))) return;
      lines[level](safeFields({ ...common, ...fields, ...formerName(event) }), event);
    };
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    with: (fields) => loggerOf(lines, limit, { ...common, ...fields }),
  };
}

/** Events that have been renamed, by today's name: a search or an alert for the old name still finds the line. */
const FORMER_EVENTS: Readonly<Record<string, string>> = {
  observation_confirmed: 'word_confirmed',
  observation_discarded: 'word_dropped',
  rollup_quarantined: 'rollup_held',
};

function formerName(event: string): { formerEvent?: string } {
  const formerEvent = FORMER_EVENTS[event];
  return formerEvent === undefined ? {} : { formerEvent };
}

const grouped = (count: number) => count.toLocaleString('en-US');

/** Buffer for a slow reader, some 50,000 lines. Beyond it lines are lost. */
const BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
/** A process that exits waits at most this long for the reader of its log. */
const DRAIN_MS_MAX = 1_000;

function standardError(): LogSink {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: BUFFERED_BYTES_MAX });
  // A reader that has gone must not stop the shard.
  destination.on('error', () => {});
  return {
    write: (line) => void destination.write(line),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // The reader has closed the pipe.
      }
    },
    drain: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, DRAIN_MS_MAX);
        destination.flush(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

/** A log that writes nothing, for tests and for parts that run without a log. */
export const SILENT: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => SILENT,
};
