import { MachineState } from '../../../src/machine/state.ts';
import type { MachineListing } from '../../../src/simulation/provider/provider.ts';
import { refused } from '../../../src/simulation/provider/requests.ts';
import { ASYNCHRONOUS } from '../subject.ts';
import { hasCursor, type Mutant, sameCursor, withAcks, withList, withMutations } from './bend.ts';

const S = MachineState;

/** Leaves machines out of listings after a cursor. */
function forgetful(breaks: string, says: string, name: string, drops: (state: number) => boolean): Mutant {
  return {
    name,
    breaks: `cursor/${breaks}`,
    says,
    bend: (calls) =>
      withList(calls, (listing, call) =>
        hasCursor(call)
          ? { ...listing, machines: listing.machines.filter((machine) => !drops(machine.state)) }
          : listing,
      ),
  };
}

export const LISTING_MUTANTS: readonly Mutant[] = [
  {
    name: 'every second listing without its first machine',
    breaks: 'list/answers',
    says: 'left out',
    bend(calls) {
      let count = 0;
      return withList(calls, (listing) =>
        ++count % 2 === 1 ? { ...listing, machines: listing.machines.slice(1) } : listing,
      );
    },
  },
  {
    name: 'a machine listed twice',
    breaks: 'list/unique-ids',
    says: 'twice',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: [...listing.machines, ...listing.machines.slice(0, 1)],
      })),
  },
  {
    name: 'a price in List that differs from Get',
    breaks: 'list/get-equals-list',
    says: 'price_per_hour',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: listing.machines.map((machine) => ({ ...machine, pricePerHour: machine.pricePerHour + 1 })),
      })),
  },
  {
    name: 'an ignored state filter',
    breaks: 'list/state-filter',
    says: 'which is',
    bend: (calls) => ({ ...calls, list: (call) => calls.list({ ...queryOf(call), states: [] }) }),
  },
  {
    name: 'a state filter that loses a machine',
    breaks: 'list/state-filter',
    says: '1 missing',
    bend: (calls) =>
      withList(calls, (listing, call) =>
        (call.states?.length ?? 0) > 0 ? { ...listing, machines: listing.machines.slice(1) } : listing,
      ),
  },
  {
    name: 'a state filter that reads only its first entry',
    breaks: 'list/several-states',
    says: 'SPECULATIVE',
    bend: (calls) => ({
      ...calls,
      list: (call) => calls.list({ ...queryOf(call), states: (call.states ?? []).slice(0, 1) }),
    }),
  },
  {
    name: 'an ignored max_results',
    breaks: 'list/max-results',
    says: '14',
    bend: (calls) => ({ ...calls, list: (call) => calls.list({ ...queryOf(call), maxResults: 0 }) }),
  },
  {
    name: 'a listing too large for its server',
    breaks: 'list/at-scale',
    says: 'message is too large',
    bend(calls) {
      let count = 0;
      return {
        ...calls,
        list: (call) =>
          ++count > 1 ? refused('resource_exhausted', 'message is too large') : calls.list(call),
      };
    },
  },
];

