/**
 * A stage for hostile tenants: a real shard, a real provider, an honest neighbour and a hostile cluster, with mutual TLS and
 * a certificate for each. A test does its worst as `hostile`, or as a second provider, and then asks `staysWell` and
 * `refused`.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { expect } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { type SeenTenant, ShardWitness } from '../../src/simulation/chaos/witness.ts';
import { SimulatedOperator, type SimulatedOperatorOptions } from '../../src/simulation/operators/operator.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import type { Answer } from '../../src/simulation/provider/requests.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { encode } from '../../src/wire/codec.ts';
import type { OutgoingMessage } from '../../src/wire/outgoing-message.ts';
import type { MachineInit } from '../../src/wire/protocol.generated.ts';
import { type Authority, issue, type LeafNames, makeAuthority } from '../tls/certificates.ts';
import { Processes, type ShardProgram, until as untilSoon } from './processes.ts';

const FAST = [
  ...['--cycle-interval', '100ms', '--reclaim-cap-fraction', '0', '--empty-rollup-guard=false'],
  ...['--workers', '1', '--from-scratch-check-every', '0'],
  // S6: a provider replaces its whole fleet in most tests.
  ...['--removal-hold', '100ms', '--vanishing-hold', '100ms'],
];

/** Busy machines read 40 MB of roll-ups in half a minute. */
const PATIENCE_MS = 150_000;

function until<T>(what: string, look: () => Promise<T> | T, holds: (seen: T) => boolean): Promise<T> {
  return untilSoon(what, look, holds, PATIENCE_MS);
}

export interface StageOptions {
  readonly shardFlags?: readonly string[];
  /** Of the honest provider; default: 60 machines, half of them Idle. */
  readonly providerFlags?: readonly string[];
  /** Variables of the shard's environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A second provider, called `other`. */
  readonly other?: OtherProvider;
  /** Files and sockets that the shard may have. */
  readonly descriptorsMax?: number;
  /** Another authority whose certificates the shard accepts, until a test calls `distrustOthers`. */
  readonly alsoTrusted?: Authority;
}

/** A working provider in this process, which adds to its listings whatever a test says. */
export class OtherProvider {
  readonly machines = new SimulatedProvider();
  /** Whether its listings lack its own machines. */
  isEmpty = false;
  /** Rows beside its own machines. */
  rows: readonly MachineInit[] = [];
  /** Bytes after all rows. */
  tail = Buffer.alloc(0);
  /** Called before each listing. */
  beforeListing: () => void = () => {};

  list(): Answer<OutgoingMessage> {
    this.beforeListing();
    const answer = this.machines.list();
    if (answer.kind !== 'ok') return answer;
    const all = [...(this.isEmpty ? [] : answer.value.machines), ...this.rows];
    return { kind: 'ok', value: Buffer.concat([encode('MachineList', { machines: all }), this.tail]) };
  }
}

export class TenantStage {
  shard!: ShardProgram;
  shardTls!: TlsFiles;
  witness!: ShardWitness;
  neighbour!: SimulatedOperator;
  hostile!: SimulatedOperator;
  readonly processes = new Processes();
  readonly #authority = makeAuthority();
  readonly #folder = this.processes.folder();
  readonly #closers: (() => Promise<void> | void)[] = [];
  #memoryBeforeBytes = 0;
  #neighbourNodes = 0;

