/** A shard with providers whose listings a test writes machine by machine, on virtual time. */
import { Random } from '../../src/base/random.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import type { CycleReport, ListingReport, ShardEvent } from '../../src/shard/ports/observer.ts';
import type { ListAnswer, ListRequest, ProviderCall } from '../../src/shard/ports/providers.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../src/shard/settings.ts';
import { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { Network } from '../../src/simulation/virtual-time/network.ts';
import { SimulatedProviderPort } from '../../src/simulation/virtual-time/provider-port.ts';
import { VirtualTime } from '../../src/simulation/virtual-time/time.ts';
import { encode } from '../../src/wire/codec.ts';
import type { MachineInit } from '../../src/wire/protocol.generated.ts';
import { need } from './fixture.ts';

/** A few machines each. */
const PART_BYTES = 500;
type Bend = (part: ListAnswer, index: number, provider: number) => ListAnswer | Promise<ListAnswer>;

/** Providers whose listings a test writes machine by machine; local bootstraps, no operators. */
export class Parts {
  readonly time = new VirtualTime(Date.UTC(2026, 0, 1));
  readonly cycles: CycleReport[] = [];
  readonly events: ShardEvent[] = [];
  readonly listings: ListingReport[] = [];
  readonly requests: ListRequest[] = [];
  readonly reads: string[] = [];
  readonly calls: ProviderCall[] = [];
  /** The listing of each provider. */
  readonly machines: MachineInit[][];
  /** Bytes after the listing that are not a valid field. */
  tail = new Uint8Array(0);
  /** Inspects, delays or replaces parts; the first has index 0. */
  bend: Bend = (part) => part;
  /** Calls are never answered. Otherwise the providers answer that they know no machine. */
  hangs = false;
  /** The provider that answers neither calls nor reads; -1 = none. */
  hangsAt = -1;
  partCount = 0;
  released = 0;
  readonly shard: Shard;

  constructor(machines: MachineInit[][], change: Partial<ShardSettings> = {}) {
    this.machines = machines;
    const settings: ShardSettings = {
      ...SHARD_DEFAULTS,
      machinesMax: 256,
      checkEveryCycles: 0,
      localBootstrapBlob: new Uint8Array(1),
      hasRollupGuard: false,
      ...change,
    };
    const tables = createTables({ ...settings, guards: true });
    const port = new SimulatedProviderPort({
      links: machines.map((_, index) => ({
        name: `p${index}`,
        provider: new SimulatedProvider({ settings: { seed: 1 }, timers: this.time.timers() }),
        network: new Network(this.time, new Random(index)),
        bendListing: () => this.#bytesOf(index),
      })),
      inventory: tables.inventory.share(),
      tokens: FencingTokens.create(settings.shardId, 1),
      clock: this.time,
      listingPartBytes: PART_BYTES,
    });
    this.shard = new Shard({
      settings,
      tables,
      epoch: 1,
      providers: {
        names: port.names,
        call: (call) => {
          this.calls.push(call);
          const hangs = this.hangs || this.hangsAt === call.provider;
          return hangs ? new Promise(() => {}) : port.call(call);
        },
        read: (read) => {
          this.reads.push(read.machineId);
          return this.hangsAt === read.provider ? new Promise(() => {}) : port.read(read);
        },
        list: async (request) => {
          this.requests.push(request);
          return this.#handOver(await port.list(request), 0, request.provider);
        },
      },
      observer: {
        audits: false,
        cycleEnded: (report) => this.cycles.push(report),
        actionEnded: () => {},
        listingEnded: (report) => this.listings.push(report),
        happened: (event) => this.events.push(event),
      },
      clock: this.time,
      scheduler: this.time,
      stopwatch: () => this.time.nowMs(),
    });
  }

  run(seconds: number): Promise<void> {
    return this.time.advance(seconds * 1000);
  }

  demand(count: number): void {
    const rows = [need(count)];
    const steps = this.shard.operatorCalls.acceptRollup('c1', new Uint32Array(2), (index) => rows[index]!);
    for (let step = steps.next(); !step.done; step = steps.next());
  }

  get(id: string) {
    const { inventory } = this.shard;
    return inventory.get(inventory.find(id));
  }

  ownerOf(id: string): number {
    const { inventory } = this.shard;
    return inventory.columns.provider[inventory.find(id)]!;
  }

  /** Actions so far. */
  enqueued(): number {
    return this.cycles
      .flatMap(({ enqueued }) => Object.values(enqueued))
      .reduce((sum, count) => sum + count, 0);
  }

  async #handOver(answer: ListAnswer, index: number, provider: number): Promise<ListAnswer> {
    this.partCount++;
    const bent = await this.bend(answer, index, provider);
    if (bent.kind !== 'listed') return bent;
    const { next } = bent;
    const release = () => {
      this.released++;
    };
    if (next === undefined) return { ...bent, release };
    return { ...bent, release, next: async () => this.#handOver(await next(), index + 1, provider) };
  }

  #bytesOf(provider: number): Uint8Array {
    const machines = this.machines[provider]!;
    const bytes = encode('MachineList', { machines, revision: Buffer.from(`r-${machines.length}`) });
    return Buffer.concat([bytes, this.tail]);
  }
}
