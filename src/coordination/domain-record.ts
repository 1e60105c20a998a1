/**
 * The topology domains that the coordinator assigned to this shard. K1: the shard records and shows them, and no decision
 * depends on them.
 */
import { DOMAINS_MAX } from './limits.ts';

export interface AssignedDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
  /** The term of the instruction that assigned it. */
  readonly term: number;
  readonly sinceMs: number;
}

export class DomainRecord {
  readonly #domains = new Map<string, AssignedDomain>();

  /** False if the record is full. A domain that is assigned already stays unchanged. */
  assign(domain: AssignedDomain): boolean {
    const name = nameOf(domain.topologyKey, domain.topologyValue);
    if (this.#domains.has(name)) return true;
    if (this.#domains.size >= DOMAINS_MAX) return false;
    this.#domains.set(name, domain);
    return true;
  }

  unassign(topologyKey: string, topologyValue: string): void {
    this.#domains.delete(nameOf(topologyKey, topologyValue));
  }

  /** In the order in which they were assigned. */
  list(): AssignedDomain[] {
    return [...this.#domains.values()];
  }

  get count(): number {
    return this.#domains.size;
  }
}

/** The length keeps ("a", "bc") and ("ab", "c") apart. */
function nameOf(topologyKey: string, topologyValue: string): string {
  return `${topologyKey.length}:${topologyKey}${topologyValue}`;
}
