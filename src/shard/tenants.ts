/**
 * T8: which limits a cluster has. The first entry whose pattern matches the cluster's id counts. The engine asks once for
 * each roll-up, and for every cluster after a reload.
 */
import type { StringTable } from '../base/string-table.ts';
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
  };
}

export class Tenants implements LimitSource {
  readonly #clusters: StringTable;
  #entries: readonly TenantLimits[];
  version = 0;

  constructor(clusters: StringTable, entries: readonly TenantLimits[]) {
    this.#clusters = clusters;
    this.#entries = entries;
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

/** Takes the first place for each part: whatever follows a `*` may begin anywhere later, so no other choice fits more. */
export function matchesPattern(id: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0]!;
  if (parts.length === 1) return id === pattern;
  const last = parts[parts.length - 1]!;
  if (id.length < first.length + last.length || !id.startsWith(first) || !id.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = id.indexOf(part, at);
    if (found < 0 || found + part.length > id.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
