/** Read models of tenants: how much each cluster and provider uses, and what the shard refused from it and why. */
import type { SessionView, StateCounts } from './fleet-view.ts';

export type TenantKind = 'cluster' | 'provider';

/** What the shard refused from a tenant since it started. */
export interface TenantRefusal {
  readonly kind: TenantKind;
  readonly name: string;
  /** Roll-ups of a cluster, rows of a provider. */
  readonly refused: number;
  /** The last reason, in one sentence or more. */
  readonly reason: string;
  readonly atMs: number;
}

export interface ListingFacts {
  readonly atMs: number;
  /** When the last listing that succeeded ended; 0 before the first. */
  readonly completeAtMs: number;
  /** S6: the last full listing lacked so many machines that the shard removed none; null if it did not. */
  readonly held: { readonly inARow: number; readonly known: number; readonly missing: number } | null;
  readonly machines: number;
  /** T10: rows of the last full listing that the shard refused because the id belongs to another provider. */
  readonly foreignIds: number;
  /** '' if the last listing succeeded; the counts are those of the last one that did. */
  readonly failure: string;
}

/** Kept by an observer; the shard itself only counts. */
export interface TenantRefusals {
  of(kind: TenantKind, name: string): TenantRefusal | null;
  /** Bounded: the tenants that were refused last. */
  all(): Iterable<TenantRefusal>;
  /** The last listing of a provider; null before the first one has ended. */
  listing(provider: string): ListingFacts | null;
}

export interface RollupLimits {
  readonly rollupRowsMax: number;
  readonly rowBytesMax: number;
}

export interface ClusterTenant {
  readonly session: SessionView | null;
  /** Rows of the last accepted roll-up. */
  readonly rollupRows: number;
  readonly needs: number;
  /** T7: needs of the last roll-up that wait to be taken up. */
  readonly waitingNeeds: number;
  readonly unmetNeeds: number;
  /** Distinct profiles of its needs. */
  readonly profiles: number;
  /** N7: roll-ups that drop most rows are quarantined; how many in a row. */
  readonly quarantinedRollups: number;
  /** Why the shard decides nothing for this cluster; '' if it does. */
  readonly suspended: string;
}

export interface ProviderTenant {
  readonly listing: ListingFacts | null;
}

export interface TenantView {
  readonly kind: TenantKind;
  readonly name: string;
  readonly refused: number;
  /** '' and 0 if the shard refused nothing, or no longer knows why. */
  readonly lastReason: string;
  readonly lastRefusedAtMs: number;
  readonly machines: StateCounts;
  /** Dollars per hour of the machines that have a host. */
  readonly usd: number;
  readonly cluster: ClusterTenant | null;
  readonly provider: ProviderTenant | null;
}

export interface TenantsQuery {
  /** '' or left out: both. */
  readonly kind?: TenantKind | '';
  readonly prefix?: string;
  readonly refusedOnly?: boolean;
  readonly limit?: number;
}

export interface TenantsPage {
  readonly atMs: number;
  readonly limits: RollupLimits;
  /** By what was refused, then by machines, most first. */
  readonly tenants: readonly TenantView[];
  readonly matching: number;
  readonly total: number;
  /** Where the next page begins; '' after the last one. */
  readonly next: string;
}
