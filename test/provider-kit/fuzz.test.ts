/**
 * No sequence of calls breaks the kit's contract. Random calls, ends of functions, sightings, changed offers, listings, disk
 * failures and crashes run against a plain model of the fence, of acked operations and of a reader that follows cursors.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findInvalid } from '../../src/machine/machine.ts';
import { isTransitional, MachineState } from '../../src/machine/state.ts';
import { Refused, type Sighting } from '../../src/provider-kit/cloud.ts';
import { OPERATION_NAMES, STEPS } from '../../src/provider-kit/operations.ts';
import type { Provider } from '../../src/provider-kit/provider.ts';
import type { StateEntry, StateStore } from '../../src/provider-kit/state-log.ts';
import { toPlain } from '../../src/wire/codec.ts';
import type { Machine } from '../../src/wire/protocol.generated.ts';
import { call, HeldCloud, listing, offer, providerOf, settled } from './rig.ts';

const IDS = ['m-0', 'm-1', 'm-2'] as const;
const S = MachineState;

/** A disk that a test can fill. Entries that were not flushed are lost in a crash. */
class Disk implements StateStore {
  isFailing = false;
  stored: StateEntry[] = [];
  #pending: StateEntry[] = [];

  append(entry: StateEntry): void {
    this.#pending.push(structuredClone(entry));
  }

