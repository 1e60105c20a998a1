/**
 * One shard and the view of it, among the parts that live as long as the process. A process without other replicas has one term; a
 * replica has one as a standby, and one as the active replica.
 */
import { systemScheduler, systemStopwatch } from '../base/clock.ts';
import { CoordinatorReporter } from '../coordination/reporter.ts';
import { logEvent } from '../observe/observers.ts';
import { sourcesOf } from '../observe/shard-sources.ts';
import { ROLLUP_ROWS_MAX, ROW_BYTES_MAX } from '../session/limits.ts';
import type { OperatorServer } from '../session/server.ts';
import type { ShardOptions } from '../shard/options.ts';
import type { ShardSettings } from '../shard/settings.ts';
import { Shard } from '../shard/shard.ts';
import { shardSources } from '../shard/view/shard-sources.ts';
import { ShardView } from '../shard/view/shard-view.ts';
import type { ProcessParts } from './shard-parts.ts';

export interface ShardTerm {
  readonly shard: Shard;
  readonly view: ShardView;
}

export interface TermOptions
  extends Pick<ShardOptions, 'epoch' | 'replica' | 'inherited' | 'controls' | 'usage'> {
  /** What differs from the settings of the process. */
  readonly settings?: Partial<ShardSettings>;
}

/** Its cycles and sessions begin with `shard.start()` and the operators' server. */
export function createTerm(parts: ProcessParts, { settings = {}, ...role }: TermOptions): ShardTerm {
  const { tables, checker, whatIfThreads, pool, pulse, operators, observer, clock, book, tenants } = parts;
  const shard = new Shard({
    ...role,
    settings: { ...parts.settings, ...settings },
    tables,
    checker,
    whatIfThreads,
    providers: pool,
    pulse,
    ...(role.replica?.isStandby === true ? {} : { operators }), // F4: a standby has no sessions of its own
    observer,
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
  return { shard, view };
}

/** Metrics and curves show this term from now on. */
export function watchTerm(parts: ProcessParts, { shard, view }: ShardTerm): void {
  const { metrics, history, operators, pool, tenants, audit, events, config } = parts;
  metrics.watch({
    ...sourcesOf(shard),
    sessions: () => sessionCounts(operators),
    ...(config.tls === null ? {} : { tls: () => operators.tlsStatus! }),
    workerRestarts: () => pool.workerRestarts,
    epoch: () => shard.epoch,
    rejectedRows: () => tenants.rejectedRows(),
    ...(audit === null ? {} : { audit: () => audit.counts }),
    ...(events === null ? {} : { events: () => events.counts }),
  });
  history.watch(view);
}

/** Reports to the coordinator at this address. */
export function startReporter(
  { config, operators, log }: ProcessParts,
  { view }: ShardTerm,
  coordinatorAddress: string,
): CoordinatorReporter {
  const reporter = new CoordinatorReporter({
    coordinatorAddress,
    shardAddress: config.advertiseAddr || operators.address,
    providerAddress: config.providers.map(({ address }) => address).join(','),
    source: view,
    intervalMs: config.coordinatorHeartbeatIntervalMs,
    tls: config.tls ?? undefined,
    connectionAgeMs: config.maxConnectionAgeMs,
    onTerm: (term) => operators.setCoordinatorTerm(term),
    onEvent: ({ level, ...event }) => logEvent(log, level, event),
  });
  reporter.start();
  return reporter;
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
