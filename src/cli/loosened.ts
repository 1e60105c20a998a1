/** Whether a reload loosens a rail: the shard may do more than before, so the log says it as a warning. */
import { parseDurationMs } from '../config/units.ts';

/** Switches that forbid something while they are true. */
const FORBIDDING: ReadonlySet<string> = new Set(['actuation-paused', 'dry-run', 'empty-rollup-guard']);
/** Caps, where 0 and `unlimited` are no cap, and `none` allows nothing. */
const CAPS: ReadonlySet<string> = new Set([
  'max-actions-per-cycle',
  'reclaim-cap-fraction',
  'preemption-cap-fraction',
  'burn-fraction',
]);
/** Times for which the shard waits before it removes, releases or gives up. */
const HOLDS: ReadonlySet<string> = new Set([
  'removal-hold',
  'vanishing-hold',
  'idle-hold-on-demand',
  'idle-hold-spot',
]);
/** Entries that each forbid something. */
const LISTS: ReadonlySet<string> = new Set(['tenants', 'controls', 'disruption-budgets']);

export function isLoosened(flag: string, from: string, to: string): boolean {
  if (FORBIDDING.has(flag)) return from === 'true' && to === 'false';
  if (CAPS.has(flag)) return allowed(to) > allowed(from);
  if (HOLDS.has(flag)) return (parseDurationMs(to) ?? 0) < (parseDurationMs(from) ?? 0);
  if (flag === 'ceilings') return isAnyRaised(from, to);
  // Entries are joined by commas; one that is gone or different may allow more.
  return LISTS.has(flag) && from.split(', ').some((entry) => entry !== '' && !to.includes(entry));
}

/** `name=dollars; name=dollars`: one that is gone allows any cost. */
function isAnyRaised(from: string, to: string): boolean {
  const valuesOf = (text: string) =>
    new Map(text.split('; ').map((part) => part.split('=') as [string, string]));
  const after = valuesOf(to);
  return [...valuesOf(from)].some(
    ([name, dollars]) => name !== '' && Number(after.get(name) ?? Number.POSITIVE_INFINITY) > Number(dollars),
  );
}

function allowed(cap: string): number {
  if (cap === 'none') return 0;
  return cap === 'unlimited' || Number(cap) === 0 ? Number.POSITIVE_INFINITY : Number(cap);
}
