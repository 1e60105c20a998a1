/**
 * The names under which a shard writes an assignment into `shard_metadata`, where providers echo it while the binding
 * lasts. They are part of the protocol: all that a restarted shard has to rebuild its decisions from.
 */
export const ASSIGNMENT_KEYS = {
  priority: 'bigfleet.lucy.sh/assigned-priority',
  interruptionPenalty: 'bigfleet.lucy.sh/assigned-interruption-penalty-dollars',
  reclamationPenalty: 'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars',
  fingerprint: 'bigfleet.lucy.sh/assigned-need-fingerprint',
  group: 'bigfleet.lucy.sh/assigned-group',
} as const;
