/** Roll-up rows of a planned need, and the assignment of its machines. */
import { formatAmounts, formatQuantity } from '../../base/quantity.ts';
import type { Assignment, ResourceAmounts } from '../../machine/machine.ts';
import { fingerprintOf } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { PlannedNeed } from './demand.ts';
import { foldProfile } from './profile.ts';

export interface Rollup {
  readonly clusterId: string;
  readonly rows: readonly RollupRow[];
}

export function rowsOf(need: PlannedNeed): RollupRow[] {
  const { profile } = need;
  const shared = {
    requirements: profile.requirements,
    aggregate: quantities(need.aggregate),
    minUnit: quantities(need.minUnit),
    priority: profile.priority,
    spread: profile.spread,
    interruptionBucket: profile.interruptionPenalty,
    reclamationBucket: profile.reclamationPenalty,
  };
  return need.groups.map((group) => ({ ...shared, group }));
}

function quantities(amounts: ResourceAmounts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, units]) => [name, formatQuantity(name, units)]),
  );
}

/** The machines of small gangs carry the assignment of the fold that the gangs join. */
export function assignmentOf(need: PlannedNeed): Assignment {
  const isFold = need.form === 'small';
  const { priority, interruptionPenalty, reclamationPenalty } = need.profile;
  return {
    fingerprint: fingerprintOf(isFold ? foldProfile(need.profile) : need.profile),
    group: isFold ? `fold:${formatAmounts(need.aggregate)}` : need.groups[0]!,
    priority,
    interruptionPenalty,
    reclamationPenalty,
  };
}
