/**
 * Wires the parts of a shard process together: those that live as long as the process (shard-parts.ts), the shard of the present
 * term (shard-term.ts), HTTP, and, with --directory, the life as one of several replicas (shard-replica.ts). They are closed in
 * reverse order of their start, at the end or when a later part fails to start, so nothing stays half-started.
 */
import { Pulse } from '../base/pulse.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import { openDataDirectory } from '../identity/data-directory.ts';
import type { HttpServer, Readiness } from '../observe/http.ts';
import { FencingTokens } from '../provider/client/fencing.ts';
import type { LifeEnd } from '../replica/life.ts';
import type { OperatorServer } from '../session/server.ts';
import { readControls } from '../shard/controls/control.ts';
import type { Shard } from '../shard/shard.ts';
import { reportToFleet } from './fleet-reports.ts';
import { startAdminSocket } from './shard-admin.ts';
import { type HttpServers, startHttp } from './shard-http.ts';
import { type Closer, closeAll, type ProcessParts, type ServiceOptions, startParts } from './shard-parts.ts';
import { railsOf, warnOfRails } from './shard-rails.ts';
import type { ReplicaProcess } from './shard-replica.ts';
import { openSpending } from './shard-spending.ts';
import { createTerm, type ShardTerm, startReporter, watchTerm } from './shard-term.ts';

/** F6: a takeover after a handover takes less; then the port closes, whatever waits at it. */
const SETTLE_MS_MAX = 2_000;

export class ShardService {
  /** Resolves if the process should end by itself: another replica is active. */
  readonly ended: Promise<LifeEnd>;
  readonly #parts: ProcessParts;
  readonly #replica: ReplicaProcess | null;
  readonly #closers: Closer[];
  #term: ShardTerm;
  #servers: HttpServers = { http: null, health: null };
  #isStopping = false;
  #shutdownGraceMs: number;

  /** Rejects with a ShardError if a part fails to start; then no part runs. */
  static async start(options: ServiceOptions): Promise<ShardService> {
    const closers: Closer[] = [];
    try {
      const { config } = options;
      const replica = config.directory === null ? null : await openReplica(options, closers);
      const service =
        replica === null ? await alone(options, closers) : await asReplica(options, replica, closers);
      await service.#listen();
      return service;
    } catch (error) {
      await closeAll(closers);
      throw error;
    }
  }

  /** Only for `ShardService.start`. */
  constructor(parts: ProcessParts, term: ShardTerm, closers: Closer[], replica: ReplicaProcess | null) {
    this.#parts = parts;
    this.#shutdownGraceMs = parts.config.shutdownGraceMs;
    this.#term = term;
    this.#closers = closers;
    this.#replica = replica;
    this.ended = replica === null ? new Promise(() => {}) : replica.ended;
  }

  /** The shard of the present term. */
  get shard(): Shard {
    return this.#term.shard;
  }

  get operators(): OperatorServer {
    return this.#parts.operators;
  }

  get http(): HttpServer | null {
    return this.#servers.http;
  }

  /** The server of --health-addr. */
  get health(): HttpServer | null {
    return this.#servers.health;
  }

  /** H11: applies the settings that a reload changes, reads changed TLS files, and reopens the audit log. */
  reload(config: ShardConfig): void {
    const { log, operators, audit } = this.#parts;
    log.setLevel(config.logLevel);
    log.setFormat(config.logFormat);
    this.#shutdownGraceMs = config.shutdownGraceMs;
    warnOfRails(config, log);
    this.shard.setRails(railsOf(config));
    this.#replica?.reload(config);
    operators.refreshTls();
    void audit?.reopen();
  }

