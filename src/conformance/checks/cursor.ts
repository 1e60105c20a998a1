/**
 * Cursors. A provider may have none, or forget them: then it answers with everything, and that is right.
 * What it must never do is leave out a change that came after the cursor.
 */
import { randomBytes } from 'node:crypto';
import { MachineState } from '../../machine/state.ts';
import { type Check, CheckFailedError, must, skip } from '../check.ts';
import type { MachineListView } from '../machine-list-view.ts';
import { type Rig, USUAL_BINDING } from '../rig.ts';
import { findDifference, quote, type Snapshot, shorten, stateName } from '../snapshot.ts';

const S = MachineState;

/** Lengths that no counter and no timestamp has. */
const STRANGE_CURSOR_BYTES = [37, 1_024];

export const CURSOR_CHECKS: readonly Check[] = [
  {
    id: 'cursor/unknown',
    contract:
      'A cursor that the provider does not recognise, or does not support, is answered with everything.',
    async run({ driver }) {
      for (const byteLength of STRANGE_CURSOR_BYTES) {
        const before = await driver.list();
        const answer = await driver.list({ sinceRevision: randomBytes(byteLength) });
        const missing = answer.idsMissingFrom(before.ids);
        const after = missing.length === 0 ? answer : await driver.list();
        const leftOut = missing.filter((id) => after.rowOf(id) >= 0);
        must(leftOut.length === 0, {
          expected: `all machines for a cursor of ${byteLength} random bytes`,
          came: `${answer.machineCount} of ${before.machineCount}; ${quote(leftOut[0] ?? '')} is missing`,
          change: 'answer with everything unless you are sure that the cursor is one of yours',
        });
      }
      return undefined;
    },
  },
  {
    id: 'cursor/only-changes',
    contract: 'A listing after a cursor shows what changed after it, and nothing else.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const full = await listWithCursor(driver);
      await driver.perform('Configure', id, { binding: USUAL_BINDING });
      const delta = await driver.list({ sinceRevision: full.revision });
      skipIfCursorsAreIgnored(full, delta);
      for (let row = 0; row < delta.machineCount; row++) {
        const machine = delta.machine(row);
        const known = full.find(machine.id);
        must(machine.id === id || known === undefined || findDifference(known, machine) !== null, {
          expected: 'only machines that changed after the cursor',
          came: `${quote(machine.id)}, which is as it was`,
          change: 'compare the revision of each machine with the cursor: strictly newer, or not listed',
        });
      }
      return `${delta.machineCount} of ${full.machineCount} machines in the delta`;
    },
  },
  {
    id: 'cursor/sees-changes',
    contract: 'A change after the cursor is in the next listing, as the machine is then.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const { revision } = await listWithCursor(driver);
      const { end } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
      requireListed(await driver.list({ sinceRevision: revision }), end, 'the listing after Configure');
      return undefined;
    },
  },
  {
    id: 'cursor/advances',
    contract: 'The revision advances with every change.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      const before = await listWithCursor(driver);
      await driver.perform('Drain', id);
      const after = await driver.list({ sinceRevision: before.revision });
      must(!sameBytes(before.revision, after.revision) && after.revision.length > 0, {
        expected: 'another revision after a machine was drained',
        came: after.revision.length === 0 ? 'an empty one' : 'the same',
        change: 'raise the revision with every change, and send the latest with every listing',
      });
      return undefined;
    },
  },
  {
    id: 'cursor/strict',
    contract: 'since_revision is strict: what a listing has shown, the listing after its revision does not.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const full = await listWithCursor(driver);
      const { end } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
      const first = await driver.list({ sinceRevision: full.revision });
      skipIfCursorsAreIgnored(full, first);
      const second = await driver.list({ sinceRevision: first.revision });
      const again = second.find(id);
      must(again === undefined || findDifference(again, end) !== null, {
        expected: 'a change once: in the listing after the older cursor only',
        came: `${quote(id)} again, unchanged, after the newer cursor`,
        change: 'list machines whose revision is greater than the cursor, not greater or equal',
      });
      return undefined;
    },
  },
  {
    id: 'cursor/end-of-transition',
    contract: 'The end of an asynchronous operation is a change of its own, after the ack.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      const begun = await driver.begin('Drain', id);
      const listing = await listWithCursor(driver);
      const { end } = await driver.finish(begun);
      if (listing.find(id)?.state !== S.Draining) skip('the provider had finished before it was listed');
      const after = await driver.list({ sinceRevision: listing.revision });
      requireListed(after, end, 'the listing after the drain ended');
      return undefined;
    },
  },
  {
    id: 'cursor/used-twice',
    contract: 'A cursor may be used again: an answer may have been lost, and the change is still after it.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const { revision } = await listWithCursor(driver);
      const { end } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
      for (const time of ['first', 'second']) {
        const listing = await driver.list({ sinceRevision: revision });
        requireListed(listing, end, `the ${time} listing after the same cursor`);
      }
      return undefined;
    },
  },
  {
    id: 'cursor/nothing-lost',
    contract: 'All listings after a cursor, one after the other, add up to the full listing.',
    async run(rig) {
      const replica = new Replica(await listWithCursor(rig.driver));
      const { id } = await rig.pool.configured();
      const other = await rig.pool.idle();
      const catchUp = async () => replica.apply(await rig.driver.list({ sinceRevision: replica.revision }));
      await catchUp();
      const draining = await rig.driver.begin('Drain', id);
      await catchUp();
      await rig.driver.perform('Configure', other, { binding: USUAL_BINDING });
      await rig.driver.finish(draining);
      await catchUp();
      await rig.driver.perform('Drain', other);
      await catchUp();
      const full = await rig.driver.list();
      await catchUp();
      await requireReplica(rig, replica, full);
      return `${full.machineCount} machines compared`;
    },
  },
];

