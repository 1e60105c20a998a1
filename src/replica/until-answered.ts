/** A replica that becomes active needs what the directory knows before its first cycle, whatever time the answer takes. */
import { ShardError } from '../base/errors.ts';
import type { Leadership } from '../directory/election/leadership.ts';
import { type ReplicaOptions, retryMsOf } from '../directory/election/options.ts';

export interface Patience extends Pick<ReplicaOptions, 'leaseMs' | 'scheduler'> {
  readonly isClosed: () => boolean;
}

/** Asks until the directory answers. Null: the replica ended meanwhile. */
export async function untilAnswered<Answer>(
  leadership: Leadership,
  { leaseMs, scheduler, isClosed }: Patience,
  ask: () => Promise<Answer>,
): Promise<Answer | null> {
  let hasEnded = false;
  void leadership.ended.then(() => {
    hasEnded = true;
  });
  while (!hasEnded && !isClosed()) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      await new Promise<void>((resolve) => scheduler.after(retryMsOf(leaseMs), resolve));
    }
  }
  return null;
}
