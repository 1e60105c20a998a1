/** An assignment as `shard_metadata` (X10): decimal strings, infinity as `+Inf`, all five keys always. */

import { STAMP_KEYS } from '../../machine/assignment-keys.ts';
import type { Assignment } from '../../machine/machine.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';

export function shardMetadata(assignment: Assignment): Readonly<Record<string, string>> {
  return {
    [STAMP_KEYS.priority]: String(assignment.priority),
    [STAMP_KEYS.interruptionPenalty]: dollarsText(assignment.interruptionPenalty),
    [STAMP_KEYS.reclamationPenalty]: dollarsText(assignment.reclamationPenalty),
    [STAMP_KEYS.fingerprint]: assignment.fingerprint,
    [STAMP_KEYS.group]: assignment.group,
  };
}

function dollarsText(bucket: number): string {
  const dollars = BUCKET_DOLLARS[bucket]!;
  return dollars === Number.POSITIVE_INFINITY ? '+Inf' : String(dollars);
}
