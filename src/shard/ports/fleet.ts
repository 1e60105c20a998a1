/** F7, F8: the shards of a fleet, as the directory shows them. */
export interface FleetReplica {
  readonly replica: string;
  readonly addresses: readonly string[];
  readonly role: 'standby' | 'active';
  readonly isReady: boolean;
  readonly version: string;
  readonly lagSeconds: number;
}

export interface FleetShardView {
  readonly shard: string;
  /** null: no replica is active. */
  readonly active: {
    readonly replica: string;
    readonly epoch: number;
    readonly addresses: readonly string[];
  } | null;
  readonly replicas: readonly FleetReplica[];
  readonly providers: readonly string[];
  readonly clusterCount: number;
  /** The clusters of the shard have their routes. */
  readonly hasAdopted: boolean;
}

export interface FleetRouteView {
  readonly cluster: string;
  readonly shard: string;
}

/** F8 */
export interface FleetDomainView {
  readonly topologyKey: string;
  readonly topologyValue: string;
  readonly shard: string;
}

/** F8 */
export interface FleetCoordinatorView {
  readonly shard: string;
  readonly replica: string;
  readonly addresses: readonly string[];
  readonly term: number;
}

export interface FleetReader {
  readonly fleet: string;
  /** false: the directory does not answer, and this is what it said last. */
  isCurrent(): boolean;
  shards(): readonly FleetShardView[];
  routes(): readonly FleetRouteView[];
  domains(): readonly FleetDomainView[];
  /** null: no replica is the coordinator. */
  coordinator(): FleetCoordinatorView | null;
}
