/**
 * The log: one line per event, an event name and fields, JSON or text for people. A fleet of half a million machines
 * can have half a million of the same trouble at once, so an event that repeats is summarised (log-limit.ts), and a
 * reader that does not keep up loses lines instead of stopping the shard. Secrets are taken out (log-fields.ts).
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
  /** Event names are snake_case and stable: people search for them. */
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with fields on every line. */
  with(fields: LogFields): Logger;
}

export interface LogSink {
  write(line: string): void;
  /** For the last moment of a process that ends at once: what is buffered goes out, though it may overtake a line. */
  flush(): void;
  /** Resolves when everything is out, or nobody reads it. */
  drain(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  /** On every line, such as the shard's id. */
  readonly fields?: LogFields;
  readonly clock?: Clock;
  /** Default: standard error. */
  readonly sink?: LogSink;
}

/** The root of a log: its owner changes the level and closes it. */
export interface RootLogger extends Logger {
  setLevel(level: LogLevel): void;
  /** Writes what is held back, and all of it before it returns. For a process that has to end at once. */
  flush(): void;
  /** Writes what is held back and waits until it is out. Lines after this are still written. */
  drain(): Promise<void>;
}

export function createLogger(options: LogOptions): RootLogger {
  const { clock = systemClock, format, level, sink = standardError() } = options;
  const write = format === 'pretty' ? (line: string) => sink.write(prettyLine(line)) : sink.write.bind(sink);
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
      // Who asked for debugging wants every line.
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

/** What a stuck reader may hold up before lines are lost: some 50,000 of them. */
const BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
/** The end of a process does not wait longer than this for somebody to read its log. */
const DRAIN_MS_MAX = 1_000;

function standardError(): LogSink {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: BUFFERED_BYTES_MAX });
  // A log that nobody reads any more is no reason to stop.
  destination.on('error', () => {});
  return {
    write: (line) => void destination.write(line),
    flush: () => {
      try {
        destination.flushSync();
      } catch {
        // Closed by the reader: there is nowhere to write to.
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

/** For tests and for parts that are used without a log. */
export const SILENT: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => SILENT,
};
