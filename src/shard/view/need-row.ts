/** One need with its verdict as plain data. */
import type { Verdict } from '../../decision/verdicts/verdicts.ts';
import type { NeedView } from '../ports/view.ts';
import type { ViewSources } from './sources.ts';

export function readNeed(
  { needs, inventory, engine }: ViewSources,
  slice: { readonly cluster: number; readonly clusterId: string; readonly start: number },
  row: number,
  verdict: Verdict,
): NeedView {
  const { vectors } = inventory.shapes;
  const tableRow = slice.start + row;
  const profile = needs.profiles.get(needs.profile[tableRow]!);
  const { fingerprint, priority, interruptionPenalty, reclamationPenalty, requirements, spread } = profile;
  return {
    clusterId: slice.clusterId,
    fingerprint,
    group: inventory.tables.groups.get(needs.group[tableRow]!),
    priority,
    interruptionPenalty,
    reclamationPenalty,
    requirements,
    spread,
    aggregate: vectors.amountsOf(needs.aggregate[tableRow]!),
    minUnit: vectors.amountsOf(needs.minUnit[tableRow]!),
    arrivalMs: needs.arrivalMs[tableRow]!,
    ...verdict,
    shared: engine.sharedMachines(slice.cluster, row),
  };
}
