/**
 * What the disruption budgets of a shard used, in the directory (H9): the next active replica must not begin with unused budgets. The
 * active replica writes it before the reclaims begin, under the guard of its lease.
 */
import { ShardError } from '../base/errors.ts';
import type { Leadership } from '../directory/election/leadership.ts';
import type { ReplicaOptions } from '../directory/election/options.ts';
import { type Patience, untilAnswered } from './until-answered.ts';

type KeeperOptions = Pick<ReplicaOptions, 'directory' | 'keys' | 'shard' | 'leaseMs' | 'scheduler'>;

/** Another replica is active, or this one is adrift. */
export class UsageNotWrittenError extends ShardError {
  readonly code = 'usage_not_written';
  readonly next = 'retry-next-cycle';

  constructor() {
    super(
      'The replica could not write what its disruption budgets use: it does not hold the lease of the active replica now. ' +
        'The reclaims that would use them are not begun. The next cycle tries again, if the replica is still active.',
    );
  }
}

export class UsageKeeper {
  readonly #options: KeeperOptions;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** As the last active replica wrote it; a null text: none did. It waits for the directory; null: the replica ended meanwhile. */
  async takeOver(
    leadership: Leadership,
    patience: Omit<Patience, 'scheduler' | 'leaseMs'>,
  ): Promise<{ readonly text: string | null } | null> {
    const { directory, keys, shard } = this.#options;
    return untilAnswered(leadership, { ...this.#options, ...patience }, async () => {
      const { entry } = await directory.get(keys.usage(shard));
      return { text: entry?.value ?? null };
    });
  }

  async write(leadership: Leadership | null, text: string): Promise<void> {
    const { directory, keys, shard } = this.#options;
    if (leadership === null) throw new UsageNotWrittenError();
    const { succeeded } = await directory.transact({
      when: [leadership.guard()],
      change: [{ kind: 'put', key: keys.usage(shard), value: text }],
    });
    if (!succeeded) throw new UsageNotWrittenError();
  }
}
