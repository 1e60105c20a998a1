/** F8: reports of a shard to the coordinator of its fleet, wherever that is. */
import type { CoordinatorReporter } from '../coordination/reporter.ts';
import type { FleetCopy } from '../fleet/copy.ts';

/** Follows the coordinator until the returned function is called. */
export function reportToFleet(
  copy: FleetCopy,
  startReporter: (address: string) => CoordinatorReporter,
): () => Promise<void> {
  let address = '';
  let reporter: CoordinatorReporter | null = null;
  // While there is none, the last one may still answer.
  const follow = () => {
    const next = copy.coordinator()?.addresses[0] ?? '';
    if (next === '' || next === address) return;
    address = next;
    void reporter?.close();
    reporter = startReporter(address);
  };
  const stopFollowing = copy.onChange(follow);
  follow();
  return async () => {
    stopFollowing();
    await reporter?.close();
  };
}
