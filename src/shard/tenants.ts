/**
 * T8: which limits a cluster has. The first entry whose pattern matches the cluster's id counts. The engine asks once for
 * each roll-up, and for every cluster after a reload. E7: it reads the ceilings of the fleet in every cycle.
 */
import { matchesPattern } from '../base/pattern.ts';
import type { StringTable } from '../base/string-table.ts';
import type { Ceilings } from '../decision/ceilings.ts';
import type { ClusterLimits, LimitSource } from '../decision/limits.ts';

export interface TenantLimits extends ClusterLimits {
  /** A cluster id; `*` stands for any characters. */
  readonly cluster: string;
}

/** As settings and callers give it: what is null or left out is not limited. */
export interface TenantEntry {
  readonly cluster: string;
  readonly maxPriority?: number | null | undefined;
  readonly maxMachines?: number | null | undefined;
  /** Units by dimension name. */
  readonly maxResources?: Readonly<Record<string, number>> | undefined;
  readonly maxDollarsPerHour?: number | null | undefined;
  readonly maxOfferingShare?: number | null | undefined;
  readonly minNonSpotShare?: number | null | undefined;
}

export function tenantLimits(entry: TenantEntry): TenantLimits {
  const none = Number.POSITIVE_INFINITY;
  return {
    cluster: entry.cluster,
    maxPriority: entry.maxPriority ?? none,
    maxMachines: entry.maxMachines ?? none,
    maxResources: entry.maxResources ?? {},
    maxDollarsPerHour: entry.maxDollarsPerHour ?? none,
    maxOfferingShare: entry.maxOfferingShare ?? none,
    minNonSpotShare: entry.minNonSpotShare ?? 0,
  };
}

export class Tenants implements LimitSource {
  readonly #clusters: StringTable;
  #entries: readonly TenantLimits[];
  version = 0;
  /** The next cycle decides with them. */
  ceilings: Ceilings | null;

  constructor(clusters: StringTable, entries: readonly TenantLimits[], ceilings: Ceilings | null = null) {
    this.#clusters = clusters;
    this.#entries = entries;
    this.ceilings = ceilings;
  }

  /** E8: whether an entry sets a minimum share. */
  get haveSpotShares(): boolean {
    return this.#entries.some(({ minNonSpotShare }) => minNonSpotShare > 0);
  }

  /** Replaces the entries. The next cycle decides with them. */
  set(entries: readonly TenantLimits[]): void {
    if (entries === this.#entries) return;
    this.#entries = entries;
    this.version++;
  }

  of(cluster: number): TenantLimits | null {
    if (this.#entries.length === 0) return null;
    const id = this.#clusters.get(cluster);
    return this.#entries.find((entry) => matchesPattern(id, entry.cluster)) ?? null;
  }
}
