/** Tells the history which needs a cycle left unmet for the first time, and which are met again. */
import type { Engine } from '../../decision/engine.ts';
import { UnmetReason } from '../../decision/verdicts/verdicts.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NotedEvent } from '../ports/events.ts';

const WHY: Readonly<Record<UnmetReason, string>> = {
  [UnmetReason.None]: '',
  [UnmetReason.PriorityStarved]:
    'matching machines are held at equal or higher priority, or are not ready yet',
  [UnmetReason.NoMatchingSupply]: 'no machine matches its requirements and is large enough',
  [UnmetReason.TopologyUnsatisfiable]: 'its machines must share one domain, and no domain can hold it',
  [UnmetReason.PreemptionExhausted]: 'the matching machines of lower priority are too few',
};

export function tellNeeds(
  engine: Engine,
  { tables }: Inventory,
  cycle: number,
  note: (event: NotedEvent) => void,
): void {
  const untold = engine.takeFlips((need, reason) =>
    note({
      kind: reason === UnmetReason.None ? 'need_met' : 'need_unmet',
      cycle,
      clusterId: tables.clusters.get(need.cluster),
      fingerprint: tables.fingerprints.shortText(need.fingerprint),
      group: tables.groups.shortText(need.group),
      detail: WHY[reason as UnmetReason],
    }),
  );
  if (untold > 0)
    note({ kind: 'needs_changed', cycle, detail: `${untold} more needs became unmet or met in this cycle` });
}
