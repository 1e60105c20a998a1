/**
 * The parts of a shard process that live as long as the process: threads, operators' port, metrics, audit log. Shards come and go
 * in it: a standby's, and then that of the active replica (shard-term.ts).
 */
import { type Clock, steadyClock } from '../base/clock.ts';
import type { Pulse } from '../base/pulse.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import { ShardHistory } from '../dashboard/history.ts';
import type { EventLog } from '../events/event-log.ts';
import { historyObserver } from '../events/observer.ts';
import { AuditLog } from '../observe/audit.ts';
import type { RootLogger } from '../observe/log.ts';
import { auditObserver, LogObserver, logEvent, observeAll } from '../observe/observers.ts';
import { ShardMetrics } from '../observe/shard-metrics.ts';
import { TenantBook } from '../observe/tenant-book.ts';
import type { FencingTokens } from '../provider/client/fencing.ts';
import { ProviderPool } from '../provider/pool/pool.ts';
import type { OperatorEvent } from '../session/operators.ts';
import { type FurtherService, OperatorServer } from '../session/server.ts';
import type { ShardObserver } from '../shard/ports/observer.ts';
import type { ShardSettings } from '../shard/settings.ts';
import { createTables, type ShardTables } from '../shard/tables.ts';
import { InterruptionCounts } from '../spending/interruptions.ts';
import { CheckThreads } from './check-thread.ts';
import { SessionBook } from './session-book.ts';
import { type AdminHome, adminOverTls, PresentAdmin } from './shard-admin.ts';
import { openEventLog } from './shard-events.ts';
import { settingsOf } from './shard-rails.ts';
import { PresentWhatIf } from './shard-what-if.ts';
import { WhatIfThread } from './what-if-thread.ts';

/** Events of the operators' server that are more than information. */
const LEVELS: { readonly [Kind in OperatorEvent['kind']]?: 'warn' | 'error' } = {
  identity_rejected: 'warn',
  limit_reached: 'warn',
  connection_ended: 'warn',
  tls_reload_failed: 'error',
};

export interface ServiceOptions {
  readonly config: ShardConfig;
  readonly log: RootLogger;
  readonly version: string;
}

export type Closer = () => Promise<void> | void;

export interface ProcessParts extends ServiceOptions {
  readonly clock: Clock;
  readonly settings: ShardSettings;
  readonly tables: ShardTables;
  readonly audit: AuditLog | null;
  readonly events: EventLog | null;
  readonly pool: ProviderPool;
  /** X16: read by the threads of the pool. */
  readonly pulse: Pulse | null;
  readonly metrics: ShardMetrics;
  readonly history: ShardHistory;
  readonly tenants: TenantBook;
  readonly interruptions: InterruptionCounts;
  readonly observer: ShardObserver;
  readonly checker: CheckThreads;
  readonly whatIfThreads: WhatIfThread;
  readonly operators: OperatorServer;
  readonly book: SessionBook;
  readonly data: AdminHome;
  readonly admin: PresentAdmin;
  readonly whatIf: PresentWhatIf;
}

/** What a replica adds to the parts of every shard process. */
export interface RoleParts {
  readonly observers: readonly Partial<ShardObserver>[];
  /** On the operators' port. */
  readonly services: readonly FurtherService[];
}

/** Each part that was started has its closer in `closers`, also if a later one fails to start. */
export async function startParts(
  options: ServiceOptions,
  fencing: FencingTokens,
  data: AdminHome,
  closers: Closer[],
  { observers: moreObservers, services }: RoleParts = { observers: [], services: [] },
): Promise<ProcessParts> {
  const { config, log, version } = options;
  const clock = steadyClock();
  const audit = config.auditLog === '' ? null : await AuditLog.open({ path: config.auditLog, log });
  if (audit !== null) closers.push(() => audit.close());
  const epoch = () => fencing.epoch;
  const events = openEventLog({ config, epoch, log, version });
  if (events !== null) closers.push(() => events.close());
  const settings = settingsOf(config);
  const tables = createTables(settings);
  const tls = config.tls ?? undefined;
  const pool = new ProviderPool({
    endpoints: config.providers.map((provider) => (tls === undefined ? provider : { ...provider, tls })),
    fencing: fencing.shared,
    inventory: tables.inventory.share(),
    threads: config.workers,
    executeConcurrency: config.executeConcurrency,
    limits: { listBytesMax: config.maxListBytes, connectionAgeMs: config.maxConnectionAgeMs },
    clock,
    onWorkerLost: ({ thread, detail }) => log.error('worker_lost', { thread, detail }),
  });
  closers.push(() => pool.close({ graceMs: 0 }));
  const metrics = new ShardMetrics({ version });
  closers.push(() => metrics.close());
  const history = new ShardHistory();
  const tenants = new TenantBook(clock);
  const interruptions = new InterruptionCounts();
  const observers: Partial<ShardObserver>[] = [
    metrics,
    new LogObserver(log),
    history,
    tenants,
    ...(config.spendingHistory ? [interruptions.observer] : []),
    ...moreObservers,
  ];
  if (audit !== null) observers.push(auditObserver(audit, epoch));
  if (events !== null) observers.push(historyObserver(events.log));
  const checker = new CheckThreads();
  closers.push(() => checker.close());
  const whatIfThreads = new WhatIfThread();
  closers.push(() => whatIfThreads.close());
  const book = new SessionBook();
  const admin = new PresentAdmin();
  const whatIf = new PresentWhatIf();
  const operators = new OperatorServer({
    listen: config.listen.text,
    clock,
    tls,
    tlsDeniedPath: config.tlsDenied,
    connectionAgeMs: config.maxConnectionAgeMs,
    deadPeerMs: config.keepaliveTimeoutMs,
    services: [...services, ...(config.adminOverTls ? [adminOverTls(options, { admin, whatIf })] : [])],
    onEvent: (event) => {
      book.note(event, clock.nowMs());
      logEvent(log, LEVELS[event.kind] ?? 'info', event);
    },
  });
  closers.push(() => operators.close());
  return {
    ...options,
    clock,
    settings,
    tables,
    audit,
    events: events?.log ?? null,
    pool,
    pulse: fencing.pulse,
    metrics,
    history,
    tenants,
    interruptions,
    observer: observeAll(observers, log),
    checker,
    whatIfThreads,
    operators,
    book,
    data,
    admin,
    whatIf,
  };
}

/** Closes all parts even if some fail, then throws the first failure. */
export async function closeAll(closers: Closer[]): Promise<void> {
  const failures: unknown[] = [];
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
