/**
 * Combines the observers of the shard: metrics, audit log and log. If an observer throws, the error goes to the log and
 * never reaches the shard.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { ALL_STATES, type MachineState, STATE_NAMES } from '../machine/state.ts';
import type {
  ActionRecord,
  CycleReport,
  ListingReport,
  ShardEvent,
  ShardObserver,
} from '../shard/ports/observer.ts';
import type { AuditLog } from './audit.ts';
import type { LogFields, Logger, LogLevel } from './log.ts';
import type { LogValue } from './log-fields.ts';

export function observeAll(observers: readonly Partial<ShardObserver>[], log: Logger): ShardObserver {
  const each = (notify: (observer: Partial<ShardObserver>) => void) => {
    for (const observer of observers) {
      try {
        notify(observer);
      } catch (error) {
        log.error('observer_failed', { error: error as Error });
      }
    }
  };
  return {
    audits: observers.some((observer) => observer.audits === true),
    cycleEnded: (report) => each((observer) => observer.cycleEnded?.(report)),
    actionEnded: (record) => each((observer) => observer.actionEnded?.(record)),
    acceptedActionEnded: (ended) => each((observer) => observer.acceptedActionEnded?.(ended)),
    listingEnded: (report) => each((observer) => observer.listingEnded?.(report)),
    controlled: (record) => each((observer) => observer.controlled?.(record)),
    machineBound: (bound) => each((observer) => observer.machineBound?.(bound)),
    happened: (event) => each((observer) => observer.happened?.(event)),
    ...(observers.some(({ noted }) => noted !== undefined)
      ? { noted: (event) => each((observer) => observer.noted?.(event)) }
      : {}),
  };
}

/**
 * C5: the audit log has one line per action. Writing starts when a cycle ends, so that its records are in the file before
 * the next cycle. Records carry wall-clock time, since the shard's own clock ignores corrections of the system clock.
 */
export function auditObserver(
  audit: AuditLog,
  epoch: () => number,
  wall: Clock = systemClock,
): Partial<ShardObserver> {
  return {
    audits: true,
    actionEnded: (record) => audit.record({ ...record, atMs: wall.nowMs(), epoch: epoch() }),
    controlled: (record) => audit.record({ ...record, atMs: wall.nowMs() }),
    cycleEnded: () => void audit.flush(),
  };
}

/** A cycle that takes longer gets a warning; half a million machines take a tenth of this. */
const SLOW_CYCLE_MS = 1_000;

export class LogObserver implements ShardObserver {
  readonly audits = false;
  readonly #log: Logger;
  /** Providers whose last listing failed, with the kind of failure. */
  readonly #failing = new Map<string, string>();
  #heldBack = '';

  constructor(log: Logger) {
    this.#log = log;
  }

  cycleEnded(report: CycleReport): void {
    const { cycle, durationMs, unmetNeeds, heldBack } = report;
    if (heldBack !== this.#heldBack) {
      if (heldBack === '') this.#log.info('actions_begin', { cycle });
      else this.#log.warn('actions_held_back', { cycle, why: heldBack });
      this.#heldBack = heldBack;
    }
    if (durationMs > SLOW_CYCLE_MS) this.#log.warn('cycle_slow', { cycle, ms: rounded(durationMs) });
    const enqueued = Object.values(report.enqueued).reduce((sum, count) => sum + count, 0);
    const fields = { cycle, ms: rounded(durationMs), actions: enqueued, unmet_needs: unmetNeeds };
    if (enqueued > 0) this.#log.info('cycle', fields);
    else this.#log.debug('cycle', fields);
  }

  actionEnded(record: ActionRecord): void {
    const { outcome, kind, machineId, clusterId, detail } = record;
    const fields = { kind, machine: machineId, cluster: clusterId, outcome, detail };
    if (QUIET_OUTCOMES.has(outcome)) this.#log.debug('action_ended', fields);
    else this.#log.warn('action_failed', fields);
  }

  /** One line when listings begin to fail or fail in another way, and one when they recover; not one per listing. */
  listingEnded(report: ListingReport): void {
    const { provider, failure, durationMs, listedCount, answerBytes } = report;
    if (failure !== '') {
      const kind = failure.split(':', 1)[0]!;
      if (this.#failing.get(provider) !== kind)
        this.#log.warn('listing_failed', { provider, error: failure });
      this.#failing.set(provider, kind);
      return;
    }
    const fields = { provider, machines: listedCount, bytes: answerBytes, ms: rounded(durationMs) };
    if (this.#failing.delete(provider)) this.#log.info('listing_recovered', fields);
    else this.#log.debug('listing', fields);
  }

  happened(event: ShardEvent): void {
    const { level, ...facts } = event;
    logEvent(this.#log, level, facts);
  }
}

/** Logs an event of any part of the service. Its kind becomes the name, its facts become fields. */
export function logEvent(log: Logger, level: LogLevel, event: { readonly kind: string }): void {
  const { kind, ...facts } = event;
  log[level](kind, fieldsOf(facts as Readonly<Record<string, LogValue>>));
}

/** Outcomes that need no warning: they are expected, or their cause has its own event. */
const QUIET_OUTCOMES: ReadonlySet<string> = new Set([
  'success',
  'accepted',
  'stale_state',
  'held',
  'deduped',
  'dropped',
  'suppressed',
  'dryrun',
]);

const STATE_FIELDS: ReadonlySet<string> = new Set(['state', 'from', 'to']);

/** `machineId` → `machine_id`; states by name. */
function fieldsOf(facts: Readonly<Record<string, LogValue>>): LogFields {
  const fields: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries(facts)) {
    const isState = STATE_FIELDS.has(name) && ALL_STATES.includes(value as MachineState);
    const key = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    fields[key] = isState ? STATE_NAMES[value as MachineState] : value;
  }
  return fields;
}

const rounded = (valueMs: number) => Math.round(valueMs * 100) / 100;