  /**
   * I3: stops cycles, lets actions in flight finish within the grace, then ends sessions and closes everything. F5: a replica gives its
   * lease up in between, so that another one takes over at once.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const stopActions = () => this.shard.stop(this.#shutdownGraceMs);
    await (this.#replica === null ? stopActions() : this.#handOver(this.#replica, stopActions));
    await closeAll(this.#closers);
  }

  /** F6: a session that begins now waits for the next active replica. The others go on until the lease is given up. */
  async #handOver({ life, relay }: ReplicaProcess, stopActions: () => Promise<void>): Promise<void> {
    const { operators, log } = this.#parts;
    operators.standBy(relay);
    operators.goAway();
    await life.handOver(stopActions, () => {
      log.info('replica_handed_over');
      operators.endAll('This replica gave its lease up. Connect again.');
      return relay.settled(SETTLE_MS_MAX);
    });
  }

  /** F3: another replica is active. Nothing is left to wait for. */
  async abandon(): Promise<void> {
    await this.shard.stop(0);
    await this.#replica?.life.close();
    await closeAll(this.#closers);
  }

  async #listen(): Promise<void> {
    const { operators } = this.#parts;
    const { shard, view: needs } = this.#term;
    const replica = this.#replica;
    if (replica !== null) operators.standBy(replica.relay);
    if (replica !== null) operators.route(replica.fleet.router);
    await operators.listen({ shard: shard.operatorCalls, needs });
    watchTerm(this.#parts, this.#term);
    if (replica !== null) this.#parts.metrics.watch({ replica: () => replica.gauges() });
    const view = () => this.#term.view;
    this.#parts.whatIf.begin(shard);
    const spending = await openSpending(this.#parts, view, this.#closers);
    const fleet = replica?.fleet.reader() ?? null;
    const shown = { view, readiness: () => this.#readiness(), spending, fleet };
    this.#servers = await startHttp(this.#parts, shown, this.#closers);
    const closeSocket = await startAdminSocket(this.#parts, this.#parts.data, this.#parts);
    if (closeSocket !== null) this.#closers.push(closeSocket);
    warnOfRails(this.#parts.config, this.#parts.log);
    if (this.#replica === null) this.#begin();
    else await this.#replica.begin((term) => this.#becomeActive(term));
  }

  #begin(): void {
    this.#parts.admin.begin(this.shard.admin);
    this.#report();
    this.shard.start();
  }

  #becomeActive(term: ShardTerm): void {
    const { shard, view } = term;
    this.#term = term;
    this.#parts.whatIf.begin(shard);
    this.#parts.operators.replaceShard({ shard: shard.operatorCalls, needs: view });
    watchTerm(this.#parts, term);
    this.#parts.admin.begin(shard.admin, () => this.#replica!.controlsWarning());
    this.#report();
  }

  #report(): void {
    const { config } = this.#parts;
    const start = (address: string) => startReporter(this.#parts, this.#term, address);
    if (config.coordinatorAddr !== '') {
      const reporter = start(config.coordinatorAddr);
      this.#closers.push(() => reporter.close());
    } else if (this.#replica !== null) this.#closers.push(reportToFleet(this.#replica.fleet.copy, start));
  }

  #readiness(): Readiness {
    if (this.#isStopping) return { isReady: false, reason: 'it is stopping' };
    if (this.#replica !== null) return this.#replica.readiness();
    const reason = this.shard.readiness.notReady();
    return { isReady: reason === '', reason };
  }
}

async function alone(options: ServiceOptions, closers: Closer[]): Promise<ShardService> {
  const { config } = options;
  const data = await openDataDirectory({ path: config.dataDir, minEpoch: config.minEpoch });
  closers.push(() => data.close());
  const fencing = FencingTokens.create(config.id, data.epoch, Pulse.create(config.stallAfterMs));
  const parts = await startParts(options, fencing, data, closers);
  const stored = data.readControls();
  const controls = {
    stored: stored === null ? [] : readControls(stored),
    store: { write: async (text: string) => data.writeControls(text) },
  };
  const usage = {
    read: () => data.readUsage(),
    store: { write: async (text: string) => data.writeUsage(text) },
  };
  return new ShardService(parts, createTerm(parts, { epoch: data.epoch, controls, usage }), closers, null);
}

async function asReplica(
  options: ServiceOptions,
  replica: ReplicaProcess,
  closers: Closer[],
): Promise<ShardService> {
  const { log } = options;
  const service = replica.fleet.service((peer, detail) =>
    log.warn('coordinator_call_refused', { peer, detail }),
  );
  const role = { observers: [replica.observer], services: [service] };
  const parts = await startParts(options, replica.fencing, replica.data, closers, role);
  closers.push(() => replica.close());
  return new ShardService(parts, replica.standbyTerm(parts), closers, replica);
}

/** Loaded here and not above: a shard without other replicas loads nothing of etcd. */
async function openReplica(options: ServiceOptions, closers: Closer[]): Promise<ReplicaProcess> {
  const { ReplicaProcess } = await import('./shard-replica.ts');
  return ReplicaProcess.open(options, closers);
}
