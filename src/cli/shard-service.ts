/**
 * Wires the parts of a shard process together. This is the only place that knows all of them. They are closed in reverse
 * order of their start, at the end or when a later part fails to start, so nothing stays half-started.
 */
import { steadyClock, systemScheduler, systemStopwatch } from '../base/clock.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import { CoordinatorReporter } from '../coordination/reporter.ts';
import { createDashboard } from '../dashboard/dashboard.ts';
import { ShardHistory } from '../dashboard/history.ts';
import { openDataDirectory } from '../identity/data-directory.ts';
import { AuditLog } from '../observe/audit.ts';
import { HttpServer, type Readiness } from '../observe/http.ts';
import { HEALTH_LIMITS, HTTP_REFUSALS, type HttpRefusal } from '../observe/http-limits.ts';
import type { RootLogger } from '../observe/log.ts';
import { auditObserver, LogObserver, logEvent, observeAll } from '../observe/observers.ts';
import { ShardMetrics } from '../observe/shard-metrics.ts';
import { sourcesOf } from '../observe/shard-sources.ts';
import { TenantBook } from '../observe/tenant-book.ts';
import { FencingTokens } from '../provider/client/fencing.ts';
import { ProviderPool } from '../provider/pool/pool.ts';
import { ROLLUP_ROWS_MAX, ROW_BYTES_MAX } from '../session/limits.ts';
import type { OperatorEvent } from '../session/operators.ts';
import { OperatorServer } from '../session/server.ts';
import type { ShardObserver } from '../shard/ports/observer.ts';
import type { Rails, ShardSettings } from '../shard/settings.ts';
import { SHARD_DEFAULTS } from '../shard/settings.ts';
import { Shard } from '../shard/shard.ts';
import { createTables } from '../shard/tables.ts';
import { tenantLimits } from '../shard/tenants.ts';
import { shardSources } from '../shard/view/shard-sources.ts';
import { ShardView } from '../shard/view/shard-view.ts';
import { CheckThreads } from './check-thread.ts';
import { SessionBook } from './session-book.ts';

const LOCAL_BOOTSTRAP_BLOB = new TextEncoder().encode(
  '#!/bin/sh\n# flotilla --local-bootstrap: no operator was asked\n',
);

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

type Closer = () => Promise<void> | void;

interface ServiceParts {
  readonly shard: Shard;
  readonly view: ShardView;
  readonly operators: OperatorServer;
  readonly http: HttpServer | null;
  readonly health: HttpServer | null;
  readonly audit: AuditLog | null;
  readonly options: ServiceOptions;
  readonly closers: Closer[];
}

export class ShardService {
  readonly shard: Shard;
  readonly view: ShardView;
  readonly operators: OperatorServer;
  readonly http: HttpServer | null;
  /** The server of --health-addr. */
  readonly health: HttpServer | null;
  readonly #audit: AuditLog | null;
  readonly #log: RootLogger;
  readonly #closers: Closer[];
  readonly #graceMs: number;

  /** Only for `ShardService.start`. */
  constructor(parts: ServiceParts) {
    this.shard = parts.shard;
    this.view = parts.view;
    this.operators = parts.operators;
    this.http = parts.http;
    this.health = parts.health;
    this.#audit = parts.audit;
    this.#log = parts.options.log;
    this.#graceMs = parts.options.config.shutdownGraceMs;
    this.#closers = parts.closers;
  }

