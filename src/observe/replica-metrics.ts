/** F1–F4: what a replica is, and how well it reaches the directory. Without --directory they have no samples. */
import type { Registry } from 'prom-client';
import { counterFrom, gaugeFrom } from './families.ts';
import { REPLICA_ROLES } from './label-values.ts';

export interface ReplicaFacts {
  readonly isActive: boolean;
  readonly isConfirmed: boolean;
  /** Since this process saw itself as the active replica in the directory. */
  readonly sightingAgeMs: number;
  /** In all. */
  readonly adriftMs: number;
  /** Of this process: 0 or 1. */
  readonly takeovers: number;
  readonly directoryFailures: number;
  /** Since the oldest of the last listings of the providers. */
  readonly lagMs: number;
  /** F6: streams of operators that a standby relays or holds, and why they ended since the start. */
  readonly relay: {
    readonly relayed: number;
    readonly held: number;
    readonly ended: Readonly<Record<string, number>>;
  };
  /** F7: shards of the fleet whose clusters have no routes yet. */
  readonly shardsNotAdopted: number;
  /** F8: 0 if this replica is not the coordinator. */
  readonly coordinatorTerm: number;
}

export function replicaMetrics(registry: Registry, replica: () => ReplicaFacts | null): void {
  const gauge = (name: string, help: string, read: (facts: ReplicaFacts) => number | null) =>
    gaugeFrom(registry, { name, help }, () => {
      const facts = replica();
      return facts === null ? null : read(facts);
    });
  const counter = (name: string, help: string, read: (facts: ReplicaFacts) => number) =>
    counterFrom(registry, { name, help }, () => {
      const facts = replica();
      return facts === null ? null : read(facts);
    });
  gaugeFrom(
    registry,
    {
      name: 'flotilla_replica_role',
      help: '1 for the role of this replica: standby, active, or adrift (active and not confirmed, so that it removes no machine).',
    },
    () => {
      const facts = replica();
      if (facts === null) return null;
      const role = roleOf(facts);
      return REPLICA_ROLES.map((name) => ({ labels: { role: name }, value: name === role ? 1 : 0 }));
    },
    ['role'],
  );
  gauge(
    'flotilla_lease_age_seconds',
    'Time since this replica renewed its lease and saw itself active in the directory. A standby has no sample.',
    (facts) => (facts.isActive ? facts.sightingAgeMs / 1_000 : null),
  );
  gauge(
    'flotilla_inventory_lag_seconds',
    'Time since the oldest of the last listings of the providers. A cold standby has none, and shows 0.',
    (facts) => facts.lagMs / 1_000,
  );
  counter(
    'flotilla_adrift_seconds_total',
    'Time that this process was the active replica without being confirmed, so that it removed no machine.',
    (facts) => facts.adriftMs / 1_000,
  );
  counter(
    'flotilla_takeovers_total',
    'Times that this process became the active replica: 0 or 1.',
    (facts) => facts.takeovers,
  );
  gauge(
    'flotilla_relayed_streams',
    'Streams of operators that this replica relays to the active replica of a shard.',
    (facts) => facts.relay.relayed,
  );
  gauge(
    'flotilla_relay_held_streams',
    'Streams of operators that this replica holds until their cluster has a shard, and until a replica is active and answers them.',
    (facts) => facts.relay.held,
  );
  counterFrom(
    registry,
    {
      name: 'flotilla_relay_ended_total',
      help: 'Streams that a replica relayed or held and that ended, by reason.',
    },
    () => replica()?.relay.ended ?? null,
    'reason',
  );
  gauge(
    'flotilla_shards_not_adopted',
    'Shards of the fleet that have not listed their providers since the directory knows them. Until they have, clusters that no shard knows wait.',
    (facts) => facts.shardsNotAdopted,
  );
  gauge(
    'flotilla_coordinator_term',
    'Term of this replica as the coordinator of the fleet. 0 if it is not.',
    (facts) => facts.coordinatorTerm,
  );
  counter(
    'flotilla_directory_failures_total',
    'Calls to the directory that failed, and watches of it that ended early.',
    (facts) => facts.directoryFailures,
  );
}

function roleOf({ isActive, isConfirmed }: ReplicaFacts): (typeof REPLICA_ROLES)[number] {
  if (!isActive) return 'standby';
  return isConfirmed ? 'active' : 'adrift';
}
