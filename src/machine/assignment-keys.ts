/**
 * The keys under which a shard writes an assignment into `shard_metadata`. Providers echo them while the binding lasts.
 * They are part of the protocol: a restarted shard rebuilds its assignments from nothing else.
 */
export const ASSIGNMENT_KEYS = {
  priority: 'bigfleet.lucy.sh/assigned-priority',
  interruptionPenalty: 'bigfleet.lucy.sh/assigned-interruption-penalty-dollars',
  reclamationPenalty: 'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars',
  fingerprint: 'bigfleet.lucy.sh/assigned-need-fingerprint',
  group: 'bigfleet.lucy.sh/assigned-group',
} as const;
