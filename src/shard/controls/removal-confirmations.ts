/** S6: an admin confirms that the machines which a held listing lacks are gone. */
import type { Clock } from '../../base/clock.ts';
import type { Commander, ConfirmedRemoval, ConfirmRemovalCommand } from '../ports/controls.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { RemovalHold } from '../reconcile/removal-hold.ts';
import { ControlRefusedError, checkCommander } from './control.ts';

export interface RemovalConfirmationsOptions {
  readonly providerNames: readonly string[];
  /** By number of the provider. */
  readonly holdOf: (provider: number) => RemovalHold;
  /** Lists the provider soon, so that the confirmation takes effect. */
  readonly list: (provider: number) => void;
  readonly clock: Clock;
  readonly observer: ShardObserver;
}

export class RemovalConfirmations {
  readonly #options: RemovalConfirmationsOptions;

  constructor(options: RemovalConfirmationsOptions) {
    this.#options = options;
  }

  /** Throws ControlRefusedError. */
  confirm(command: ConfirmRemovalCommand): ConfirmedRemoval {
    try {
      const { provider } = command;
      checkCommander(command);
      const index = this.#indexOf(provider);
      const { knownCount, missing } = this.#confirm(index, command);
      const missingCount = missing.length;
      this.#record(command, 'done', `${missingCount} of ${knownCount} machines`);
      this.#options.list(index);
      return { provider, knownCount, missingCount };
    } catch (error) {
      this.#record(command, 'refused', (error as Error).message);
      throw error;
    }
  }

  #indexOf(provider: string): number {
    const { providerNames } = this.#options;
    const index = providerNames.indexOf(provider);
    if (index >= 0) return index;
    throw new ControlRefusedError(
      `The shard has no provider ${JSON.stringify(provider.slice(0, 100))}.`,
      `Its providers are ${providerNames.join(', ')}.`,
    );
  }

  #confirm(index: number, command: ConfirmRemovalCommand) {
    const hold = this.#options.holdOf(index);
    const { held } = hold;
    if (held === null)
      throw new ControlRefusedError(
        `No listing of provider ${command.provider} is held.`,
        `${whatBecame(hold)}flotilla top names held listings.`,
      );
    if (held.confirmation !== null)
      throw new ControlRefusedError(
        `The held listing of provider ${command.provider} is confirmed already, by ${held.confirmation.who} (${held.confirmation.why}).`,
        'The shard removes the machines with its next listing, if that lacks no others.',
      );
    hold.confirm(command);
    return held;
  }

  #record(command: ConfirmRemovalCommand, outcome: 'done' | 'refused', detail: string): void {
    const { clock, observer } = this.#options;
    const { who, why, via }: Commander = command;
    const subject = `removal of machines of provider ${command.provider}`;
    const id = '';
    observer.controlled?.({
      ...{ atMs: clock.nowMs(), command: 'confirm-removal', id, who, why, via, subject },
      ...{ untilMs: null, outcome, detail },
    });
    observer.happened({
      ...{ kind: 'control', level: 'warn', command: 'confirm-removal', id, subject },
      ...{ who, why, outcome, detail },
    });
  }
}

/** A second command often comes after the first one has taken effect. */
function whatBecame({ believed }: RemovalHold): string {
  if (believed === null) return '';
  const { confirmation, missingCount } = believed;
  const cause =
    confirmation === null
      ? 'because its listings agreed'
      : `because ${confirmation.who} confirmed it (${confirmation.why})`;
  return `The shard believed the last held one, which lacked ${missingCount} machines, ${cause}. `;
}
