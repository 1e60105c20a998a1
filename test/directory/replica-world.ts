/**
 * Replicas of one shard on virtual time, with a directory in memory and a provider that fences by epoch. Each replica is a
 * process with a data directory: it can be killed, stopped, suspended, cut off, and starts again.
 */
import { Random } from '../../src/base/random.ts';
import { Candidacy } from '../../src/directory/election/candidacy.ts';
import type { Leadership } from '../../src/directory/election/leadership.ts';
import type { SeenMarks } from '../../src/directory/election/marks.ts';
import type { ReplicaEvent } from '../../src/directory/election/options.ts';
import { FleetKeys } from '../../src/directory/keys.ts';
import { type DirectoryCall, type Fate, MemoryDirectory } from '../../src/directory/memory/directory.ts';
import { MemoryStore } from '../../src/directory/memory/store.ts';
import type { Position } from '../../src/directory/port.ts';
import { type Life, VirtualTime } from '../../src/simulation/virtual-time/time.ts';

export const LEASE_MS = 6_000;
export const MARGIN_MS = 1_000;
export const CYCLE_MS = 2_000;
const START_MS = 1_700_000_000_000;
const RESTART_MS = 1_500;

/** A network without accidents. */
export const PROMPT = (): Fate => ({ requestMs: 1, answerMs: 1 });

export class MemoryMarks implements SeenMarks {
  epoch = 0;
  position: Position | null = null;

  raiseEpoch(epoch: number): void {
    this.epoch = Math.max(this.epoch, epoch);
  }

  notePosition(position: Position): void {
    this.position = position;
  }
}

export interface GivenEpoch {
  readonly replica: string;
  readonly epoch: number;
  /** How often the directory had been restored by then. */
  readonly restores: number;
}

export class ReplicaWorld {
  readonly time = new VirtualTime(START_MS);
  readonly store = new MemoryStore(this.time, this.time);
  readonly keys = new FleetKeys('test');
  readonly random: Random;
  readonly replicas: ReplicaProcess[] = [];
  readonly given: GivenEpoch[] = [];
  readonly eventCounts = new Map<string, number>();
  restores = 0;
  /** The highest epoch of a call that the provider has executed. */
  fencedBelow = 0;
  #confirmedEpoch = 0;

  constructor(seed: number, replicaCount: number) {
    this.random = new Random(seed);
    for (let index = 0; index < replicaCount; index++) {
      this.replicas.push(new ReplicaProcess(this, `replica-${index}`));
    }
  }

  count(kind: string): void {
    this.eventCounts.set(kind, (this.eventCounts.get(kind) ?? 0) + 1);
  }

  get confirmed(): readonly ReplicaProcess[] {
    return this.replicas.filter((replica) => replica.isConfirmed);
  }

  /**
   * At every step: at most one replica is confirmed, whatever happened before; and unless the directory was restored, none with
   * an epoch below that of a replica that was confirmed already.
   */
  readonly check = (): void => {
    const { confirmed } = this;
    const [first] = confirmed;
    if (this.restores === 0 && first !== undefined) {
      if (first.epoch < this.#confirmedEpoch) {
        throw new Error(`${first.name} is confirmed with epoch ${first.epoch} after ${this.#confirmedEpoch}`);
      }
      this.#confirmedEpoch = first.epoch;
    }
    if (confirmed.length > 1) {
      throw new Error(
        `confirmed at once: ${confirmed.map(({ name, epoch }) => `${name} of epoch ${epoch}`).join(', ')}`,
      );
    }
  };

  advance(byMs: number): Promise<void> {
    return this.time.advance(byMs, this.check);
  }
}

export class ReplicaProcess {
  readonly name: string;
  readonly marks = new MemoryMarks();
  readonly events: ReplicaEvent[] = [];
  readonly #world: ReplicaWorld;
  #instances = 0;
  #life: Life;
  #candidacy!: Candidacy;
  #directory!: MemoryDirectory;
  #suspendedMs = 0;
  #suspendedSinceMs: number | null = null;
  leadership: Leadership | null = null;
  isCycling = true;
  isWaiting = false;
  /** Its calls reach the provider, which fences it. */
  isCalling = true;
  /** The network between this process and the directory. */
  fate: (call: DirectoryCall) => Fate = PROMPT;

