/** Puts a kit provider together: state, TLS, gRPC, health and metrics. It starts in this order and closes in the reverse. */
import { ServerCredentials } from '@grpc/grpc-js';
import type { Registry } from 'prom-client';
import { ShardError } from '../base/errors.ts';
import { HttpServer } from '../observe/http.ts';
import type { Logger } from '../observe/log.ts';
import { tlsMetrics } from '../observe/tls-metrics.ts';
import { type TlsFiles, tlsFilesOf } from '../tls/files.ts';
import { RotatingServerCredentials } from '../tls/server-credentials.ts';
import type { Cloud, Offer, ProviderMachine, Sighting } from './cloud.ts';
import { CannotServeError } from './errors.ts';
import { GrpcServer } from './grpc-server.ts';
import { ProviderMetrics } from './metrics.ts';
import type { OperationName } from './operations.ts';
import { Provider } from './provider.ts';
import { IN_MEMORY, StateLog } from './state-log.ts';

export interface ServeOptions {
  /** In the host of every machine, and in the state: it must not change. */
  readonly name: string;
  readonly cloud: Cloud;
  /** What the provider has now. `setOffers` replaces it. */
  readonly offers: Iterable<Offer>;
  /** `host:port`; port 0 selects an unused one. */
  readonly listen: string;
  /** Where marks, bindings and operations are stored. Left out: in memory, for tests alone. */
  readonly stateDir?: string;
  /** `host:port` for /metrics, /healthz and /readyz. Left out: none. */
  readonly http?: string;
  /** PEM files, all three. Left out: plaintext, for loopback alone. */
  readonly tls?: TlsFiles;
  /** How long an operation may take before its machine is Failed. A drain also has its grace. Default: 10 min each. */
  readonly timeoutsMs?: Partial<Readonly<Record<OperationName, number>>>;
  /** How long an ack waits for the operation to end. Default: 0, asynchronous. The shard's calls end after 30 s. */
  readonly ackWithinMs?: number;
  /** How long `close` waits for operations in progress. Those that are left run again at the next start. Default: 1 s. */
  readonly closeGraceMs?: number;
  /** Events worth a line: a failed operation, TLS files that cannot be used. Default: none. */
  readonly log?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

export interface ServedProvider {
  /** `host:port` with the actual port. */
  readonly address: string;
  /** Of /metrics; '' without HTTP. */
  readonly httpUrl: string;
  readonly machines: readonly ProviderMachine[];
  /** For metrics of your own. */
  readonly registry: Registry;
  /** Replaces the offers: prices, new machines, machines that are no longer to be had. */
  setOffers(offers: Iterable<Offer>): void;
  /**
   * What the cloud shows of a machine without a call: interrupted, broken, repaired. False if an operation on it is in
   * progress, whose function then has to notice, or if there is no such machine.
   */
  report(machineId: string, sighting: Sighting): Promise<boolean>;
  /** Answers no further call, waits for operations in progress, stores the state and releases it. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 600_000;
const CLOSE_GRACE_MS = 1_000;

/**
 * Resolves when calls are answered. Throws a ShardError whose message says what to change: invalid offers, state that another
 * process uses, TLS files, an address that is taken.
 */
export async function serveProvider(options: ServeOptions): Promise<ServedProvider> {
  const { name, cloud, offers, log = () => {}, closeGraceMs = CLOSE_GRACE_MS } = options;
  const provider = new Provider({
    name,
    cloud,
    offers,
    limitsMs: {
      create: TIMEOUT_MS,
      configure: TIMEOUT_MS,
      drain: TIMEOUT_MS,
      delete: TIMEOUT_MS,
      ...options.timeoutsMs,
    },
    ackWithinMs: options.ackWithinMs ?? 0,
    onOutcome: (operation, outcome, tookMs) => {
      metrics.ended(operation, outcome, tookMs);
      if (outcome !== 'done') log('operation_not_done', { operation, outcome });
    },
  });
  const closers: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const closeNext of closers.splice(0).reverse()) await closeNext();
  };
  const metrics = new ProviderMetrics(
    () => provider.countsByState(),
    () => provider.isStateFailing,
  );
  try {
    const tls = credentialsOf(options, log);
    if (tls !== null) closers.push(() => tls.close());
    await startProvider(provider, options);
    closers.push(() => provider.close(closeGraceMs));
    const grpc = new GrpcServer(provider, {
      credentials: tls ?? ServerCredentials.createInsecure(),
      isIdentified: tls !== null,
      onAnswer: (call, code) => metrics.answered(call, code),
    });
    tlsMetrics(metrics.registry, () => tls?.status ?? null);
    const httpUrl = await serveHttp(provider, metrics, options, closers);
    const port = await grpc.listen(options.listen);
    closers.push(() => grpc.close(closeGraceMs));
    return {
      address: `${options.listen.slice(0, options.listen.lastIndexOf(':'))}:${port}`,
      httpUrl,
      registry: metrics.registry,
      get machines() {
        return provider.machines;
      },
      setOffers: (next) => provider.setOffers(next),
      report: (id, sighting) => provider.report(id, sighting),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startProvider(provider: Provider, { stateDir, name }: ServeOptions): Promise<void> {
  if (stateDir === undefined) return provider.start(IN_MEMORY, []);
  const { log, entries } = await StateLog.open(stateDir, name, () => provider.entries());
  try {
    await provider.start(log, entries);
  } catch (error) {
    await log.close();
    throw error;
  }
}

type Log = NonNullable<ServeOptions['log']>;

function credentialsOf({ tls }: ServeOptions, log: Log): RotatingServerCredentials | null {
  const files = tls === undefined ? undefined : tlsFilesOf(tls);
  if (files === undefined) return null;
  return new RotatingServerCredentials({ files, onEvent: ({ kind, ...fields }) => log(kind, fields) });
}

async function serveHttp(
  provider: Provider,
  metrics: ProviderMetrics,
  { http: address, log = () => {} }: ServeOptions,
  closers: (() => Promise<void> | void)[],
): Promise<string> {
  if (address === undefined) return '';
  const at = address.lastIndexOf(':');
  try {
    const http = await HttpServer.listen({
      host: address.slice(0, at),
      port: Number(address.slice(at + 1)),
      scrape: () => metrics.scrape(),
      readiness: () => ({ isReady: provider.whyNotReady === '', reason: provider.whyNotReady }),
      log: loggerOf(log),
    });
    closers.push(() => http.close());
    return http.url;
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    throw new CannotServeError(address, 'the address cannot be used for HTTP');
  }
}

function loggerOf(log: Log): Logger {
  const write = (event: string, fields: Readonly<Record<string, unknown>> = {}) => log(event, fields);
  const logger: Logger = { debug: () => {}, info: write, warn: write, error: write, with: () => logger };
  return logger;
}
