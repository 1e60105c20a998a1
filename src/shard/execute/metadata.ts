/** An assignment as `shard_metadata`. X10: decimal strings, infinity as `+Inf`, and always all five keys. */

import { ASSIGNMENT_KEYS } from '../../machine/assignment-keys.ts';
import type { Assignment } from '../../machine/machine.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';

export function shardMetadata(assignment: Assignment): Readonly<Record<string, string>> {
  return {
    [ASSIGNMENT_KEYS.priority]: String(assignment.priority),
    [ASSIGNMENT_KEYS.interruptionPenalty]: dollarsText(assignment.interruptionPenalty),
    [ASSIGNMENT_KEYS.reclamationPenalty]: dollarsText(assignment.reclamationPenalty),
    [ASSIGNMENT_KEYS.fingerprint]: assignment.fingerprint,
    [ASSIGNMENT_KEYS.group]: assignment.group,
  };
}

function dollarsText(bucket: number): string {
  const dollars = BUCKET_DOLLARS[bucket]!;
  return dollars === Number.POSITIVE_INFINITY ? '+Inf' : String(dollars);
}