export const CURSOR_MUTANTS: readonly Mutant[] = [
  {
    name: 'an empty listing for an unknown cursor',
    breaks: 'cursor/unknown',
    says: '0 of 14',
    bend: (calls) =>
      withList(calls, (listing, call) =>
        (call.sinceRevision?.byteLength ?? 0) > 16 ? { ...listing, machines: [] } : listing,
      ),
  },
  {
    name: 'an empty listing for any cursor, from a provider without cursors',
    breaks: 'cursor/unknown',
    says: '0 of 14',
    settings: { cursors: false },
    bend: (calls) =>
      withList(calls, (listing, call) => (hasCursor(call) ? { ...listing, machines: [] } : listing)),
  },
  {
    name: 'a delta with a machine that did not change',
    breaks: 'cursor/only-changes',
    says: 'which did not change',
    bend: (calls, provider) =>
      withList(calls, (listing, call) => {
        const extra = provider.get({ id: 'bound-0' });
        if (!hasCursor(call) || extra.kind !== 'ok') return listing;
        return { ...listing, machines: [...listing.machines, extra.value] };
      }),
  },
  forgetful(
    'sees-changes',
    'not listed',
    'deltas without CONFIGURED machines',
    (state) => state === S.Configured,
  ),
  {
    name: 'a delta that shows the machine before its change',
    breaks: 'cursor/sees-changes',
    says: 'IDLE',
    bend: (calls) =>
      withList(calls, (listing, call) => ({
        ...listing,
        machines: listing.machines.map((machine) =>
          hasCursor(call) && machine.state === S.Configured ? { ...machine, state: S.Idle } : machine,
        ),
      })),
  },
  {
    name: 'a revision that never changes',
    breaks: 'cursor/advances',
    says: 'the same revision',
    bend(calls) {
      let first: Uint8Array | undefined;
      return withList(calls, (listing) => {
        first ??= listing.revision;
        return { ...listing, revision: first };
      });
    },
  },
  {
    name: 'an inclusive cursor',
    breaks: 'cursor/strict',
    says: 'again, unchanged',
    bend(calls) {
      let latest: MachineListing | undefined;
      return withList(calls, (listing, call) => {
        const repeated =
          hasCursor(call) && sameCursor(call.sinceRevision, latest?.revision) ? latest!.machines : [];
        latest = listing;
        return { ...listing, machines: [...listing.machines, ...repeated.slice(0, 3)] };
      });
    },
  },
  {
    ...forgetful(
      'end-of-transition',
      'not listed',
      'deltas without the end of a drain',
      (state) => state === S.Idle,
    ),
    settings: ASYNCHRONOUS,
  },
  {
    name: 'a cursor that works once',
    breaks: 'cursor/used-twice',
    says: 'not listed',
    bend(calls) {
      const used = new Set<string>();
      return withList(calls, (listing, call) => {
        if (!hasCursor(call)) return listing;
        const key = Buffer.from(call.sinceRevision!).toString('hex');
        if (used.has(key)) return { ...listing, machines: [] };
        used.add(key);
        return listing;
      });
    },
  },
  forgetful('nothing-lost', 'instead of IDLE', 'deltas without IDLE machines', (state) => state === S.Idle),
  {
    name: 'a tombstone for a machine that exists',
    breaks: 'cursor/tombstones',
    says: 'OK',
    run: { only: ['cursor/used-twice', 'cursor/tombstones'] },
    bend: (calls) =>
      withList(calls, (listing, call) =>
        hasCursor(call) ? { ...listing, deletedIds: ['bound-0'] } : listing,
      ),
  },
  {
    name: 'tombstones in a full listing',
    breaks: 'cursor/tombstones',
    says: 'without since_revision',
    run: { only: ['cursor'] },
    bend: (calls) => withList(calls, (listing) => ({ ...listing, deletedIds: ['gone'] })),
  },
  {
    name: 'a machine both in machines and in deleted_ids',
    breaks: 'cursor/tombstones',
    says: 'both in machines and in deleted_ids',
    run: { only: ['cursor'] },
    bend: (calls) =>
      withList(calls, (listing, call) =>
        hasCursor(call) ? { ...listing, deletedIds: listing.machines.map((machine) => machine.id) } : listing,
      ),
  },
];

export const POPULATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'a Configure that also removes another machine',
    breaks: 'population/same-counts',
    says: 'IDLE 4 → 3',
    run: { only: ['lifecycle/configure', 'population'] },
    bend: (calls, provider) =>
      withAcks(
        calls,
        (ack) => {
          provider.world.remove('idle-3');
          return ack;
        },
        ['configure'],
      ),
  },
  {
    name: 'a Delete refused for every Idle machine',
    breaks: 'population/put-back',
    says: 'SPECULATIVE → IDLE',
    run: { only: ['lifecycle/create', 'population'] },
    bend: (calls, provider) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const machine = provider.get({ id: call.machineId });
          const isIdle = machine.kind === 'ok' && machine.value.state === S.Idle;
          return isIdle ? refused('resource_exhausted', 'not today') : next(call);
        },
        ['delete'],
      ),
  },
];

/** Fields of a request may sit on its prototype, where a spread would miss them. */
function queryOf(call: { states?: readonly number[]; maxResults?: number; sinceRevision?: Uint8Array }) {
  return {
    states: call.states ?? [],
    maxResults: call.maxResults ?? 0,
    sinceRevision: call.sinceRevision ?? new Uint8Array(0),
  };
}