  async flush(): Promise<void> {
    await Promise.resolve();
    if (this.isFailing) throw new Error('the disk is full');
    this.stored.push(...this.#pending.splice(0));
  }

  async close(): Promise<void> {}

  crash(): Disk {
    const next = new Disk();
    next.stored = [...this.stored]; // what the old process still writes is lost
    return next;
  }
}

type Step =
  | {
      readonly kind: 'call';
      readonly name: (typeof OPERATION_NAMES)[number];
      readonly id: string;
      readonly shard: number;
      readonly epoch: number;
      readonly sequence: number;
      readonly cluster: string;
    }
  | { readonly kind: 'end'; readonly which: number; readonly how: 'done' | 'failed' | 'refused' }
  | { readonly kind: 'report'; readonly id: string; readonly sighting: Sighting }
  | { readonly kind: 'offers'; readonly ids: readonly string[]; readonly price: number }
  | { readonly kind: 'advance'; readonly id: string; readonly cluster: string }
  | { readonly kind: 'list' }
  | { readonly kind: 'disk'; readonly isFull: boolean }
  | { readonly kind: 'crash' };

const SIGHTINGS: readonly Sighting[] = [
  { state: 'gone' },
  { state: 'idle', hostRef: 'h' },
  { state: 'configured' },
  { state: 'failed', reason: 'it burns' },
];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      name: fc.constantFrom(...OPERATION_NAMES),
      id: fc.constantFrom(...IDS, 'unknown', ''),
      shard: fc.constantFrom(0, 0, 1, 2),
      epoch: fc.integer({ min: 0, max: 3 }),
      sequence: fc.integer({ min: 0, max: 30 }),
      cluster: fc.constantFrom('blue', 'green', ''),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(7),
      how: fc.constantFrom(
        'done' as const,
        'done' as const,
        'done' as const,
        'failed' as const,
        'refused' as const,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      id: fc.constantFrom(...IDS),
      sighting: fc.constantFrom(...SIGHTINGS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('offers' as const),
      ids: fc.subarray([...IDS]),
      price: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      id: fc.constantFrom(...IDS),
      cluster: fc.constantFrom('blue', 'green'),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'list' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('disk' as const),
      isFull: fc.constantFrom(true, false, false, false),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
);

/** Counts of what the histories contained, so that a change of the generator cannot empty the test. */
const seen = {
  acks: 0,
  repeats: 0,
  drains: 0,
  fenced: 0,
  unfit: 0,
  crashes: 0,
  deltas: 0,
  tombstones: 0,
  full: 0,
};

class History {
  cloud = new HeldCloud();
  disk = new Disk();
  provider!: Provider;
  offers = IDS.map((id) => offer(id));
  readonly marks = new Map<string, [number, number]>();
  /** A reader that knows the fleet from listings after cursors alone. */
  readonly known = new Map<string, Machine>();
  cursor: Uint8Array = new Uint8Array();
  /** Machines that changed while the disk was full: a crash may show them as before or after. */
  readonly unstored = new Set<string>();
  /** The last one acked, by machine. */
  readonly operationIds = new Map<string, string>();

  async start(): Promise<void> {
    this.provider = providerOf(this.cloud, this.offers);
    await this.provider.start(this.disk, this.disk.stored);
  }

  machines(): Map<string, Machine> {
    return new Map(
      listing(this.provider).machines.map((machine) => [machine.id, toPlain('Machine', machine)]),
    );
  }

  async run(one: Step): Promise<void> {
    switch (one.kind) {
      case 'call':
        return this.#call(one);
      case 'advance': {
        const state = this.machines().get(one.id)?.state ?? 0;
        const name = OPERATION_NAMES.find((each) => STEPS[each].from === state);
        // Without a token, so that the fence does not stop most histories at their first machine.
        return name === undefined
          ? undefined
          : this.#call({ ...one, kind: 'call', name, shard: 0, epoch: 0, sequence: 0 });
      }
      case 'end': {
        const { pending } = this.cloud;
        const error = one.how === 'failed' ? new Error('broken') : new Refused('aborted', 'not now');
        if (pending.length === 0) return;
        const held = pending[one.which % pending.length]!;
        // The end is stored as soon as there is room, and shown a moment later.
        if (this.disk.isFailing) this.unstored.add(held.machineId);
        held.end(one.how === 'done' ? undefined : error);
        return settled();
      }
      case 'report':
        await this.provider.report(one.id, one.sighting).catch(() => this.unstored.add(one.id)); // the disk is full
        return;
      case 'offers':
        this.offers = one.ids.map((id) => offer(id, { pricePerHourUsd: one.price }));
        return this.provider.setOffers(this.offers);
      case 'list':
        return this.#follow();
      case 'disk':
        this.disk.isFailing = one.isFull;
        return one.isFull ? undefined : this.disk.flush(); // the next write of a real log contains everything
      case 'crash':
        return this.#crash();
    }
  }

  async #call({ name, id, shard, epoch, sequence, cluster }: Step & { kind: 'call' }): Promise<void> {
    const before = this.machines();
    const token = shard === 0 ? [0, 0] : [epoch, sequence];
    const shardId = shard === 0 ? '' : `shard-${shard}`;
    const key = `${shardId} ${id}`;
    const mark = this.marks.get(key);
    const isStale =
      shard !== 0 &&
      mark !== undefined &&
      !(token[0]! > mark[0] || (token[0] === mark[0] && token[1]! > mark[1]));
    const shardMetadata = { need: `${epoch}.${sequence}` };
    const answer = await call(this.provider, name, {
      machineId: id,
      token: { shardId, epoch: BigInt(token[0]!), sequence: BigInt(token[1]!) },
      ...(name === 'configure' ? { cluster, shardMetadata } : {}),
    });
    const machine = before.get(id);
    // FAILED_PRECONDITION means the fence, always and only.
    expect(answer.code === 'failed_precondition').toBe(id !== '' && isStale);
    if (id !== '' && !isStale && shard !== 0) this.marks.set(key, [token[0]!, token[1]!]);
    if (id === '') expect(answer.code).toBe('invalid_argument');
    else if (isStale) seen.fenced++;
    else if (machine === undefined && !this.disk.isFailing) expect(answer.code).toBe('not_found');
    const { from, through, to } = STEPS[name];
    const isAdmitted =
      id !== '' && !isStale && !this.disk.isFailing && !(name === 'configure' && cluster === '');
    if (machine?.state === through && isAdmitted) expect(answer.code).toBe('ok'); // a repeat
    if (answer.code !== 'ok') {
      if (answer.code === 'aborted') seen.unfit++;
      if (answer.code === 'unavailable') seen.full++;
      expect(answer.code === 'unavailable').toBe(this.disk.isFailing && id !== '' && !isStale);
      expect(this.machines()).toEqual(before); // a refused call changes nothing
      return;
    }
    seen.acks++;
    if (name === 'drain') seen.drains++;
    if (machine!.state !== from)
      expect(answer.operationId).toBe(this.operationIds.get(id) ?? answer.operationId);
    this.operationIds.set(id, answer.operationId);
    const now = toPlain('Machine', answer.machine!);
    expect(now.id).toBe(id);
    expect([through, to]).toContain(now.state);
    if (machine!.state !== from) {
      seen.repeats++;
      expect(now).toEqual(machine); // a repeat changes nothing
    } else if (name === 'configure') expect(now).toMatchObject({ cluster, shardMetadata });
    const after = this.machines();
    for (const [other, was] of before) if (other !== id) expect(after.get(other)).toEqual(was);
  }

  /** A listing after the last cursor brings the reader to the whole truth. */
  #follow(): void {
    const { machines, deletedIds, revision } = listing(this.provider, { sinceRevision: this.cursor });
    const isDelta = this.cursor.length > 0 && machines.length < this.machines().size;
    if (this.cursor.length === 0) this.known.clear();
    if (isDelta) seen.deltas++;
    seen.tombstones += deletedIds.length;
    for (const id of deletedIds) this.known.delete(id);
    for (const machine of machines) this.known.set(machine.id, toPlain('Machine', machine));
    this.cursor = revision;
    expect(Object.fromEntries(this.known)).toEqual(Object.fromEntries(this.machines()));
  }

