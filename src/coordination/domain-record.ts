/**
 * The topology domains that the coordinator says are this shard's. They are recorded and shown; no decision looks
 * at them (rule K1).
 */
import { DOMAINS_MAX } from './limits.ts';

export interface AssignedDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
  /** Of the instruction that assigned it. */
  readonly term: number;
  readonly sinceMs: number;
}

export class DomainRecord {
  readonly #domains = new Map<string, AssignedDomain>();

  /** Whether there was room. What is assigned already stays as it is. */
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

/** The length keeps ("a", "bc") and ("ab", "c") apart, whatever is in them. */
function nameOf(topologyKey: string, topologyValue: string): string {
  return `${topologyKey.length}:${topologyKey}${topologyValue}`;
}
