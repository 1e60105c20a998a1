/**
 * What a shard asks of the replica that it runs in (F1–F5). A shard without other replicas has no such port: it is always active,
 * and may always remove machines.
 */
export type ReplicaRole = 'standby' | 'active' | 'adrift';

/** The replica as people see it. */
export interface ReplicaView {
  readonly name: string;
  readonly role: ReplicaRole;
  /** One line that says what that means now. */
  readonly text: string;
  /** The active replica and where it is, as far as this one knows; '' if there is none. */
  readonly activeReplica: string;
  readonly activeAddress: string;
  /** The running replicas of the shard, this one included, by name, as far as it knows them. */
  readonly replicas: readonly ReplicaLine[];
}

export interface ReplicaLine {
  readonly name: string;
  readonly role: 'standby' | 'active';
  readonly address: string;
  readonly isReady: boolean;
  readonly version: string;
  /** How old its inventory was when it last said so. */
  readonly lagMs: number;
}

export interface ReplicaPort {
  /** F4: it reads the fleet and decides nothing. For the whole life of the shard: becoming active is a new shard. */
  readonly isStandby: boolean;
  /** F2: whether it may start to remove machines at this moment. */
  isConfirmed(): boolean;
  view(): ReplicaView;
  /** A provider refused a call because of a newer epoch (X8). */
  fenced(): void;
}
