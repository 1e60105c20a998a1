/** What the relay has done, for metrics. */

/** Why a relayed or held stream ended: labels of a metric. */
export const RELAY_ENDS = [
  'client', // the client ended or lost it
  'active', // the active replica ended it
  'active_changed',
  'takeover', // this replica became active
  'connection_lost',
  'keepalive',
  'held_too_long',
  'relayed_twice',
  'identity',
  'client_connection', // T14: age or certificate of the client's connection
  'unplaced', // F7: the cluster had no shard in time
  'shutdown',
] as const;
export type RelayEnd = (typeof RELAY_ENDS)[number];

export interface RelayCounters {
  /** Streams that the active replica answered. */
  relayed: number;
  /** Held streams that this replica served itself, because it became active. */
  served: number;
  readonly ended: Record<RelayEnd, number>;
}

export function newRelayCounters(): RelayCounters {
  const ended = Object.fromEntries(RELAY_ENDS.map((end) => [end, 0])) as Record<RelayEnd, number>;
  return { relayed: 0, served: 0, ended };
}
