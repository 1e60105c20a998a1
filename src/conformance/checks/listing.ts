/** Reads: List returns every machine once, applies the filter, and agrees with Get. */
import { ALL_STATES } from '../../machine/state.ts';
import { type Check, CheckFailedError, must, skip } from '../check.ts';
import type { MachineListView } from '../machine-list-view.ts';
import type { Rig } from '../rig.ts';
import { findDifference, quote, type Snapshot, shorten, stateName } from '../snapshot.ts';

/** Machines per state that are compared: enough for a systematic difference, few for a fleet of any size. */
const SAMPLES_PER_STATE = 10;
/** A listing of this many machines exceeds 4 MiB, the default limit of gRPC libraries. */
const SCALE_MACHINES_MIN = 10_000;

export const LISTING_CHECKS: readonly Check[] = [
  {
    id: 'list/answers',
    contract: 'List without a filter returns every machine in one response.',
    async run({ driver, custody }) {
      const first = await driver.list();
      const second = await driver.list();
      const absent = second.idsMissingFrom(first.ids);
      // Machines may be removed meanwhile. One that a third listing has again was left out.
      const third = absent.length === 0 ? second : await driver.list();
      const leftOut = absent.filter((id) => third.rowOf(id) >= 0);
      must(leftOut.length === 0, {
        expected: 'every machine in every listing',
        came: `${leftOut.length} machines left out of the second of three listings, such as ${quote(leftOut[0] ?? '')}`,
        change: 'return all machines every time; a shard removes a machine that one full listing leaves out',
      });
      return `${second.machineCount} machines (${custody.machineCount} when the run began)`;
    },
  },
  {
    id: 'list/unique-ids',
    contract: 'A listing contains each machine once.',
    async run({ driver }) {
      const seen = new Set<string>();
      for (const id of (await driver.list()).ids) {
        must(!seen.has(id), {
          expected: 'every id once in a listing',
          came: `machine ${quote(id)} twice`,
          change: 'merge all data of a machine into one record before you list it',
        });
        seen.add(id);
      }
      return undefined;
    },
  },
  {
    id: 'list/get-equals-list',
    contract: 'Get and List return the same record for a machine.',
    async run(rig) {
      const sample = sampleOf(await rig.driver.list());
      if (sample.length === 0) skip('the provider lists no machine');
      const differentIds: string[] = [];
      for (const listed of sample) {
        if (findDifference(listed, await rig.driver.get(listed.id)) !== null) differentIds.push(listed.id);
      }
      if (differentIds.length > 0) await requireListedAs(rig, differentIds);
      return `${sample.length} machines compared`;
    },
  },
  {
    id: 'list/state-filter',
    contract: 'ListFilter.states selects the machines in these states and no others.',
    async run({ driver }) {
      const all = await driver.list();
      for (const state of ALL_STATES) {
        const filtered = await driver.list({ states: [state] });
        requireOnlyStates(filtered, [state]);
        const missing = filtered.idsMissingFrom(all.rowsInState(state).map((row) => all.ids[row]!));
        for (const id of missing.slice(0, SAMPLES_PER_STATE)) {
          // It may have moved between the two listings. If Get still shows the state, it was left out.
          must((await driver.get(id)).state !== state, {
            expected: `every ${stateName(state)} machine in List(states: [${stateName(state)}])`,
            came: `${missing.length} missing, such as ${quote(id)}`,
            change: 'filter by the same state that the record shows',
          });
        }
      }
      return undefined;
    },
  },
  {
    id: 'list/several-states',
    contract: 'ListFilter.states with several states selects the machines in any of them.',
    async run({ driver }) {
      const [first, second] = presentStates(await driver.list());
      if (first === undefined || second === undefined) skip('all machines are in one state');
      const both = await driver.list({ states: [first, second] });
      requireOnlyStates(both, [first, second]);
      const found = presentStates(both);
      must(found.includes(first) && found.includes(second), {
        expected: `${stateName(first)} and ${stateName(second)} machines for a filter with both states`,
        came: `machines in: ${found.map(stateName).join(', ') || 'no state'}`,
        change: 'read all entries of states, packed or not, and return a machine that matches any of them',
      });
      return undefined;
    },
  },
  {
    id: 'list/max-results',
    contract: 'ListFilter.max_results limits the number of machines in the response; 0 means no limit.',
    async run({ driver }) {
      const { machineCount } = await driver.list();
      if (machineCount < 2) skip('a limit cannot be tested with fewer than two machines');
      for (const maxResults of [1, machineCount - 1]) {
        const bounded = (await driver.list({ maxResults })).machineCount;
        must(bounded <= maxResults && bounded > 0, {
          expected: `1 to ${maxResults} machines for max_results ${maxResults}`,
          came: `${bounded} machines`,
          change: 'return at least one and at most max_results machines',
        });
      }
      return undefined;
    },
  },
  {
    id: 'list/at-scale',
    contract: 'List is one unary response, whatever the size of the fleet.',
    async run({ client, custody }) {
      const startedMs = performance.now();
      const reply = await client.list();
      if (!reply.ok) {
        throw new CheckFailedError({
          expected: `one response with all ${custody.machineCount} machines`,
          came: shorten(reply.detail),
          change:
            'lift the message size limits of your server (a listing of 500,000 machines exceeds 100 MB)',
        });
      }
      const tookMs = performance.now() - startedMs;
      const { machineCount, byteLength } = reply.value;
      const size = `${machineCount} machines, ${(byteLength / 1e6).toFixed(1)} MB, ${tookMs.toFixed(0)} ms`;
      return machineCount < SCALE_MACHINES_MIN ? `${size}; a fleet this small proves little` : size;
    },
  },
];

/** Machines may change meanwhile: a difference counts only if a second List and a Get show it again. */
async function requireListedAs({ driver }: Rig, ids: readonly string[]): Promise<void> {
  const relisted = await driver.list();
  for (const id of ids) {
    const listed = relisted.find(id);
    if (listed === undefined) continue;
    const difference = findDifference(listed, await driver.get(id));
    if (difference === null) continue;
    throw new CheckFailedError({
      expected: `List and Get to agree on machine ${quote(id)}`,
      came: `${difference.field} is ${shorten(difference.left)} in List and ${shorten(difference.right)} in Get`,
      change: 'build both answers from the same record with the same code',
    });
  }
}

function requireOnlyStates(listing: MachineListView, states: readonly number[]): void {
  const other = listing.states.findIndex((state) => !states.includes(state));
  must(other < 0, {
    expected: `only ${states.map(stateName).join(' and ')} machines`,
    came:
      other < 0 ? '' : `machine ${quote(listing.ids[other]!)}, which is ${stateName(listing.states[other]!)}`,
    change: 'apply ListFilter.states to every machine of the response',
  });
}

function presentStates({ states }: MachineListView): number[] {
  return ALL_STATES.filter((state) => states.includes(state));
}

function sampleOf(listing: MachineListView): Snapshot[] {
  return ALL_STATES.flatMap((state) =>
    listing
      .rowsInState(state)
      .slice(0, SAMPLES_PER_STATE)
      .map((row) => listing.machine(row)),
  );
}
