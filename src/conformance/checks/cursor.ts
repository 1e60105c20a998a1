/**
 * Cursors. A provider may have none, or may forget them; it then answers with all machines, which the
 * contract allows. It must never leave out a change that came after the cursor.
 */
import { randomBytes } from 'node:crypto';
import { MachineState } from '../../machine/state.ts';
import { type Check, CheckFailedError, must, skip } from '../check.ts';
import type { MachineListView } from '../machine-list-view.ts';
import { type Rig, USUAL_BINDING } from '../rig.ts';
import { findDifference, quote, type Snapshot, shorten, stateName } from '../snapshot.ts';

const S = MachineState;

/** No counter and no timestamp has these lengths. */
const STRANGE_CURSOR_BYTES = [37, 1_024];

export const CURSOR_CHECKS: readonly Check[] = [
  {
    id: 'cursor/unknown',
    contract:
      'The provider answers a cursor that it does not recognise, or does not support, with all machines.',
    async run({ driver }) {
      for (const byteLength of STRANGE_CURSOR_BYTES) {
        const before = await driver.list();
        const answer = await driver.list({ sinceRevision: randomBytes(byteLength) });
        const missing = answer.idsMissingFrom(before.ids);
        const after = missing.length === 0 ? answer : await driver.list();
        const leftOut = missing.filter((id) => after.rowOf(id) >= 0);
        must(leftOut.length === 0, {
          expected: `all machines for a cursor of ${byteLength} random bytes`,
          came: `${answer.machineCount} of ${before.machineCount} machines; ${quote(leftOut[0] ?? '')} is missing`,
          change: 'return all machines unless you are sure that you issued the cursor',
        });
      }
      return undefined;
    },
  },
  {
    id: 'cursor/only-changes',
    contract: 'A listing after a cursor contains only machines that changed after it.',
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
          came: `machine ${quote(machine.id)}, which did not change`,
          change: 'list a machine only if its revision is strictly greater than the cursor',
        });
      }
      return `${delta.machineCount} of ${full.machineCount} machines in the delta`;
    },
  },
  {
    id: 'cursor/sees-changes',
    contract: 'A listing after a cursor contains every machine that changed after it, as the machine is now.',
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
    contract: 'Every change of a machine advances the revision.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      const before = await listWithCursor(driver);
      await driver.perform('Drain', id);
      const after = await driver.list({ sinceRevision: before.revision });
      must(!sameBytes(before.revision, after.revision) && after.revision.length > 0, {
        expected: 'a new revision after a machine was drained',
        came: after.revision.length === 0 ? 'an empty revision' : 'the same revision',
        change: 'advance the revision with every change, and send the latest one with every listing',
      });
      return undefined;
    },
  },
  {
    id: 'cursor/strict',
    contract:
      'since_revision is exclusive: a listing after a revision does not repeat the changes up to that revision.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const full = await listWithCursor(driver);
      const { end } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
      const first = await driver.list({ sinceRevision: full.revision });
      skipIfCursorsAreIgnored(full, first);
      const second = await driver.list({ sinceRevision: first.revision });
      const again = second.find(id);
      must(again === undefined || findDifference(again, end) !== null, {
        expected: 'a change only in the listing after the older cursor',
        came: `machine ${quote(id)} again, unchanged, in the listing after the newer cursor`,
        change: 'list machines whose revision is greater than the cursor, not greater or equal',
      });
      return undefined;
    },
  },
  {
    id: 'cursor/end-of-transition',
    contract: 'The end of an asynchronous operation is a separate change, after that of its ack.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      const begun = await driver.begin('Drain', id);
      const listing = await listWithCursor(driver);
      const { end } = await driver.finish(begun);
      if (listing.find(id)?.state !== S.Draining)
        skip('the provider finished the drain before the suite could list the machine');
      const after = await driver.list({ sinceRevision: listing.revision });
      requireListed(after, end, 'the listing after the drain ended');
      return undefined;
    },
  },
  {
    id: 'cursor/used-twice',
    contract:
      'A cursor can be used again: if the first answer was lost, the second one has the same changes.',
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
    contract: 'A full listing plus all listings after its cursor equals a later full listing.',
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

/** The fleet as a shard in incremental mode knows it. */
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

  /** Whether no delta named the machine, and the listing still has its first bytes. */
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
  if (full.revision.length === 0) skip('the provider sends no revision, so it has no cursors');
  return full;
}

function skipIfCursorsAreIgnored(full: MachineListView, delta: MachineListView): void {
  if (full.machineCount > 1 && delta.machineCount >= full.machineCount) {
    skip('the provider answers its own cursor with all machines, like a provider without cursors');
  }
}

function requireListed(listing: MachineListView, wanted: Snapshot, where: string): void {
  const listed = listing.find(wanted.id);
  const change =
    'give every change, also the end of an asynchronous operation, a newer revision than any before it; a shard never learns of a change that a cursor skips';
  must(listed !== undefined, {
    expected: `machine ${quote(wanted.id)} (${stateName(wanted.state)}) in ${where}`,
    came: 'the machine is not listed',
    change,
  });
  const difference = findDifference(wanted, listed);
  if (difference === null) return;
  throw new CheckFailedError({
    expected: `machine ${quote(wanted.id)} in ${where} as Get shows it, with ${difference.field} ${shorten(difference.left)}`,
    came: `${difference.field} ${shorten(difference.right)}`,
    change,
  });
}

/** Another client may move machines meanwhile: a difference counts only if a later Get confirms it. */
async function requireReplica({ driver }: Rig, replica: Replica, full: MachineListView): Promise<void> {
  for (const [row, id] of full.ids.entries()) {
    if (replica.isUntouched(full, row)) continue;
    const kept = replica.find(id);
    if (kept !== undefined && findDifference(full.machine(row), kept) === null) continue;
    const live = await driver.get(id);
    const difference = kept === undefined ? null : findDifference(live, kept);
    must(kept !== undefined && difference === null, {
      expected: `machine ${quote(id)} as Get shows it, after applying all listings`,
      came:
        difference === null
          ? 'the machine is missing'
          : `${difference.field} ${shorten(difference.right)} instead of ${shorten(difference.left)}`,
      change: 'include every change in each listing after a cursor that is older than the change',
    });
  }
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