  static async open(options: StageOptions = {}): Promise<TenantStage> {
    const stage = new TenantStage();
    try {
      const provider = await stage.startProvider(options.providerFlags);
      await stage.startShard(provider, options);
      await stage.begin();
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  /** Returns its address. */
  async startProvider(
    flags: readonly string[] = ['--machines', '60', '--idle', '0.5'],
    listen = '127.0.0.1:0',
  ) {
    const tls = this.certificate('provider', { ip: ['127.0.0.1'] });
    const { address } = await this.processes.provider('--listen', listen, ...tlsFlags(tls), ...flags);
    return address;
  }

  async startShard(providerAddress: string, options: StageOptions = {}) {
    const { shardFlags = [], environment, other, descriptorsMax, alsoTrusted } = options;
    const tls = this.certificate('shard', { ip: ['127.0.0.1'], uri: ['bigfleet://shard/shard-0'] });
    this.shardTls = tls;
    if (alsoTrusted !== undefined) appendFileSync(tls.caPath, alsoTrusted.pem);
    const flags = [...FAST, ...tlsFlags(tls), ...shardFlags];
    if (other !== undefined) flags.push('--provider-addr', `other=${await this.#serve(other)}`);
    this.processes.environment = environment ?? {};
    this.processes.descriptorsMax = descriptorsMax ?? null;
    this.shard = await this.processes.shard(providerAddress, ...flags);
    this.processes.environment = {};
    this.processes.descriptorsMax = null;
    this.witness = new ShardWitness(this.shard.http, this.shard.program.child.pid!);
  }

  /** Connects the two clusters and serves the neighbour once; memory is compared with this moment. */
  async begin(): Promise<void> {
    this.neighbour = await this.connect('neighbour');
    this.hostile = await this.connect('hostile', 0);
    await until(
      'the shard is ready',
      () => this.witness.notReady(),
      (reason) => reason === '',
    );
    await this.#serveNeighbour();
    this.#memoryBeforeBytes = await this.witness.memoryBytes();
  }

  /** From now on the shard's file has this stage's authority alone. */
  distrustOthers(): void {
    writeFileSync(this.shardTls.caPath, this.#authority.pem);
  }

  /** The operator of a cluster with its own certificate; interval 0: it sends a roll-up only when a test says so. */
  async connect(
    clusterId: string,
    rollupIntervalMs = 1_000,
    options: Partial<SimulatedOperatorOptions> = {},
  ): Promise<SimulatedOperator> {
    const operator = new SimulatedOperator({
      address: this.shard.address,
      clusterId,
      tls: options.tls ?? this.certificate(clusterId, { uri: [`bigfleet://cluster/${clusterId}`] }),
      behaviour: { rollupIntervalMs },
      reconnect: { initialMs: 50 },
      ...options,
    });
    this.#closers.push(() => operator.close());
    await operator.connect();
    return operator;
  }

  tenant(clusterId: string): Promise<SeenTenant | null> {
    return this.witness.tenant('cluster', clusterId);
  }

  /** Waits until the shard has accepted a roll-up of so many rows. */
  async accepted(clusterId: string, rowCount: number): Promise<void> {
    await until(
      `a roll-up of ${rowCount} rows of ${clusterId}`,
      () => this.tenant(clusterId),
      (tenant) => tenant?.cluster?.rollupRows === rowCount,
    );
  }

  /** Sends frames of the hostile cluster and waits until the shard has refused each with this reason, for all to see. */
  async refusesFrames(frames: readonly Buffer[], reason: string | RegExp): Promise<void> {
    const before = (await this.tenant('hostile'))?.refused ?? 0;
    for (const frame of frames) this.hostile.sendBytes(frame);
    await this.refused('cluster', 'hostile', before + frames.length, reason);
  }

  /** The refusal is in /api/v1/tenants, in a counter and in the log. */
  async refused(
    kind: 'cluster' | 'provider',
    name: string,
    countMin: number,
    reason: string | RegExp,
  ): Promise<void> {
    const seen = await until(
      `${countMin} refusals of ${name}`,
      () => this.witness.tenant(kind, name),
      (tenant) => tenant !== null && tenant.refused >= countMin && isMatch(tenant.lastReason, reason),
    );
    expect(seen!.lastReason.length).toBeLessThan(1_000);
    const [counter, event] = kind === 'cluster' ? CLUSTER_REFUSALS : PROVIDER_REFUSALS;
    expect(await this.witness.metric(counter, `"${name}"`)).toBeGreaterThanOrEqual(countMin);
    // Rows are refused in every listing, and the log limits the lines of one event: the reason may be in none of them.
    await until(
      `the log has ${event}`,
      () => this.shard.program.output.filter((line) => line.includes(`"${event}"`)),
      (lines) =>
        lines.some(
          (line) =>
            line.includes(`"${name}"`) && (kind === 'provider' || isMatch(JSON.parse(line).detail, reason)),
        ),
    );
  }

  /** The shard lives and is ready, the neighbour's next roll-up is accepted and its need served, and memory is bounded. */
  async staysWell(notReady = ''): Promise<void> {
    await this.#serveNeighbour();
    await until(
      `the shard is ${notReady === '' ? 'ready' : 'not ready'}`,
      () => this.witness.notReady(),
      (reason) => (notReady === '' ? reason === '' : reason.includes(notReady)),
    );
    expect(this.shard.program.child.exitCode).toBe(null);
    expect((await this.tenant('neighbour'))!.refused).toBe(0);
    expect(await this.witness.memoryOver(this.#memoryBeforeBytes)).toBe('');
    expect(await this.witness.metric('flotilla_worker_restarts_total')).toBe(0);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
    await this.processes.end();
  }

  /** Signed by this stage's authority, unless another is given; `validMs` from now. */
  certificate(name: string, names: LeafNames, authority = this.#authority, validMs?: number): TlsFiles {
    const leaf = issue(authority, names, validMs);
    const file = (ending: string, text: string) => {
      const path = join(this.#folder, `${name}.${ending}`);
      writeFileSync(path, text);
      return path;
    };
    return {
      certificatePath: file('crt', leaf.certificate),
      privateKeyPath: file('key', leaf.privateKey),
      caPath: file('ca', this.#authority.pem),
    };
  }

  /** The neighbour needs one machine more than before, and gets it. */
  async #serveNeighbour(): Promise<void> {
    const count = ++this.#neighbourNodes;
    this.neighbour.setDemand(honestRows(count));
    await this.accepted('neighbour', count);
    await until(
      `${count} nodes of the neighbour`,
      () => this.neighbour.nodesIn(S.Configured).length,
      (nodes) => nodes === count,
    );
  }

  async #serve(provider: OtherProvider): Promise<string> {
    const tls = this.certificate('other', { ip: ['127.0.0.1'] });
    const pair = {
      cert_chain: readFileSync(tls.certificatePath),
      private_key: readFileSync(tls.privateKeyPath),
    };
    const credentials = ServerCredentials.createSsl(readFileSync(tls.caPath), [pair], true);
    const calls = {
      create: provider.machines.create.bind(provider.machines),
      configure: provider.machines.configure.bind(provider.machines),
      drain: provider.machines.drain.bind(provider.machines),
      delete: provider.machines.delete.bind(provider.machines),
      get: provider.machines.get.bind(provider.machines),
      list: provider.machines.list.bind(provider.machines),
      encodeList: () => provider.list(),
    };
    const served = await serveProvider(calls, '127.0.0.1:0', { credentials });
    this.#closers.push(() => served.close());
    return served.address;
  }
}

const CLUSTER_REFUSALS = ['bigfleet_shard_rollups_rejected_total', 'rollup_rejected'] as const;
const PROVIDER_REFUSALS = ['flotilla_provider_rows_rejected_total', 'record_rejected'] as const;

function isMatch(text: string, reason: string | RegExp): boolean {
  return typeof reason === 'string' ? text.includes(reason) : reason.test(text);
}

function tlsFlags({ certificatePath, privateKeyPath, caPath }: TlsFiles): string[] {
  return ['--tls-cert', certificatePath, '--tls-key', privateKeyPath, '--tls-ca', caPath];
}

/** Needs for so many machines of any kind, one machine each. */
export function honestRows(
  count: number,
  priority = 1_000,
  resources: Readonly<Record<string, string>> = { cpu: '1' },
): RollupRow[] {
  return Array.from({ length: count }, (_, index) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] }],
    aggregate: resources,
    minUnit: resources,
    priority,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `g-${String(index).padStart(4, '0')}`,
  }));
}

/** A Speculative machine of a price that no need prefers. */
export function listedMachine(id: string, parts: MachineInit = {}): MachineInit {
  return {
    id,
    state: S.Speculative,
    instanceType: 'other-4',
    zone: 'other-a',
    capacityType: 1,
    pricePerHour: 1_000,
    resources: { resources: { cpu: '4', memory: '16Gi' } },
    ...parts,
  };
}
