/**
 * One process of a replicated shard on virtual time: the life of src/replica, the shard of each of its two roles, a provider port with
 * the check of the sending thread, and sessions. All of it is the real code; the directory is the one in memory.
 */
import type { Clock } from '../../base/clock.ts';
import { Confirmation } from '../../base/confirmation.ts';
import { Pulse } from '../../base/pulse.ts';
import type { SeenMarks } from '../../directory/election/marks.ts';
import { type DirectoryCall, type Fate, MemoryDirectory } from '../../directory/memory/directory.ts';
import type { Position } from '../../directory/port.ts';
import { Flag } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import { FencingTokens } from '../../provider/client/fencing.ts';
import type { ControlsHome } from '../../replica/controls.ts';
import { type LifeEnd, ReplicaLife, type Term } from '../../replica/life.ts';
import type { Controls } from '../../replica/records.ts';
import { readControls } from '../../shard/controls/control.ts';
import type { ProviderCall, ProviderPort } from '../../shard/ports/providers.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../shard/settings.ts';
import { Shard } from '../../shard/shard.ts';
import { createTables, type ShardTables } from '../../shard/tables.ts';
import { Violation } from './invariants.ts';
import { SimulatedOperatorsPort } from './operators-port.ts';
import { SimulatedProviderPort } from './provider-port.ts';
import type { ReplicaWorld } from './replica-world.ts';
import type { Life } from './time.ts';

export const LEASE_MS = 6_000;
export const CYCLE_MS = 10_000;
export const SHARD_ID = 'shard-0';
const MARGIN_MS = 1_000;
const MACHINES_MAX = 256;
const HAND_OVER_MS = 20;

/** What outlives a process on its host: the data directory. */
export class HostMarks implements SeenMarks, ControlsHome {
  epoch = 0;
  position: Position | null = null;
  controls: string | null = null;

  readControls(): string | null {
    return this.controls;
  }

  writeControls(text: string): void {
    this.controls = text;
  }

  raiseEpoch(epoch: number): void {
    this.epoch = Math.max(this.epoch, epoch);
  }

  notePosition(position: Position): void {
    this.position = position;
  }
}

export interface ProcessOptions {
  readonly host: string;
  readonly instance: string;
  readonly marks: HostMarks;
  readonly settings: Partial<ShardSettings>;
  readonly controls: () => Controls;
  readonly fate: (call: DirectoryCall) => Fate;
  readonly onEnded: (end: LifeEnd) => void;
}

export class ReplicaProcess {
  readonly instance: string;
  readonly host: string;
  readonly life: Life;
  readonly replica: ReplicaLife;
  readonly operators: SimulatedOperatorsPort;
  readonly settings: ShardSettings;
  shard: Shard;
  /** 0: a standby. */
  epoch = 0;
  activatedMs = 0;
  /** Its cycles do not end any more, but its timers run. */
  isHanging = false;
  readonly #world: ReplicaWorld;
  /** As in production, jumps of the wall clock change no hold and no back-off. */
  readonly #steady: Clock;
  readonly #confirmation = Confirmation.create();
  readonly #tables: ShardTables;
  readonly #tokens: FencingTokens;
  readonly #pulse: Pulse;
  readonly #providers: ProviderPort;

  constructor(world: ReplicaWorld, options: ProcessOptions) {
    const { host, instance, marks, controls, onEnded } = options;
    const life = world.time.life();
    const clocks = { wall: life, uptime: life.uptimeMs };
    this.#world = world;
    this.host = host;
    this.instance = instance;
    this.life = life;
    this.#steady = { nowMs: life.uptimeMs };
    this.settings = {
      ...SHARD_DEFAULTS,
      shardId: SHARD_ID,
      machinesMax: MACHINES_MAX,
      checkEveryCycles: 0,
      cycleIntervalMs: CYCLE_MS,
      ...options.settings,
    };
    this.#tables = createTables({ ...this.settings, guards: true, entriesMin: MACHINES_MAX });
    this.#pulse = Pulse.create(this.settings.stallAfterMs, clocks);
    this.#tokens = FencingTokens.createStandby(SHARD_ID, this.#confirmation, this.#pulse);
    this.#providers = this.#portOf(FencingTokens.open(this.#tokens.shared, clocks));
    this.operators = new SimulatedOperatorsPort(world.clusters);
    const directory = new MemoryDirectory({
      store: world.store,
      network: world.time,
      scheduler: life,
      callTimeoutMs: LEASE_MS / 3,
      fate: options.fate,
    });
    this.replica = new ReplicaLife({
      directory,
      keys: world.keys,
      shard: SHARD_ID,
      replica: host,
      instance,
      leaseMs: LEASE_MS,
      marginMs: MARGIN_MS,
      marks,
      confirmation: this.#confirmation,
      clocks,
      scheduler: life,
      cycleMsMax: 2 * CYCLE_MS,
      version: 'simulated',
      providers: [{ name: world.link.name, address: `${world.link.name}:1` }],
      controlsHome: marks,
      work: {
        controls,
        readiness: () => ({ isReady: this.shard.readiness.notReady() === '', lagMs: 0 }),
        activate: (term) => this.#activate(term),
        isWaiting: () => !this.isHanging && this.shard.reconciler.notListedYet().length > 0,
      },
      onEvent: (event) => world.trace(this, () => JSON.stringify(event)),
    });
    void this.replica.ended.then((end) => life.receive(() => onEnded(end)));
    this.shard = this.#shardOf(0, {});
    void this.replica.start([`${host}:1`]).then(() => this.shard.start());
  }

