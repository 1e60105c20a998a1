/**
 * Which unassigned machines this cycle has given away: those that a need took (A3: acquisition), and those that a gang
 * reserved in its domain during credit (A5), which no other gang acquires. Both last for one cycle.
 *
 *   by slot     takenBy               u32   need + 1; 0 = not taken
 *               reservedBy            u32   need + 1 of a gang; 0 = not reserved
 *   by shape    reservedIn, takenIn   u32
 *   by family   reserved, taken       u32
 */
import { columnU32, widerU32 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { type Fleet, Role } from './fleet.ts';

export class Supply {
  readonly #fleet: Fleet;
  readonly takenBy: Uint32Array;
  readonly reservedBy: Uint32Array;
  readonly #taken = new SlotList();
  readonly #reserved = new SlotList();
  reservedIn = columnU32(256);
  takenIn = columnU32(256);
  reserved = columnU32(64);
  taken = columnU32(64);
  /** Counts cycles; a value that carries another number is void. */
  cycle = 1;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.takenBy = columnU32(fleet.role.length);
    this.reservedBy = columnU32(fleet.role.length);
  }

  beginCycle(): void {
    this.cycle++;
    for (let index = 0; index < this.#taken.count; index++) {
      const slot = this.#taken.slots[index]!;
      this.takenBy[slot] = 0;
      this.#noteIfOpen(slot);
    }
    for (let index = 0; index < this.#reserved.count; index++)
      this.reservedBy[this.#reserved.slots[index]!] = 0;
    this.#taken.clear();
    this.#reserved.clear();
    this.takenIn.fill(0);
    this.reservedIn.fill(0);
    this.taken.fill(0);
    this.reserved.fill(0);
    const { families } = this.#fleet;
    this.takenIn = widerU32(this.takenIn, families.familyOf.length);
    this.reservedIn = widerU32(this.reservedIn, families.familyOf.length);
    this.taken = widerU32(this.taken, families.count);
    this.reserved = widerU32(this.reserved, families.count);
  }

  /** A machine that a need took, and whose action was not enqueued or that needs none, may go to another need now. */
  #noteIfOpen(slot: number): void {
    const { role, shape, families } = this.#fleet;
    const isUnassigned = role[slot] === Role.Idle || role[slot] === Role.Speculative;
    if (isUnassigned || this.#fleet.isOrphan(slot)) families.noteOpened(families.familyOf[shape[slot]!]!);
  }

  take(slot: number, need: number): void {
    const shape = this.#fleet.shape[slot]!;
    this.takenBy[slot] = need + 1;
    this.#taken.push(slot);
    this.takenIn[shape]!++;
    this.taken[this.#fleet.families.familyOf[shape]!]!++;
  }

  /** A need that took the machine in this cycle does without it. */
  giveBack(slot: number): void {
    const shape = this.#fleet.shape[slot]!;
    this.takenBy[slot] = 0;
    this.takenIn[shape]!--;
    this.taken[this.#fleet.families.familyOf[shape]!]!--;
  }

  reserve(slot: number, need: number): void {
    const shape = this.#fleet.shape[slot]!;
    this.reservedBy[slot] = need + 1;
    this.#reserved.push(slot);
    this.reservedIn[shape]!++;
    this.reserved[this.#fleet.families.familyOf[shape]!]!++;
  }
}