  /** kill -9: what was acked is there again; operations in progress go on with the same id. */
  async #crash(): Promise<void> {
    seen.crashes++;
    if (this.disk.isFailing) return;
    const before = this.machines();
    const isGoingOn = ({ state }: Machine) =>
      state !== S.Configuring && isTransitional(state as MachineState);
    const operationIds = new Map(
      this.cloud.pending.map(({ machineId, operationId }) => [machineId, operationId]),
    );
    this.disk = this.disk.crash();
    this.cloud = new HeldCloud();
    await this.start();
    this.cursor = new Uint8Array();
    const after = this.machines();
    for (const [id, machine] of before) {
      if (this.unstored.has(id)) continue;
      const isConfigure = machine.state === S.Configuring;
      const expected = isConfigure
        ? { ...machine, state: S.Failed, lastError: after.get(id)?.lastError }
        : machine;
      expect(after.get(id)).toEqual(expected);
    }
    const isStored = (id: string) => !this.unstored.has(id);
    const again = this.cloud.pending.map(({ machineId }) => machineId).filter(isStored);
    const goingOn = [...before.values()].filter(isGoingOn).map(({ id }) => id);
    expect(again.sort()).toEqual(goingOn.filter(isStored).sort());
    for (const { machineId, operationId, attempt } of this.cloud.pending) {
      expect(attempt).toBeGreaterThan(1);
      if (isStored(machineId)) expect(operationId).toBe(operationIds.get(machineId));
    }
    this.unstored.clear();
  }

  check(): void {
    for (const [id, machine] of this.machines()) {
      const facts = {
        state: machine.state,
        hasHost: machine.host !== null,
        hasCluster: machine.cluster !== '',
        hasLastError: machine.lastError !== '',
        pricePerHourUsd: machine.pricePerHour,
        interruptionProbability: machine.interruptionProbability,
      };
      expect(findInvalid(id, facts)).toBe(null);
      if (machine.cluster === '') expect(machine.shardMetadata).toEqual({});
    }
  }
}

describe('any sequence of calls', () => {
  it('keeps the contract: fence, idempotency, echo, cursors and durability', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
        const history = new History();
        await history.start();
        for (const one of steps) {
          await history.run(one);
          history.check();
        }
      }),
      { numRuns: 100 },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(3);
  });
});