  /** Rejects with a ShardError if a part fails to start; then no part runs. */
  static async start(options: ServiceOptions): Promise<ShardService> {
    const closers: Closer[] = [];
    try {
      return await build(options, closers);
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  /** Applies rails, limits of clusters and log level, reads changed TLS files, and reopens the audit log. */
  reload(config: ShardConfig): void {
    this.#log.setLevel(config.logLevel);
    this.shard.setRails(railsOf(config));
    this.operators.refreshTls();
    void this.#audit?.reopen();
  }

  /** I3: stops cycles, lets actions in flight finish within the grace, then ends sessions and closes everything. */
  async stop(): Promise<void> {
    await this.shard.stop(this.#graceMs);
    await closeAll(this.#closers);
  }
}

async function build(options: ServiceOptions, closers: Closer[]): Promise<ShardService> {
  const { config, log, version } = options;
  const clock = steadyClock();
  const data = await openDataDirectory({ path: config.dataDir, minEpoch: config.minEpoch });
  closers.push(() => data.close());
  const audit = config.auditLog === '' ? null : await AuditLog.open({ path: config.auditLog, log });
  if (audit !== null) closers.push(() => audit.close());
  const settings = settingsOf(config);
  const tables = createTables(settings);
  const tls = config.tls ?? undefined;
  const fencing = FencingTokens.create(config.id, data.epoch);
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
  const observers: Partial<ShardObserver>[] = [metrics, new LogObserver(log), history, tenants];
  if (audit !== null) observers.push(auditObserver(audit));
  const checker = new CheckThreads();
  closers.push(() => checker.close());
  const book = new SessionBook();
  const operators = new OperatorServer({
    listen: config.listen.text,
    clock,
    tls,
    tlsDeniedPath: config.tlsDenied,
    connectionAgeMs: config.maxConnectionAgeMs,
    deadPeerMs: config.keepaliveTimeoutMs,
    onEvent: (event) => {
      book.note(event, clock.nowMs());
      logEvent(log, LEVELS[event.kind] ?? 'info', event);
    },
  });
  closers.push(() => operators.close());
  const shard = new Shard({
    settings,
    tables,
    checker,
    epoch: data.epoch,
    providers: pool,
    operators,
    observer: observeAll(observers, log),
    clock,
    scheduler: systemScheduler,
    stopwatch: systemStopwatch,
  });
  const view = new ShardView(
    shardSources({
      shard,
      clock,
      scheduler: systemScheduler,
      providerNames: pool.names,
      sessions: () => book.views(operators.sessions()),
      refusals: tenants,
      rollupLimits: { rollupRowsMax: ROLLUP_ROWS_MAX, rowBytesMax: ROW_BYTES_MAX },
    }),
  );
  await operators.listen({ shard, needs: view });
  metrics.watch({
    ...sourcesOf(shard),
    sessions: () => sessionCounts(operators),
    ...(tls === undefined ? {} : { tls: () => operators.tlsStatus! }),
    workerRestarts: () => pool.workerRestarts,
    isReady: () => shard.notReady() === '',
    rejectedRows: () => tenants.rejectedRows(),
    ...(audit === null ? {} : { audit: () => audit.counts }),
  });
  history.watch(view);
  const health = await startHealth(options, shard);
  if (health !== null) closers.push(() => health.close());
  const http = await startHttp(options, shard, metrics);
  const servers = [http, health].filter((server) => server !== null);
  if (servers.length > 0) metrics.watch({ httpRefused: () => refusedBy(servers) });
  if (http !== null) {
    closers.push(() => http.close());
    http.mount('/', createDashboard({ view, history, version, nowMs: clock.nowMs }));
  }
  if (config.coordinatorAddr !== '') {
    const reporter = new CoordinatorReporter({
      coordinatorAddress: config.coordinatorAddr,
      shardAddress: config.advertiseAddr || operators.address,
      providerAddress: config.providers.map(({ address }) => address).join(','),
      source: view,
      intervalMs: config.coordinatorHeartbeatIntervalMs,
      tls,
      connectionAgeMs: config.maxConnectionAgeMs,
      onTerm: (term) => operators.setCoordinatorTerm(term),
      onEvent: ({ level, ...event }) => logEvent(log, level, event),
    });
    closers.push(() => reporter.close());
    reporter.start();
  }
  shard.start();
  return new ShardService({ shard, view, operators, http, health, audit, options, closers });
}

async function startHttp(
  { config, log }: ServiceOptions,
  shard: Shard,
  metrics: ShardMetrics,
): Promise<HttpServer | null> {
  const { metricsAddr } = config;
  if (metricsAddr === null) return null;
  return HttpServer.listen({
    host: metricsAddr.host,
    port: metricsAddr.port,
    allowedHosts: config.metricsHost,
    scrape: () => metrics.scrape(),
    readiness: () => readinessOf(shard),
    log,
  });
}

/** T13: probes on an address of their own wait behind no other client. */
async function startHealth({ config, log }: ServiceOptions, shard: Shard): Promise<HttpServer | null> {
  const { healthAddr } = config;
  if (healthAddr === null) return null;
  return HttpServer.listen({
    host: healthAddr.host,
    port: healthAddr.port,
    allowedHosts: config.metricsHost,
    limits: HEALTH_LIMITS,
    setting: '--health-addr',
    readiness: () => readinessOf(shard),
    log,
  });
}

function readinessOf(shard: Shard): Readiness {
  const reason = shard.notReady();
  return { isReady: reason === '', reason };
}

function refusedBy(servers: readonly HttpServer[]): Record<HttpRefusal, number> {
  const sums = { ...servers[0]!.refused };
  for (const { refused } of servers.slice(1))
    for (const reason of HTTP_REFUSALS) sums[reason] += refused[reason];
  return sums;
}

function sessionCounts({ sessionCount, counters, rollupBytesWaiting }: OperatorServer) {
  return {
    active: sessionCount,
    installed: counters.sessionsInstalled,
    removed: counters.sessionsRemoved,
    replaced: counters.sessionsReplaced,
    identityRejected: counters.identityRejections,
    refused: counters.refused,
    connectionsEnded: counters.connectionsEnded,
    rollupBytesWaiting,
  };
}

/** Closes all parts even if some fail, then throws the first failure. */
async function closeAll(closers: Closer[]): Promise<void> {
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

function railsOf(config: ShardConfig): Rails {
  return {
    isPaused: config.actuationPaused,
    isDryRun: config.dryRun,
    actionsPerCycleMax: config.maxActionsPerCycle,
    reclaimCapFraction: config.reclaimCapFraction,
    preemptionCapFraction: config.preemptionCapFraction,
    burnFraction: config.burnFraction,
    hasRollupGuard: config.emptyRollupGuard,
    tenants: config.tenants.map(tenantLimits),
  };
}

function settingsOf(config: ShardConfig): ShardSettings {
  return {
    ...SHARD_DEFAULTS,
    ...railsOf(config),
    shardId: config.id,
    cycleIntervalMs: config.cycleIntervalMs,
    machinesMax: config.maxMachines,
    tableShare: config.tenantTableShare,
    providerTableReserve: config.providerTableReserve,
    isIncremental: config.incrementalReconcile,
    fullListEveryCycles: config.fullListEvery,
    lossRelistMs: config.relistAfterLossMs,
    optionalProviders: config.optionalProviders,
    providerIdPrefixes: config.providerIdPrefixes,
    ignoresUnassignedBindings: config.unassignedBindings === 'ignore',
    executeConcurrency: config.executeConcurrency,
    executeTimeoutMs: config.executeTimeoutMs,
    bootstrapTimeoutMs: config.bootstrapTimeoutMs,
    localBootstrapBlob: config.localBootstrap ? LOCAL_BOOTSTRAP_BLOB : null,
    idleHoldOnDemandMs: config.idleHoldOnDemandMs,
    idleHoldSpotMs: config.idleHoldSpotMs,
    stuckAfterMs: config.stuckAfterMs,
    hintIntervalMs: config.availableCapacityIntervalMs,
    checkEveryCycles: config.fromScratchCheckEvery,
    preemptionWeights: {
      gap: config.preemptionWeightGap,
      drain: config.preemptionWeightDrain,
      interruption: config.preemptionWeightInterruption,
      reclamation: config.preemptionWeightReclamation,
    },
  };
}
