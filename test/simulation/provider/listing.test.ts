import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL_STATES } from '../../../src/machine/state.ts';
import type { MachineListing, SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import type { ListCall } from '../../../src/simulation/provider/requests.ts';
import { decode, encode, toPlain } from '../../../src/wire/codec.ts';
import { bytesOf } from '../../../src/wire/outgoing-message.ts';
import { KIND, rig, S, Shard, seed, seedIn, value } from './fixture.ts';

function list(provider: SimulatedProvider, call: ListCall = {}): MachineListing {
  return value(provider.list(call));
}

/** A listing decoded from its bytes, and the same from its objects. */
function bothWays(provider: SimulatedProvider, call: ListCall = {}) {
  const { machines, revision, deletedIds } = list(provider, call);
  const meant = encode('MachineList', { machines, revision, deletedIds: [...deletedIds] });
  const written = bytesOf(value(provider.encodeList(call)));
  return [written, meant].map((bytes) => toPlain('MachineList', decode('MachineList', bytes)));
}

const idsOf = (listing: MachineListing) => listing.machines.map(({ id }) => id);

describe('List', () => {
  it('returns every machine once, with the same record as Get', () => {
    const { provider } = rig(
      {},
      ALL_STATES.map((state) => seedIn(state, `m-${state}`)),
    );
    const { machines } = list(provider);
    expect(machines.map(({ state }) => state)).toEqual(ALL_STATES);
    for (const machine of machines) expect(value(provider.get({ id: machine.id }))).toEqual(machine);
  });

  it('has the same content as bytes, whatever changed since the last encoding', () => {
    const more = { ...KIND, zone: 'zone-b', labels: { rack: 'r'.repeat(200) } };
    const { provider } = rig(
      {},
      Array.from({ length: 2_100 }, (_, index) => ({
        ...seedIn(ALL_STATES[index % ALL_STATES.length]!, `m-${index}`),
        kind: index % 3 === 0 ? KIND : more,
      })),
    );
    provider.prepareListings();
    const shard = new Shard();
    const isIdle = ALL_STATES.indexOf(S.Idle);
    const changes: ((index: number) => void)[] = [
      () => {},
      (index) => provider.world.reprice(`m-${index}`, index),
      (index) => provider.world.remove(`m-${index}`),
      (index) => provider.add(seed(`new-${index}`)),
      (index) => provider.world.fail(`m-${index + 1}`, 'ü'.repeat(index)),
      (index) => {
        const token = shard.next(`m-${index - (index % ALL_STATES.length) + isIdle}`);
        provider.configure({ ...token, clusterId: 'green', shardMetadata: { long: 'x'.repeat(index) } });
      },
      (index) => provider.world.reset(`m-${index}`),
    ];
    for (const change of changes) {
      const { revision: sinceRevision } = list(provider);
      for (const index of [0, 700, 1_023, 1_024, 2_040]) change(index);
      for (const call of [{}, { sinceRevision }, { maxResults: 50 }, { states: [S.Configured] }]) {
        const [written, meant] = bothWays(provider, call);
        expect(written).toEqual(meant);
      }
    }
  });

  it('filters by state; an unknown state matches no machine', () => {
    const { provider } = rig(
      {},
      ALL_STATES.map((state) => seedIn(state, `m-${state}`)),
    );
    expect(idsOf(list(provider, { states: [S.Idle, S.Failed] }))).toEqual(['m-3', 'm-8']);
    expect(idsOf(list(provider, { states: [77, 0, -1] }))).toEqual([]);
  });

  it('returns every machine exactly once in pages of max_results, by cursor', () => {
    const { provider } = rig(
      {},
      Array.from({ length: 10 }, (_, index) => seed(`m-${index}`)),
    );
    const shown: string[] = [];
    let sinceRevision = new Uint8Array(0);
    for (let page = 0; page < 4; page++) {
      const listing = list(provider, { maxResults: 3, sinceRevision });
      expect(listing.machines.length).toBeLessThanOrEqual(3);
      shown.push(...idsOf(listing));
      sinceRevision = Uint8Array.from(listing.revision);
    }
    expect(shown.sort()).toEqual(Array.from({ length: 10 }, (_, index) => `m-${index}`));
    expect(idsOf(list(provider, { sinceRevision }))).toEqual([]);
  });

  it('returns only changed machines after a cursor, and names removed ones', () => {
    const { provider } = rig({}, [seed('a'), seed('b'), seed('c'), seed('d')]);
    const { revision } = list(provider);
    provider.create(new Shard().next('b'));
    provider.world.remove('c');
    provider.world.reprice('d', 9.5);
    const delta = list(provider, { sinceRevision: revision });
    expect(idsOf(delta)).toEqual(['b', 'd']);
    expect(delta.deletedIds).toEqual(['c']);
    const quiet = list(provider, { sinceRevision: delta.revision });
    expect(quiet).toMatchObject({ machines: [], deletedIds: [] });
    expect(quiet.revision).toEqual(delta.revision);
  });

  it('does not name a machine as removed that exists again under its old id', () => {
    const { provider } = rig({}, [seed('a')]);
    const { revision } = list(provider);
    provider.world.remove('a');
    provider.add(seed('a'));
    const delta = list(provider, { sinceRevision: revision });
    expect(idsOf(delta)).toEqual(['a']);
    expect(delta.deletedIds).toEqual([]);
  });

  it('answers an unknown cursor with all machines', () => {
    const { provider } = rig({}, [seed('a'), seed('b')]);
    // A cursor of another incarnation whose revision exists here, too. Accepting it would hide machine a.
    const stranger = rig({ seed: 2 }, [seed('a')]).provider;
    const fromTheFuture = list(rig({}, [seed('a'), seed('b'), seed('c')]).provider).revision;
    for (const sinceRevision of [
      new Uint8Array([1, 2, 3]),
      new Uint8Array(16),
      list(stranger).revision,
      fromTheFuture,
    ]) {
      expect(idsOf(list(provider, { sinceRevision }))).toEqual(['a', 'b']);
    }
  });

  it('answers a cursor that is older than the oldest known removal with all machines', () => {
    const { provider } = rig({}, [seed('kept')]);
    const { revision } = list(provider);
    for (let index = 0; index <= 100_000; index++) {
      provider.add(seed('brief'));
      provider.world.remove('brief');
    }
    expect(idsOf(list(provider, { sinceRevision: revision }))).toEqual(['kept']);
  });

  it('returns no revision and ignores since_revision without cursors', () => {
    const withCursors = rig({}, [seed('a')]).provider;
    const { provider } = rig({ cursors: false }, [seed('a')]);
    const listing = list(provider, { sinceRevision: list(withCursors).revision });
    expect(idsOf(listing)).toEqual(['a']);
    expect(listing.revision.byteLength).toBe(0);
    expect(listing.deletedIds).toEqual([]);
  });

  it('never names a removal without deleted_ids', () => {
    const { provider } = rig({ deletedIds: false }, [seed('a'), seed('b')]);
    const { revision } = list(provider);
    provider.world.remove('a');
    expect(list(provider, { sinceRevision: revision })).toMatchObject({ machines: [], deletedIds: [] });
  });

  it('keeps a reader that applies listings after cursors equal to a full listing, whatever changes in between', () => {
    let deltaCount = 0;
    let removalCount = 0;
    const steps = fc.array(
      fc.record({
        id: fc.integer({ min: 0, max: 7 }),
        what: fc.constantFrom('add', 'remove', 'create', 'delete', 'reprice', 'fail', 'read', 'page'),
      }),
      { minLength: 10, maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (history) => {
        const { provider } = rig(
          {},
          [0, 1, 2, 3, 4].map((number) => seed(`m-${number}`)),
        );
        const shard = new Shard();
        const known = new Map<string, unknown>();
        let sinceRevision: Uint8Array = new Uint8Array(0);

        function read(maxResults: number): number {
          const delta = list(provider, { sinceRevision, maxResults });
          for (const id of delta.deletedIds) known.delete(id);
          for (const machine of delta.machines) known.set(machine.id, machine);
          sinceRevision = delta.revision;
          deltaCount++;
          removalCount += delta.deletedIds.length;
          return delta.machines.length;
        }

        for (const { id: number, what } of history) {
          const id = `m-${number}`;
          if (what === 'add' && provider.world.fleet.rowOf(id) < 0) provider.add(seed(id));
          else if (what === 'remove') provider.world.remove(id);
          else if (what === 'create' || what === 'delete') provider[what](shard.next(id));
          else if (what === 'reprice') provider.world.reprice(id, number + 0.5);
          else if (what === 'fail') provider.world.fail(id, 'lost');
          else if (what === 'read') read(0);
          else if (what === 'page') read(2);
        }
        for (let page = 0; page < 20 && read(3) === 3; page++);
        const full = new Map(list(provider).machines.map((machine) => [machine.id, machine]));
        expect(new Map([...known].sort())).toEqual(new Map([...full].sort()));
      }),
      { numRuns: 300 },
    );
    expect(deltaCount).toBeGreaterThan(300);
    expect(removalCount).toBeGreaterThan(20);
  });
});
