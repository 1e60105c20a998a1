/** What admins may do to a running shard (H1), for the edge that lets them in. */
import {
  type AdminPort,
  type ConfirmedRemoval,
  type ConfirmRemovalCommand,
  type Control,
  type ControlView,
  PAUSABLE,
  type Pausable,
  type PauseCommand,
  type ResumeCommand,
} from '../ports/controls.ts';
import type { ControlBook } from './control-book.ts';
import type { Pauses } from './pauses.ts';
import type { RemovalConfirmations } from './removal-confirmations.ts';

export class AdminCommands implements AdminPort {
  readonly #book: ControlBook;
  readonly #pauses: Pauses;
  readonly #removals: RemovalConfirmations;

  constructor(book: ControlBook, pauses: Pauses, removals: RemovalConfirmations) {
    this.#book = book;
    this.#pauses = pauses;
    this.#removals = removals;
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

  /** Controls in force, by what they pause. */
  counts(): Record<Pausable, number> {
    const { inForce } = this.#book;
    const counted = (one: Pausable) => inForce.filter(({ pauses }) => pauses.includes(one)).length;
    return Object.fromEntries(PAUSABLE.map((one) => [one, counted(one)])) as Record<Pausable, number>;
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
