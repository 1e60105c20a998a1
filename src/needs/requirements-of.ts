/** The requirements behind a fingerprint: a machine stores only the fingerprint of the need that it serves. */
import type { NeedTable } from './need-table.ts';
import type { Requirement } from './requirements.ts';

/** A1: a fold has the fingerprint of its members' profile without Same requirements. */
export function requirementsOf(
  needs: NeedTable,
  cluster: number,
  fingerprint: number,
): readonly Requirement[] {
  const { profiles } = needs;
  const start = needs.sliceStart(cluster);
  for (let row = start + needs.sliceCount(cluster) - 1; row >= start; row--) {
    const profile = profiles.get(needs.profile[row]!);
    if (profile.fingerprintRef === fingerprint) return profile.requirements;
    if (profile.sameKeys.length === 0) continue;
    const remaining = profiles.get(profiles.withoutSame(profile.ref));
    if (remaining.fingerprintRef === fingerprint) return remaining.requirements;
  }
  return [];
}
