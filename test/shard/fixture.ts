/**
 * A world for one rule: the real shard with a simulated provider and simulated operators, on virtual time. A test sets the
 * machines and the demand, lets time pass, and asserts on the provider's own record.
 */
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState, STATE_NAMES } from '../../src/machine/state.ts';
import { Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import type { CheckPort } from '../../src/shard/ports/check.ts';
import type { NotedEvent } from '../../src/shard/ports/events.ts';
import type {
  AcceptedActionEnded,
  ActionName,
  ActionRecord,
  CycleReport,
  MachineBound,
  ShardEvent,
} from '../../src/shard/ports/observer.ts';
import type { WhatIfThreads } from '../../src/shard/ports/what-if.ts';
import type { ShardSettings } from '../../src/shard/settings.ts';
import type { MachineKind } from '../../src/simulation/provider/kinds.ts';
import type { LedgerEntry, LedgerEvent } from '../../src/simulation/provider/ledger.ts';
import type { SeedMachine } from '../../src/simulation/provider/machines.ts';
import { everyOperation, type ProviderSettingsChange } from '../../src/simulation/provider/settings.ts';
import type { SimulatedCluster } from '../../src/simulation/virtual-time/clusters.ts';
import { type Process, SimulatedWorld, type WorldOptions } from '../../src/simulation/virtual-time/world.ts';

export const S = MachineState;
export const CYCLE_MS = 10_000;

const TYPE_KEY = 'node.kubernetes.io/instance-type';

export interface MachineChange {
  readonly type?: string;
  readonly zone?: string;
  readonly capacityType?: number;
  readonly state?: MachineState;
  readonly price?: number;
  readonly cluster?: string;
  readonly shardMetadata?: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly lastError?: string;
}

const kinds = new Map<string, MachineKind>();

export function machine(id: string, change: MachineChange = {}): SeedMachine {
  const { type = 'a', zone = 'z1', capacityType = CapacityType.Reserved, labels = {} } = change;
  const key = JSON.stringify([type, zone, capacityType, labels]);
  const kind = kinds.get(key) ?? {
    instanceType: type,
    zone,
    capacityType: capacityType as MachineKind['capacityType'],
    labels,
    resources: { cpu: '4', memory: '16Gi' },
    allocatable: null,
  };
  kinds.set(key, kind);
  return {
    id,
    kind,
    pricePerHourUsd: change.price ?? 1,
    interruptionProbability: 0,
    state: change.state ?? S.Speculative,
    ...(change.cluster === undefined ? {} : { cluster: change.cluster }),
    ...(change.shardMetadata === undefined ? {} : { shardMetadata: change.shardMetadata }),
    ...(change.lastError === undefined ? {} : { lastError: change.lastError }),
  };
}

export function machines(count: number, prefix: string, change: MachineChange = {}): SeedMachine[] {
  return Array.from({ length: count }, (_, index) =>
    machine(`${prefix}-${String(index).padStart(4, '0')}`, change),
  );
}

export interface NeedChange {
  readonly type?: string;
  readonly priority?: number;
  readonly group?: string;
  readonly requirements?: readonly Requirement[];
}

/** A need for so many machines of one type. */
export function need(machineCount: number, change: NeedChange = {}): RollupRow {
  const { type = 'a', priority = 1_000, group = '', requirements = [] } = change;
  return {
    requirements: [{ key: TYPE_KEY, operator: Operator.In, values: [type] }, ...requirements],
    aggregate: { cpu: String(4 * machineCount), memory: `${16 * machineCount}Gi` },
    minUnit: { cpu: '4', memory: '16Gi' },
    priority,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group,
  };
}

export interface FixtureOptions {
  readonly machines?: readonly SeedMachine[];
  readonly demand?: Readonly<Record<string, readonly RollupRow[]>>;
  readonly settings?: Partial<ShardSettings>;
  readonly provider?: ProviderSettingsChange;
  readonly checker?: CheckPort;
  readonly whatIfThreads?: WhatIfThreads;
  /** T7: rows of a roll-up that one cycle takes up. */
  readonly takeUpRows?: number;
  /** T2: lets decisions throw. Without it, a throw fails the test. */
  readonly probe?: NonNullable<WorldOptions['probe']>;
  /** Do not start a shard yet. */
  readonly isStopped?: boolean;
}

/** Tests of the lifecycle run with both kinds of provider. */
export const PROVIDERS: readonly (readonly [name: string, settings: ProviderSettingsChange])[] = [
  ['a synchronous provider', {}],
  ['an asynchronous provider', { operations: everyOperation({ latency: { meanMs: 900, p99Ms: 1_000 } }) }],
];

export const SLOW: ProviderSettingsChange = {
  operations: everyOperation({ latency: { meanMs: 60 * CYCLE_MS, p99Ms: 60 * CYCLE_MS } }),
};

export class Fixture {
  readonly world: SimulatedWorld;
  readonly actions: ActionRecord[] = [];
  readonly acceptedEnded: AcceptedActionEnded[] = [];
  readonly cycles: CycleReport[] = [];
  readonly events: ShardEvent[] = [];
  readonly noted: NotedEvent[] = [];
  /** From enqueueing to Configured, ms. */
  readonly latenciesMs: number[] = [];
  readonly bound: MachineBound[] = [];
  #violation = '';

  constructor(options: FixtureOptions = {}) {
    const { demand = { c1: [] } } = options;
    this.world = new SimulatedWorld({
      seed: 1,
      clusterIds: Object.keys(demand),
      ...(options.settings === undefined ? {} : { settings: options.settings }),
      ...(options.provider === undefined ? {} : { providers: [options.provider] }),
      ...(options.checker === undefined ? {} : { checker: options.checker }),
      ...(options.whatIfThreads === undefined ? {} : { whatIfThreads: options.whatIfThreads }),
      ...(options.takeUpRows === undefined ? {} : { takeUpRows: options.takeUpRows }),
      ...(options.probe === undefined ? {} : { probe: options.probe }),
      watcher: {
        actionEnded: (_, record) => this.actions.push(record),
        acceptedActionEnded: (_, ended) => this.acceptedEnded.push(ended),
        cycleEnded: (_, report) => this.cycles.push(report),
        happened: (_, event) => {
          this.events.push(event);
          if (event.kind === 'decision_threw' && options.probe === undefined) this.#violation = event.detail;
        },
        noted: (_, event) => this.noted.push(event),
        machineBound: (_, bound) => {
          this.bound.push(bound);
          this.latenciesMs.push(bound.enqueuedMs);
        },
      },
    });
    for (const seed of options.machines ?? []) this.world.provider.add(seed);
    for (const [id, rows] of Object.entries(demand)) this.cluster(id).rows = rows;
    if (options.isStopped !== true) this.world.startShard();
  }

  get process(): Process {
    return this.world.process!;
  }

  get shard(): Process['shard'] {
    return this.process.shard;
  }

  cluster(id = 'c1'): SimulatedCluster {
    return this.world.clusters.get(id)!;
  }

  async run(seconds: number): Promise<void> {
    await this.world.time.advance(seconds * 1000);
    if (this.#violation !== '') throw new Error(`T2: a decision threw: ${this.#violation}`);
  }

  /** The calls that the provider received, in order. */
  asked(event: LedgerEvent): LedgerEntry[] {
    return [...this.world.provider.ledger.entries()].filter((entry) => entry.event === event);
  }

  started(event: LedgerEvent): LedgerEntry[] {
    return this.asked(event).filter(({ result }) => result === 'started');
  }

  /** The provider's own states, counted by name. */
  truth(): Record<string, number> {
    const listed = this.world.provider.list();
    const counts: Record<string, number> = {};
    if (listed.kind !== 'ok') return counts;
    for (const { state } of listed.value.machines) {
      const name = STATE_NAMES[state as MachineState];
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  /** The machine as the shard knows it. */
  known(id: string): string {
    const slot = this.shard.inventory.find(id);
    return slot === 0 ? 'unknown' : STATE_NAMES[this.shard.inventory.stateOf(slot)];
  }

  outcomes(kind: ActionName): string[] {
    return this.actions.filter((action) => action.kind === kind).map(({ outcome }) => outcome);
  }

  ordinaryCycles(): CycleReport[] {
    return this.cycles.filter(({ isOrdinary }) => isOrdinary);
  }
}
