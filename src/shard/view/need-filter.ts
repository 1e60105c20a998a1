/**
 * Which rows of a cluster's slice a reader asks for: by group, by profile, or only gangs. Names are compared as numbers, so
 * 776,000 rows take a few milliseconds, and a page needs no turn of the event loop for those that do not fit.
 */
import type { NeedsQuery } from '../ports/view.ts';
import { allRows, type RowList, someRows } from './need-key.ts';
import type { ViewSources } from './sources.ts';

/** Left out: any. An empty group is a group too. */
export interface NeedFilter {
  readonly group?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly gangs?: NeedsQuery['gangs'] | undefined;
  readonly namePrefix?: string | undefined;
}

export class NeedRows {
  readonly #sources: ViewSources;
  /** Refs in the tables of names; -1: any. */
  readonly #group: number;
  readonly #fingerprint: number;
  readonly #gangs: NeedsQuery['gangs'];
  readonly #prefix: string;
  /** No row has such a name. */
  readonly isNone: boolean;

  constructor(sources: ViewSources, { group, fingerprint, gangs, namePrefix = '' }: NeedFilter) {
    this.#sources = sources;
    const { groups, fingerprints } = sources.inventory.tables;
    // T4: a long name is found by its digest too.
    this.#group = group === undefined ? -1 : groups.find(group);
    this.#fingerprint = fingerprint === undefined ? -1 : fingerprints.find(fingerprint);
    this.#gangs = gangs;
    this.#prefix = namePrefix;
    this.isNone = (this.#group === 0 && group !== '') || this.#fingerprint === 0;
  }

  /** The rows that fit, of all or of `among`, in their order. */
  of(cluster: number, among?: Uint32Array): RowList {
    const { needs, engine, inventory } = this.#sources;
    const { clusters, groups } = inventory.tables;
    const count = needs.sliceCount(cluster);
    const groupPrefix = this.#prefix === '' ? '' : groupPrefixIn(this.#prefix, clusters.get(cluster));
    if (this.isNone || groupPrefix === null) return allRows(0);
    const isAny = this.#group < 0 && this.#fingerprint < 0 && this.#gangs === undefined && groupPrefix === '';
    if (isAny) return among === undefined ? allRows(count) : someRows(among);
    const start = needs.sliceStart(cluster);
    const { hasSame, fingerprint } = needs.profiles.columns;
    const { group, profile } = needs;
    const found: number[] = [];
    for (let at = 0; at < (among?.length ?? count); at++) {
      const row = among === undefined ? at : among[at]!;
      if (this.#group >= 0 && group[start + row] !== this.#group) continue;
      if (this.#fingerprint >= 0 && fingerprint[profile[start + row]!] !== this.#fingerprint) continue;
      if (this.#gangs !== undefined && hasSame[profile[start + row]!] === 0) continue;
      if (this.#gangs === 'spanning' && engine.isFolded(cluster, row)) continue;
      if (groupPrefix !== '' && !groups.get(group[start + row]!).startsWith(groupPrefix)) continue;
      found.push(row);
    }
    return someRows(Uint32Array.from(found));
  }
}

/** What is left of the prefix of `CLUSTER/GROUP` for the group; null: no need of the cluster begins so. */
function groupPrefixIn(prefix: string, clusterId: string): string | null {
  if (clusterId.startsWith(prefix)) return '';
  return prefix.startsWith(`${clusterId}/`) ? prefix.slice(clusterId.length + 1) : null;
}
