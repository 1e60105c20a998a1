/** What admins may do to a running shard (H1), for the edge that lets them in. */
import {
  type AdminPort,
  type ConfirmedRemoval,
  type ConfirmRemovalCommand,
  type Control,
  type ControlView,
  type OrderCommand,
  type Ordered,
  PAUSABLE,
  type PauseCommand,
  type ResumeCommand,
  STANDING_ORDERS,
  type Told,
} from '../ports/controls.ts';
import type { ControlBook } from './control-book.ts';
import type { Orders } from './orders.ts';
import type { Pauses } from './pauses.ts';
import type { RemovalConfirmations } from './removal-confirmations.ts';

export class AdminCommands implements AdminPort {
  readonly #book: ControlBook;
  readonly #pauses: Pauses;
  readonly #removals: RemovalConfirmations;
  readonly #orders: Orders;

  constructor(book: ControlBook, pauses: Pauses, removals: RemovalConfirmations, orders: Orders) {
    this.#book = book;
    this.#pauses = pauses;
    this.#removals = removals;
    this.#orders = orders;
  }

  async pause(command: PauseCommand): Promise<ControlView> {
    return this.#viewOf(await this.#book.pause(command));
  }

  async resume(command: ResumeCommand): Promise<readonly ControlView[]> {
    const lifted = await this.#book.resume(command);
    return lifted.map((control) => ({ ...control, isDeclared: false, stopped: 0, holding: 0 }));
  }

  controls(): readonly ControlView[] {
    return this.#book.inForce.map((control) => this.#viewOf(control));
  }

  async confirmRemoval(command: ConfirmRemovalCommand): Promise<ConfirmedRemoval> {
    return this.#removals.confirm(command);
  }

  async order(command: OrderCommand): Promise<Ordered> {
    const { controls, ...ordered } = await this.#orders.give(command);
    return { ...ordered, controls: controls.map((control) => this.#viewOf(control)) };
  }

  /** Controls in force, by what they do. */
  counts(): Record<Told, number> {
    const { inForce } = this.#book;
    const counted = (one: Told) => inForce.filter(({ pauses }) => pauses.includes(one)).length;
    const all = [...PAUSABLE, ...STANDING_ORDERS];
    return Object.fromEntries(all.map((one) => [one, counted(one)])) as Record<Told, number>;
  }

  #viewOf(control: Control): ControlView {
    return {
      ...control,
      isDeclared: this.#book.isDeclared(control),
      stopped: this.#book.stoppedBy(control),
      holding: this.#pauses.holding(control),
    };
  }
}