  constructor(world: ReplicaWorld, name: string) {
    this.#world = world;
    this.name = name;
    this.#life = world.time.life();
    this.start();
  }

  get epoch(): number {
    return this.leadership?.epoch ?? 0;
  }

  get life(): Life {
    return this.#life;
  }

  /** Also of a process that stands still: its shared memory still says so. */
  get isConfirmed(): boolean {
    if (this.#life.isOver() || this.leadership === null) return false;
    return this.leadership.confirmation.isConfirmed({ uptimeMs: this.#uptime(), wallMs: this.#life.nowMs() });
  }

  start(): void {
    const world = this.#world;
    const life = world.time.life();
    this.#life = life;
    this.leadership = null;
    this.isCycling = true;
    this.#directory = new MemoryDirectory({
      store: world.store,
      network: world.time,
      scheduler: life,
      callTimeoutMs: LEASE_MS / 3,
      fate: (call) => this.fate(call),
    });
    this.#candidacy = new Candidacy({
      directory: this.#directory,
      keys: world.keys,
      shard: 's/1',
      replica: this.name,
      instance: `${this.name}#${++this.#instances}`,
      addresses: [],
      leaseMs: LEASE_MS,
      marginMs: MARGIN_MS,
      marks: this.marks,
      clocks: { wall: life, uptime: () => this.#uptime() },
      scheduler: life,
      cycleMsMax: 2 * CYCLE_MS,
      isWaiting: () => this.isWaiting,
      onEvent: (event) => {
        if (life.isOver()) return;
        this.events.push(event);
        world.count(event.kind);
      },
    });
    this.#candidacy.whenActive.then((leadership) => this.#lead(leadership, life));
  }

  kill(): void {
    this.#life.end();
    this.#directory.close();
  }

  /** As its supervisor does. */
  restartSoon(): void {
    this.#world.time.after(RESTART_MS, () => {
      if (this.#life.isOver()) this.start();
    });
  }

  async terminate(): Promise<void> {
    const life = this.#life;
    this.#candidacy.close();
    await this.leadership?.release();
    if (life.isOver()) return;
    this.kill();
    this.restartSoon();
  }

  /** As a closed lid: the uptime stands still, and the wall clock does not. */
  suspend(): void {
    this.#life.stop();
    this.#suspendedSinceMs ??= this.#world.time.nowMs();
  }

  wake(): void {
    if (this.#suspendedSinceMs !== null)
      this.#suspendedMs += this.#world.time.nowMs() - this.#suspendedSinceMs;
    this.#suspendedSinceMs = null;
    this.#life.resume();
  }

  #uptime(): number {
    return (this.#suspendedSinceMs ?? this.#world.time.nowMs()) - this.#suspendedMs - START_MS + 1;
  }

  #callProvider(leadership: Leadership): void {
    if (leadership.epoch < this.#world.fencedBelow) void leadership.fenced();
    else this.#world.fencedBelow = leadership.epoch;
  }

  #lead(leadership: Leadership, life: Life): void {
    if (life.isOver()) return;
    const world = this.#world;
    this.leadership = leadership;
    world.given.push({ replica: this.name, epoch: leadership.epoch, restores: world.restores });
    leadership.ended.then(({ kind }) => {
      if (life.isOver()) return;
      world.count(`ended: ${kind}`);
      if (kind === 'released') return;
      // Give the other replica the time to take over before this one competes again.
      this.kill();
      this.restartSoon();
    });
    const cycle = () => {
      if (this.leadership !== leadership) return;
      if (this.isCycling) {
        leadership.cycleEnded();
        if (this.isCalling) this.#callProvider(leadership);
      }
      life.after(CYCLE_MS, cycle);
    };
    cycle();
  }
}