  /** As its shared memory says it, also while the process stands still. */
  get isConfirmed(): boolean {
    const { life } = this;
    return (
      !life.isOver() && this.#confirmation.isConfirmed({ uptimeMs: life.uptimeMs(), wallMs: life.nowMs() })
    );
  }

  /** Like kill -9. */
  kill(): void {
    this.life.end();
    for (const cluster of this.#world.clusters.values()) {
      if (this.operators.hasSession(cluster.id)) cluster.disconnect();
    }
  }

  async #activate({ epoch, controls, usage }: Term): Promise<void> {
    const inherited = await this.shard.retire(CYCLE_MS);
    this.#tokens.setEpoch(epoch);
    this.epoch = epoch;
    this.activatedMs = this.life.uptimeMs();
    this.#world.activated(this, epoch);
    this.shard = this.#shardOf(epoch, {
      inherited,
      settings: { ...this.settings, isPaused: controls.isPaused, isDryRun: controls.isDryRun },
      controls: {
        stored: controls.pauses === '' ? [] : readControls(controls.pauses),
        store: { write: (text: string) => this.replica.pausesChanged(text) },
      },
      usage: { read: () => usage, store: { write: (text: string) => this.replica.writeUsage(text) } },
      operators: {
        requestBlob: (request: Parameters<SimulatedOperatorsPort['requestBlob']>[0]) =>
          this.life.observe(this.operators.requestBlob(request)),
        instructReclaim: this.operators.instructReclaim.bind(this.operators),
        nodeChanged: this.operators.nodeChanged.bind(this.operators),
        nodeLeft: this.operators.nodeLeft.bind(this.operators),
        hintCapacity: this.operators.hintCapacity.bind(this.operators),
        pingAll: () => this.operators.pingAll(this.life),
        endAll: this.operators.endAll.bind(this.operators),
      },
    });
    this.operators.serve(this.shard.operatorCalls);
    this.#world.note(() => this.#checkFoundDraining());
    this.shard.start();
  }

  /** P6: what drains at the takeover counts as found draining. */
  #checkFoundDraining(): void {
    const { inventory } = this.shard;
    for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
      if (inventory.columns.state[slot] !== MachineState.Draining) continue;
      if (!inventory.hasFlag(slot, Flag.FoundDraining))
        throw new Violation(`F4, P6: ${inventory.idOf(slot)} drains at the takeover, but is not marked`);
    }
  }

  #shardOf(epoch: number, change: object): Shard {
    const { life } = this;
    return new Shard({
      settings: this.settings,
      tables: this.#tables,
      epoch,
      providers: this.#providers,
      replica: this.replica.port(epoch === 0),
      pulse: this.#pulse,
      observer: {
        audits: false,
        cycleEnded: ({ isOrdinary }) => {
          if (isOrdinary && !this.isHanging) this.replica.cycleEnded();
        },
        actionEnded: ({ kind, machineId, outcome }) =>
          this.#world.trace(this, () => `${kind} ${machineId}: ${outcome}`),
        listingEnded: () => {},
        happened: (event) => this.#world.trace(this, () => JSON.stringify(event)),
      },
      clock: this.#steady,
      scheduler: life,
      stopwatch: life.uptimeMs,
      ...change,
    });
  }

  #portOf(thread: FencingTokens): ProviderPort {
    const { life } = this;
    const port = new SimulatedProviderPort({
      links: [this.#world.link],
      inventory: this.#tables.inventory.share(),
      tokens: thread,
      handOver: () =>
        new Promise((resolve) => this.#world.time.after(HAND_OVER_MS, () => life.receive(resolve))),
      onSent: (call) => this.#world.sent(this, call),
      clock: this.#steady,
    });
    return {
      names: port.names,
      call: (call: ProviderCall) => {
        this.#world.called(this);
        return life.observe(port.call(call));
      },
      read: (read) => life.observe(port.read(read)),
      list: (request) => life.observe(port.list(request)),
    };
  }
}
