/**
 * Replicas with real shards on virtual time: a directory in memory, one simulated provider, and the life of src/replica. A replica can
 * be killed and cut off. What a worker thread checks before it sends, the rig checks with the same code.
 */
import { Confirmation } from '../../src/base/confirmation.ts';
import { Random } from '../../src/base/random.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { type DirectoryCall, type Fate, MemoryDirectory } from '../../src/directory/memory/directory.ts';
import { MemoryStore } from '../../src/directory/memory/store.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import { type LifeEnd, type LifeEvent, ReplicaLife, type Term } from '../../src/replica/life.ts';
import type { Controls } from '../../src/replica/records.ts';
import { readControls } from '../../src/shard/controls/control.ts';
import type { ActionRecord } from '../../src/shard/ports/observer.ts';
import type { ListRequest, ProviderCall, ProviderPort } from '../../src/shard/ports/providers.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../src/shard/settings.ts';
import { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import type { SeedMachine } from '../../src/simulation/provider/machines.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import type { ProviderSettingsChange } from '../../src/simulation/provider/settings.ts';
import { Network } from '../../src/simulation/virtual-time/network.ts';
import { SimulatedProviderPort } from '../../src/simulation/virtual-time/provider-port.ts';
import { type Life, VirtualTime } from '../../src/simulation/virtual-time/time.ts';
import { MemoryMarks, PROMPT } from '../directory/replica-world.ts';
import { need } from '../shard/fixture.ts';

export const LEASE_MS = 6_000;
export const CYCLE_MS = 10_000;
const MARGIN_MS = 1_000;
const SHARD_ID = 's/1';

export class Rig {
  readonly time = new VirtualTime(Date.UTC(2026, 0, 1));
  readonly store = new MemoryStore(this.time, this.time);
  readonly keys = new FleetKeys('test');
  readonly provider: SimulatedProvider;

  constructor(machines: readonly SeedMachine[], settings: ProviderSettingsChange = {}) {
    this.provider = new SimulatedProvider({ settings: { seed: 1, ...settings }, timers: this.time.timers() });
    for (const machine of machines) this.provider.add(machine);
  }

  run(seconds: number): Promise<void> {
    return this.time.advance(seconds * 1_000);
  }
}

export class RigReplica {
  readonly life: ReplicaLife;
  readonly events: LifeEvent[] = [];
  readonly requests: ListRequest[] = [];
  /** Calls that a thread was asked for, with whether it sent them. */
  readonly calls: { readonly call: ProviderCall; isSent: boolean }[] = [];
  readonly actions: ActionRecord[] = [];
  readonly settings: ShardSettings;
  controls: Controls = { isPaused: false, isDryRun: false };
  fate: (call: DirectoryCall) => Fate = PROMPT;
  shard: Shard;
  epoch = 0;
  activatedMs = 0;
  /** Listings that were requested before it became active. */
  standbyRequests = 0;
  end: LifeEnd | null = null;
  /** The confirmation ends in the moment in which the next removal reaches its thread. */
  endConfirmationAtCall = false;
  readonly directory: MemoryDirectory;
  readonly #confirmation = Confirmation.create();
  readonly #rig: Rig;
  readonly #life: Life;
  readonly #tables;
  readonly #providers: ProviderPort;
  readonly #tokens: FencingTokens;

  /** In its data directory. */
  keptControls: string | null;

  constructor(
    rig: Rig,
    name: string,
    change: Partial<ShardSettings> = {},
    keptControls: string | null = null,
  ) {
    this.keptControls = keptControls;
    this.#rig = rig;
    this.#life = rig.time.life();
    const life = this.#life;
    this.settings = {
      ...SHARD_DEFAULTS,
      shardId: 'shard',
      machinesMax: 256,
      checkEveryCycles: 0,
      cycleIntervalMs: CYCLE_MS,
      localBootstrapBlob: new Uint8Array(1),
      hasRollupGuard: false,
      reclaimCapFraction: 0,
      ...change,
    };
    this.#tables = createTables({ ...this.settings, guards: true });
    const confirmation = this.#confirmation;
    const clocks = { wall: life, uptime: () => life.nowMs() };
    this.#tokens = FencingTokens.createStandby(this.settings.shardId, confirmation);
    this.#providers = this.#portOf(FencingTokens.open(this.#tokens.shared, clocks));
    this.directory = new MemoryDirectory({
      store: rig.store,
      network: rig.time,
      scheduler: life,
      callTimeoutMs: LEASE_MS / 3,
      fate: (call) => this.fate(call),
    });
    this.life = new ReplicaLife({
      directory: this.directory,
      keys: rig.keys,
      shard: SHARD_ID,
      replica: name,
      instance: `${name}#1`,
      leaseMs: LEASE_MS,
      marginMs: MARGIN_MS,
      marks: new MemoryMarks(),
      confirmation,
      clocks,
      scheduler: life,
      cycleMsMax: 2 * CYCLE_MS,
      version: 'test',
      providers: [{ name: 'p', address: 'p:1' }],
      controlsHome: {
        readControls: () => this.keptControls,
        writeControls: (text) => {
          this.keptControls = text;
        },
      },
      work: {
        controls: () => this.controls,
        readiness: () => ({ isReady: this.shard.readiness.notReady() === '', lagMs: 0 }),
        activate: (term) => this.#activate(term),
        isWaiting: () => this.shard.reconciler.notListedYet().length > 0,
      },
      onEvent: (event) => this.events.push(event),
    });
    void this.life.ended.then((end) => {
      this.end = end;
    });
    this.shard = this.#shardOf(0, true);
  }

  start(): void {
    void this.life.start([`${this.life.view().name}:1`]).then(() => this.shard.start());
  }

  kill(): void {
    this.#life.end();
  }

  demand(clusterId: string, machineCount: number): void {
    this.shard.operatorCalls.sessionOpened(clusterId);
    const rows = [need(machineCount)];
    const steps = this.shard.operatorCalls.acceptRollup(
      clusterId,
      new Uint32Array([machineCount, 1]),
      (row) => rows[row]!,
    );
    for (let step = steps.next(); !step.done; step = steps.next());
  }

  get(machineId: string) {
    const { inventory } = this.shard;
    return inventory.get(inventory.find(machineId));
  }

  async #activate({ epoch, controls, usage }: Term): Promise<void> {
    const inherited = await this.shard.retire(CYCLE_MS);
    this.#tokens.setEpoch(epoch);
    this.epoch = epoch;
    this.activatedMs = this.#life.nowMs();
    this.standbyRequests = this.requests.length;
    this.shard = this.#shardOf(epoch, false, {
      inherited,
      settings: { ...this.settings, isPaused: controls.isPaused, isDryRun: controls.isDryRun },
      controls: {
        stored: controls.pauses === '' ? [] : readControls(controls.pauses),
        store: { write: (text: string) => this.life.pausesChanged(text) },
      },
      usage: { read: () => usage, store: { write: (text: string) => this.life.writeUsage(text) } },
    });
    this.shard.start();
  }

  #shardOf(epoch: number, isStandby: boolean, change: object = {}): Shard {
    const life = this.#life;
    return new Shard({
      settings: { ...this.settings, isIncremental: true },
      tables: this.#tables,
      epoch,
      providers: this.#providers,
      replica: this.life.port(isStandby),
      observer: {
        audits: false,
        cycleEnded: ({ isOrdinary }) => {
          if (isOrdinary) this.life.cycleEnded();
        },
        actionEnded: (record) => this.actions.push(record),
        listingEnded: () => {},
        happened: () => {},
      },
      clock: life,
      scheduler: life,
      stopwatch: () => life.nowMs(),
      ...change,
    });
  }

  #portOf(thread: FencingTokens): ProviderPort {
    const port = new SimulatedProviderPort({
      links: [
        { name: 'p', provider: this.#rig.provider, network: new Network(this.#rig.time, new Random(1)) },
      ],
      inventory: this.#tables.inventory.share(),
      tokens: thread,
      onSent: (call) => {
        const entry = this.calls.findLast((one) => one.call === call);
        if (entry !== undefined) entry.isSent = true;
      },
      clock: this.#life,
    });
    const life = this.#life;
    return {
      names: port.names,
      call: (call) => {
        const removes = call.kind === 'drain' || call.kind === 'delete';
        if (removes && this.endConfirmationAtCall) {
          this.endConfirmationAtCall = false;
          this.#confirmation.clear();
        }
        this.calls.push({ call, isSent: false });
        return life.observe(port.call(call));
      },
      read: (read) => life.observe(port.read(read)),
      list: (request) => {
        this.requests.push(request);
        return life.observe(port.list(request));
      },
    };
  }
}
