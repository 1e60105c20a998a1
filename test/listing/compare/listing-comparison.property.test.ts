import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Assignment, Machine } from '../../../src/machine/machine.ts';
import { ALL_STATES, MachineState as S } from '../../../src/machine/state.ts';
import { inventory, machine } from '../../inventory/machines.ts';
import { applyAll, Lister, machinesOf, OWN_LABEL, onWire, removedIds } from './listing-fixture.ts';

const ID_COUNT = 24;

/** Few values of everything, so that listings agree with the inventory as often as they differ. */
const assignment: fc.Arbitrary<Assignment> = fc.record({
  fingerprint: fc.constantFrom('need-1', 'need-2'),
  group: fc.constantFrom('', 'gang-1'),
  priority: fc.constantFrom(-5, 100),
  interruptionPenalty: fc.constantFrom(1, 4),
  reclamationPenalty: fc.constantFrom(27, 4),
});

const facts = fc.record({
  state: fc.constantFrom(...ALL_STATES),
  isBound: fc.boolean(),
  cluster: fc.constantFrom('east', 'west'),
  assignment,
  hostRef: fc.constantFrom('i-1', 'i-2'),
  instanceType: fc.constantFrom('m5', 'm6'),
  rack: fc.constantFrom('r1', 'r2', 'größer'),
  hostname: fc.option(fc.constantFrom('', 'h1')),
  pricePerHourUsd: fc.constantFrom(0, 0.5),
  interruptionProbability: fc.constantFrom(0, 0.25),
  cpu: fc.constantFrom(0, 4_000),
  lastError: fc.constantFrom('', 'broken'),
});
type Facts = typeof facts extends fc.Arbitrary<infer Value> ? Value : never;

function machineOf(id: string, given: Facts): Machine {
  const { state, hostname, cpu } = given;
  const mustBind = state === S.Configured || state === S.Draining;
  const mayBind = mustBind || state === S.Configuring || state === S.Failed;
  const isBound = mustBind || (mayBind && given.isBound);
  const hasHost = state !== S.Speculative && state !== S.Creating;
  return machine({
    id,
    state,
    host: hasHost ? { provider: 'aws', ref: given.hostRef } : null,
    instanceType: given.instanceType,
    labels: { rack: given.rack, ...(hostname === null ? {} : { [OWN_LABEL]: hostname }) },
    capacity: cpu === 0 ? {} : { cpu },
    pricePerHourUsd: given.pricePerHourUsd,
    interruptionProbability: given.interruptionProbability,
    cluster: isBound ? given.cluster : '',
    assignment: isBound ? given.assignment : null,
    lastError: state === S.Failed ? 'broken' : given.lastError,
  });
}

/** By id: the inventory's machine and the provider's; null: none. A listed machine may be rejected. */
const cells = fc.array(
  fc.record({
    known: fc.option(facts, { freq: 5 }),
    isTheirs: fc.boolean().map((coin) => coin),
    listed: fc.option(facts, { freq: 6 }),
    isRepeat: fc.boolean(),
    isRefused: fc.nat(9).map((roll) => roll === 0),
  }),
  { minLength: ID_COUNT, maxLength: ID_COUNT },
);

/** The rule in plain code: does the provider report anything that the inventory does not know? */
function isNews(known: Machine, listed: Machine): boolean {
  const isSilent = listed.cluster === '' && [S.Configuring, S.Failed].some((state) => state === listed.state);
  const cluster = isSilent ? known.cluster : listed.cluster;
  const said = { ...listed, cluster, assignment: known.assignment };
  return JSON.stringify(sorted(said)) !== JSON.stringify(sorted(known));
}

function sorted(each: Machine): unknown {
  return {
    ...each,
    labels: Object.entries(each.labels).sort(),
    capacity: Object.entries(each.capacity).sort(),
  };
}

it('finds exactly the new, changed and removed machines, and nothing once they are applied', () => {
  const seen = { unchanged: 0, changed: 0, new: 0, removed: 0, refused: 0, theirs: 0 };
  fc.assert(
    fc.property(cells, fc.boolean(), (drawn, isFull) => {
      const fleet = inventory({ machinesMax: ID_COUNT });
      const machines: Parameters<Lister['list']>[0][number][] = [];
      const expected: Machine[] = [];
      const gone: string[] = [];
      const deletedIds: string[] = [];
      for (const [index, cell] of drawn.entries()) {
        const id = `m-${index}`;
        const held = cell.known === null ? null : machineOf(id, cell.known);
        const isTheirs = held !== null && index % 8 === 0 && cell.isTheirs;
        if (held !== null) fleet.insert(held, isTheirs ? 1 : 0, 0);
        const facts = cell.isRepeat && cell.known !== null ? cell.known : cell.listed;
        if (facts === null) {
          deletedIds.push(id);
          if (held !== null && !isTheirs) gone.push(id);
          continue;
        }
        const listed = machineOf(id, facts);
        machines.push(cell.isRefused ? { ...onWire(listed), pricePerHour: -1 } : onWire(listed));
        if (cell.isRefused) seen.refused++;
        else if (isTheirs) {
          seen.theirs++;
          // T10: the main thread decides about a row whose binding the other provider's record lacks.
          if (listed.cluster !== '' && held.cluster === '') expected.push(listed);
        } else if (held === null || isNews(held, listed)) {
          expected.push(listed);
          seen[held === null ? 'new' : 'changed']++;
        } else seen.unchanged++;
      }
      seen.removed += gone.length;
      const lister = new Lister(fleet);
      const listing = lister.list(machines, { isFull, deletedIds: isFull ? [] : deletedIds });
      expect(machinesOf(listing.rows).map(sorted)).toEqual(expected.map(sorted));
      expect(removedIds(fleet, listing)).toEqual(gone.sort());
      applyAll(fleet, listing);
      const again = lister.list(machines, { isFull, deletedIds: isFull ? [] : deletedIds });
      expect(machinesOf(again.rows)).toEqual([]);
      expect(again.removed.count).toBe(0);
    }),
    { numRuns: 300 },
  );
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(50);
});
