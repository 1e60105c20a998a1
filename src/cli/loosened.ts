/** Whether a reload loosens a rail: the shard may do more than before, so the log says it as a warning. */

/** Switches that forbid something while they are true. */
const FORBIDDING: ReadonlySet<string> = new Set(['actuation-paused', 'dry-run', 'empty-rollup-guard']);
/** Caps, where 0 and `unlimited` are no cap, and `none` allows nothing. */
const CAPS: ReadonlySet<string> = new Set([
  'max-actions-per-cycle',
  'reclaim-cap-fraction',
  'preemption-cap-fraction',
  'burn-fraction',
]);
/** Entries that each forbid something. */
const LISTS: ReadonlySet<string> = new Set(['tenants', 'controls']);

export function isLoosened(flag: string, from: string, to: string): boolean {
  if (FORBIDDING.has(flag)) return from === 'true' && to === 'false';
  if (CAPS.has(flag)) return allowed(to) > allowed(from);
  // Entries are joined by commas; one that is gone or different may allow more.
  return LISTS.has(flag) && from.split(', ').some((entry) => entry !== '' && !to.includes(entry));
}

function allowed(cap: string): number {
  if (cap === 'none') return 0;
  return cap === 'unlimited' || Number(cap) === 0 ? Number.POSITIVE_INFINITY : Number(cap);
}
