/**
 * Two replicas of one shard, a directory in memory, one provider, and clusters whose sessions a relay brings to the active replica.
 * The world checks what must hold at every step, from the directory's own state and the calls that threads send.
 *
 *   1   at most one replica is confirmed, and none removes a machine that was not active for a lease
 *   4   a takeover drains no machine that its cluster needs, and uses no clock of the former process
 *   5   without the directory no removal is started later than a lease after its last answer
 */
import type { Random } from '../../base/random.ts';
import { readActive } from '../../directory/election/records.ts';
import { FleetKeys } from '../../directory/keys.ts';
import type { Fate } from '../../directory/memory/directory.ts';
import { MemoryStore } from '../../directory/memory/store.ts';
import { MachineState } from '../../machine/state.ts';
import { Operator } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import {
  type Controls,
  type ControlsRecord,
  isNewer,
  NO_CONTROLS,
  readControls,
} from '../../replica/records.ts';
import { readControls as readPauses } from '../../shard/controls/control.ts';
import type { ProviderCall } from '../../shard/ports/providers.ts';
import type { ShardSettings } from '../../shard/settings.ts';
import { SimulatedProvider } from '../provider/provider.ts';
import { SimulatedCluster } from './clusters.ts';
import { Violation } from './invariants.ts';
import { Network } from './network.ts';
import type { SimulatedLink } from './provider-port.ts';
import { CYCLE_MS, HostMarks, LEASE_MS, ReplicaProcess, SHARD_ID } from './replica-process.ts';
import { TYPE_KEY } from './scenery.ts';
import { VirtualTime } from './time.ts';

const START_MS = Date.UTC(2026, 0, 1);
const RELAY_MS = 500;
const RESTART_MS = 1_500;
/** A decision may rest on demand that is this old: a roll-up every interval, a cycle, a call. */
const DEMAND_MS = 60_000;
const HOLD_MS = 40_000;
/** Drains last, so that machines drain at a takeover. */
const DRAIN_LATENCY = { meanMs: 8_000, p99Ms: 25_000 };
/** A replica whose cycles hang gives its lease up: two intervals, a lease, and then its lease expires. */
const HANG_MS_MAX = 2 * CYCLE_MS + 4 * LEASE_MS;

export const PROMPT: Fate = { requestMs: 1, answerMs: 1 };

export class Host {
  readonly name: string;
  readonly marks = new HostMarks();
  fate: () => Fate = () => PROMPT;
  process: ReplicaProcess | null = null;
  hangingSinceMs: number | null = null;
  instances = 0;

  constructor(name: string) {
    this.name = name;
  }
}

export class ReplicaWorld {
  readonly time = new VirtualTime(START_MS);
  readonly store = new MemoryStore(this.time, this.time);
  readonly keys = new FleetKeys('simulated');
  readonly clusters = new Map<string, SimulatedCluster>();
  readonly link: SimulatedLink;
  readonly hosts = [new Host('a'), new Host('b')];
  /** Processes that were replaced on their host and still live. */
  readonly processes = new Set<ReplicaProcess>();
  controls: Controls = { isPaused: false, isDryRun: false };
  violation: Error | null = null;
  takeovers = 0;
  removals = 0;
  bindings = 0;
  /** The next hand-over of a call stops its process. */
  stopAtCall: ((process: ReplicaProcess) => void) | null = null;
  readonly #settings: Partial<ShardSettings>;
  readonly #trace: ((line: string) => void) | null;
  readonly #demand = new Map<string, { readonly atMs: number; readonly count: number }[]>();
  readonly #epochs = new Set<number>();
  /** By instance: when `active` was last seen to be its own, in true time. */
  readonly #activeMs = new Map<string, number>();
  #lastActive = '';
  /** The newest controls that the directory ever had. */
  #newest = NO_CONTROLS;
  #followed = '';
  /** When the kill switch reached the directory; null once a person turned it off. */
  #pausedMs: number | null = null;
  /** H2: the same of a pause of bindings, and when it ends. */
  #bindingsPaused: { readonly sinceMs: number; readonly untilMs: number } | null = null;