/** What a shard would know that only ever lists what changed. */
class Replica {
  readonly #full: MachineListView;
  readonly #changed = new Map<string, Snapshot | undefined>();
  revision: Uint8Array;

  constructor(full: MachineListView) {
    this.#full = full;
    this.revision = full.revision;
  }

  apply(delta: MachineListView): void {
    for (const id of delta.deletedIds) this.#changed.set(id, undefined);
    for (let row = 0; row < delta.machineCount; row++) this.#changed.set(delta.ids[row]!, delta.machine(row));
    this.revision = delta.revision;
  }

  /** Whether nothing was heard of it since the beginning, and the listing says the same to the byte. */
  isUntouched(listing: MachineListView, row: number): boolean {
    const id = listing.ids[row]!;
    const fullRow = this.#full.rowOf(id);
    return !this.#changed.has(id) && fullRow >= 0 && listing.hasSameBytes(row, this.#full, fullRow);
  }

  find(id: string): Snapshot | undefined {
    return this.#changed.has(id) ? this.#changed.get(id) : this.#full.find(id);
  }
}

async function listWithCursor(driver: Rig['driver']): Promise<MachineListView> {
  const full = await driver.list();
  if (full.revision.length === 0) skip('the provider sends no revision: it has no cursors');
  return full;
}

function skipIfCursorsAreIgnored(full: MachineListView, delta: MachineListView): void {
  if (full.machineCount > 1 && delta.machineCount >= full.machineCount) {
    skip('the provider answers its own cursor with everything, as one without cursors does');
  }
}

function requireListed(listing: MachineListView, wanted: Snapshot, where: string): void {
  const listed = listing.find(wanted.id);
  const change =
    'give every change, also the end of an asynchronous one, a newer revision than any before it';
  must(listed !== undefined, {
    expected: `machine ${quote(wanted.id)} (${stateName(wanted.state)}) in ${where}`,
    came: 'it is not listed',
    change,
  });
  const difference = findDifference(wanted, listed);
  if (difference === null) return;
  throw new CheckFailedError({
    expected: `machine ${quote(wanted.id)} in ${where} as Get shows it: ${difference.field} ${shorten(difference.left)}`,
    came: shorten(difference.right),
    change,
  });
}

/** Others may move machines meanwhile: a difference counts only if Get, asked last, confirms it. */
async function requireReplica({ driver }: Rig, replica: Replica, full: MachineListView): Promise<void> {
  for (const [row, id] of full.ids.entries()) {
    if (replica.isUntouched(full, row)) continue;
    const kept = replica.find(id);
    if (kept !== undefined && findDifference(full.machine(row), kept) === null) continue;
    const live = await driver.get(id);
    const difference = kept === undefined ? null : findDifference(live, kept);
    must(kept !== undefined && difference === null, {
      expected: `machine ${quote(id)} as Get shows it, after all listings were added up`,
      came:
        difference === null
          ? 'it is missing'
          : `${difference.field} ${shorten(difference.right)} instead of ${shorten(difference.left)}`,
      change: 'never leave a change out of the listing after a cursor that is older than it',
    });
  }
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
