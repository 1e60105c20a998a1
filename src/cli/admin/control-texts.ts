/** Controls for people: one sentence, and a table. */
import { age, count } from '../../dashboard/client/format.ts';
import { placeOf, WHOLE_FLEET } from '../../shard/controls/control.ts';
import type { AdminControl } from '../../wire/admin.ts';
import type { Column } from '../inspect/terminal.ts';

export const CONTROL_COLUMNS: readonly Column[] = [
  { name: 'ID' },
  { name: 'WHAT' },
  { name: 'WHERE' },
  { name: 'ENDS' },
  { name: 'HOLDS', align: 'right' },
  { name: 'STOPPED', align: 'right' },
  { name: 'WHO' },
  { name: 'WHY' },
];

export function controlRow(control: AdminControl, nowMs: number): string[] {
  const { id, pauses, scope, who, why, holding, stopped } = control;
  return [
    id,
    pauses.join(','),
    placeOf(scope ?? WHOLE_FLEET).replace(/^of (?:the )?/, ''),
    endOf(control, nowMs),
    count(holding),
    count(stopped),
    who,
    why,
  ];
}

function endOf({ untilUnixMs, declared }: AdminControl, nowMs: number): string {
  if (untilUnixMs !== 0) return `in ${age(Math.max(0, untilUnixMs - nowMs))}`;
  return declared ? 'when removed' : 'when lifted';
}

/** `c7: reclaim of cluster prod-eu-1 is paused for 2h.` */
export function controlSentence({ id, pauses, scope, sinceUnixMs, untilUnixMs }: AdminControl): string {
  const verb = pauses.length === 1 ? 'is' : 'are';
  return `${id}: ${pauses.join(', ')} ${placeOf(scope ?? WHOLE_FLEET)} ${verb} paused for ${age(untilUnixMs - sinceUnixMs)}.`;
}