  constructor(
    random: Random,
    machineCount: number,
    settings: Partial<ShardSettings>,
    trace: ((line: string) => void) | null,
  ) {
    this.#settings = {
      idleHoldSpotMs: HOLD_MS,
      idleHoldOnDemandMs: HOLD_MS,
      hasRollupGuard: false,
      ...settings,
    };
    this.#trace = trace;
    this.link = {
      name: 'simulated',
      network: new Network(this.time, random.fork()),
      provider: new SimulatedProvider({
        settings: { seed: random.uint32(), operations: { drain: { latency: DRAIN_LATENCY } } },
        timers: this.time.timers(),
      }),
      bend: null,
    };
    for (let index = 0; index < machineCount; index++) {
      this.link.provider.add({
        id: `m-${index}`,
        kind: KIND,
        pricePerHourUsd: 1,
        interruptionProbability: 0,
        state: MachineState.Speculative,
      });
    }
    for (const id of ['c-0', 'c-1'])
      this.clusters.set(id, new SimulatedCluster(id, this.time, random.fork()));
    for (const host of this.hosts) this.start(host);
    this.#relay();
    this.#reportOften();
  }

  start(host: Host): void {
    if (host.process !== null) return;
    host.instances++;
    host.hangingSinceMs = null;
    const process: ReplicaProcess = new ReplicaProcess(this, {
      host: host.name,
      instance: `${host.name}#${host.instances}`,
      marks: host.marks,
      settings: this.#settings,
      controls: () => this.controls,
      fate: () => host.fate(),
      onEnded: (end) => {
        this.trace(process, () => `ends: ${JSON.stringify(end)}`);
        if (end.kind === 'failed') this.violation ??= end.error as Error;
        this.kill(process);
        this.time.after(RESTART_MS, () => this.start(host));
      },
    });
    host.process = process;
    this.processes.add(process);
  }

  kill(process: ReplicaProcess): void {
    process.kill();
    this.processes.delete(process);
    for (const host of this.hosts) if (host.process === process) host.process = null;
  }

  demand(cluster: SimulatedCluster, count: number): void {
    const history = this.#demand.get(cluster.id) ?? [{ atMs: this.time.nowMs(), count: 0 }];
    history.push({ atMs: this.time.nowMs(), count });
    this.#demand.set(cluster.id, history);
    cluster.rows = count === 0 ? [] : [rowOf(count)];
    this.#report(cluster);
  }

  wanted(clusterId: string): number {
    return this.#demand.get(clusterId)?.at(-1)?.count ?? 0;
  }

  /** Machines that the provider has bound or is binding. */
  bound(clusterId: string): number {
    const listed = this.link.provider.list();
    if (listed.kind !== 'ok') return 0;
    const { Configuring, Configured } = MachineState;
    return listed.value.machines.filter(
      ({ cluster, state }) => cluster === clusterId && (state === Configuring || state === Configured),
    ).length;
  }

  get controlsInDirectory(): ControlsRecord | null {
    return readControls(this.store.read(this.keys.controls(SHARD_ID))?.value ?? '');
  }

  get activeInstance(): string {
    const entry = this.store.read(this.keys.active(SHARD_ID));
    return entry === null ? '' : (readActive(entry.value)?.instance ?? '');
  }

  get active(): ReplicaProcess | null {
    const { activeInstance } = this;
    return [...this.processes].find(({ instance }) => instance === activeInstance) ?? null;
  }

  activated(process: ReplicaProcess, epoch: number): void {
    this.takeovers++;
    this.trace(process, () => `is active with epoch ${epoch}`);
    this.note(() => {
      if (this.#epochs.has(epoch)) throw new Violation(`F1: epoch ${epoch} is given twice`);
      this.#epochs.add(epoch);
    });
  }

  called(process: ReplicaProcess): void {
    const stop = this.stopAtCall;
    this.stopAtCall = null;
    stop?.(process);
  }

  sent(process: ReplicaProcess, { kind, machineId }: ProviderCall): void {
    this.trace(process, () => `${kind} ${machineId} is sent`);
    this.note(() => {
      this.#checkControls(process, kind);
      if (kind === 'create' || kind === 'configure') this.bindings++;
      else {
        this.removals++;
        this.#checkRemoval(process, kind, machineId);
      }
    });
  }

  /** At every step. */
  readonly look = (): void => {
    this.note(() => {
      const nowMs = this.time.nowMs();
      this.#followControls(nowMs);
      const confirmed = [...this.processes].filter(({ isConfirmed }) => isConfirmed);
      if (confirmed.length > 1)
        throw new Violation(
          `F2: ${confirmed.map(({ instance }) => instance).join(' and ')} are confirmed at once`,
        );
      const { activeInstance } = this;
      if (activeInstance !== '' && this.#lastActive !== '' && activeInstance !== this.#lastActive)
        throw new Violation(`F1: ${activeInstance} replaced ${this.#lastActive} while that was active`);
      this.#lastActive = activeInstance;
      if (activeInstance !== '') this.#activeMs.set(activeInstance, nowMs);
      for (const { process, hangingSinceMs } of this.hosts) {
        if (hangingSinceMs === null || process === null || process.instance !== activeInstance) continue;
        if (nowMs - hangingSinceMs > HANG_MS_MAX && !process.life.isStopped())
          throw new Violation(
            `F2: ${activeInstance} is active for ${nowMs - hangingSinceMs} ms without a cycle`,
          );
      }
    });
    if (this.violation !== null) throw this.violation;
  };

  /** A backup is restored: who was active then is active again. */
  restored(): void {
    this.#lastActive = '';
    // A replica that was cut off has not seen the epochs after the backup, and its clock may be behind another's: it can give one again.
    this.#epochs.clear();
    const isKnown = (text: string | null) => text !== null && !isNewer(this.#newest, readControls(text)!);
    if (!this.hosts.every(({ marks }) => isKnown(marks.controls))) this.unpaused();
    for (const host of this.hosts) if (host.hangingSinceMs !== null) host.hangingSinceMs = this.time.nowMs();
  }

  /** A person turns the kill switch off, and lifts the pauses. */
  unpaused(): void {
    this.#pausedMs = null;
    this.#bindingsPaused = null;
  }

  note(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.violation ??= error as Error;
    }
  }

  trace(process: ReplicaProcess | null, line: () => string): void {
    if (this.#trace === null) return;
    const at = new Date(this.time.nowMs()).toISOString().slice(11, 23);
    this.#trace(`${at} ${process === null ? '' : `${process.instance} `}${line()}`);
  }

  /** An older record, of a restored directory, changes nothing: every replica that knows the newer one obeys that. */
  #followControls(nowMs: number): void {
    const value = this.store.read(this.keys.controls(SHARD_ID))?.value ?? '';
    if (value === this.#followed) return;
    this.#followed = value;
    const [before, record] = [this.#newest, readControls(value)];
    if (record === null || !isNewer(record, before)) return;
    this.#newest = record;
    if (record.isPaused && !before.isPaused) this.#pausedMs = nowMs;
    if (record.pauses === '' || before.pauses !== '') return;
    const untilMs = Math.max(...readPauses(record.pauses).map((control) => control.untilMs ?? 0));
    this.#bindingsPaused = { sinceMs: nowMs, untilMs };
  }

  /** C4, H2: controls in the directory hold every process that became active after they were written. */
  #checkControls(process: ReplicaProcess, kind: string): void {
    const isLater = (sinceMs: number) => process.activatedMs > sinceMs + LEASE_MS;
    const what = `${process.instance} sends ${kind}, although the directory says that`;
    if (this.#pausedMs !== null && isLater(this.#pausedMs))
      throw new Violation(`C4, F4: ${what} it is paused`);
    const isBinding = kind === 'create' || kind === 'configure';
    const paused = this.#bindingsPaused;
    if (!isBinding || paused === null || paused.untilMs <= this.time.nowMs() || !isLater(paused.sinceMs))
      return;
    throw new Violation(`H2, F4: ${what} bindings are paused`);
  }

  #checkRemoval(process: ReplicaProcess, kind: string, machineId: string): void {
    const nowMs = this.time.nowMs();
    const what = `${process.instance} sends ${kind} for ${machineId}`;
    const sinceMs = nowMs - (this.#activeMs.get(process.instance) ?? 0);
    if (sinceMs > LEASE_MS) throw new Violation(`F2, F3: ${what}, ${sinceMs} ms after it was last active`);
    for (const other of this.processes)
      if (other !== process && other.isConfirmed)
        throw new Violation(`F2: ${what}, while ${other.instance} is confirmed`);
    if (kind === 'delete' && nowMs - process.activatedMs < HOLD_MS)
      throw new Violation(`F4, R3: ${what}, ${nowMs - process.activatedMs} ms after it became active`);
    if (kind !== 'drain') return;
    const listed = this.link.provider.get({ id: machineId });
    const clusterId = listed.kind === 'ok' ? listed.value.cluster : '';
    // The former replica drained it in its last moments: the provider refuses this one.
    if (clusterId === '') return;
    const history = this.#demand.get(clusterId) ?? [];
    const least = Math.min(
      ...history
        .filter((_, index) => (history[index + 1]?.atMs ?? nowMs) >= nowMs - DEMAND_MS)
        .map(({ count }) => count),
    );
    if (this.bound(clusterId) <= least)
      throw new Violation(
        `F4: ${what} of ${clusterId}, which has ${this.bound(clusterId)} and needs ${least}`,
      );
  }

  /** F6: a relay brings each session to the active replica, and ends it when another one is active. */
  #relay(): void {
    this.time.after(RELAY_MS, () => this.#relay());
    const { active } = this;
    for (const cluster of this.clusters.values()) {
      for (const process of this.processes) {
        if (process === active || !process.operators.hasSession(cluster.id)) continue;
        const { session } = cluster;
        cluster.disconnect();
        process.life.receive(() => process.operators.closed(cluster, session));
      }
      if (active === null || active.epoch === 0 || active.shard.isStandby || cluster.session !== 0) continue;
      if (active.life.isStopped()) continue;
      active.operators.open(cluster);
      this.#report(cluster);
    }
  }

  #reportOften(): void {
    this.time.after(CYCLE_MS, () => this.#reportOften());
    for (const cluster of this.clusters.values()) this.#report(cluster);
  }

  #report(cluster: SimulatedCluster): void {
    const { rows, session } = cluster;
    for (const process of this.processes) {
      if (session === 0 || process.epoch === 0 || !process.operators.hasSession(cluster.id)) continue;
      process.life.receive(() => {
        if (cluster.session !== session) return;
        const steps = process.shard.operatorCalls.acceptRollup(
          cluster.id,
          cluster.digestsOf(rows),
          (index) => rows[index]!,
        );
        for (let step = steps.next(); !step.done; step = steps.next());
      });
    }
  }
}

const KIND = {
  instanceType: 'small',
  zone: 'a',
  capacityType: 3,
  labels: {},
  resources: { cpu: '4', memory: '16Gi' },
  allocatable: null,
} as const;

const rows = new Map<number, RollupRow>();

/** One object for each count: a row that is sent again has the same digest. */
function rowOf(count: number): RollupRow {
  const known = rows.get(count);
  if (known !== undefined) return known;
  const row: RollupRow = {
    requirements: [{ key: TYPE_KEY, operator: Operator.In, values: ['small'] }],
    aggregate: { cpu: String(4 * count), memory: `${16 * count}Gi` },
    minUnit: { cpu: '4', memory: '16Gi' },
    priority: 1_000,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: '',
  };
  rows.set(count, row);
  return row;
}
