/**
 * F8: the coordinator of a fleet, as the reference's protocol has it: shards report to it, people assign topology domains to them. What
 * must outlive it is in the registry; reports and what each shard was told are in memory, and come again with the next reports.
 */
import type { Clock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { sha256Hex } from '../base/sha256.ts';
import {
  type CoordinatorInstructionInit,
  InstructAckOutcome as Outcome,
  type ReportAckInit,
  type ShardReport,
} from '../wire/protocol.generated.ts';

/** Of one reply; the shard's own limit is 4,096. */
const INSTRUCTIONS_PER_REPLY_MAX = 1_000;

export interface RegisteredShard {
  readonly shard: string;
  readonly address: string;
  readonly registeredAtMs: number;
}

export interface RegisteredDomain {
  readonly topologyKey: string;
  readonly topologyValue: string;
  readonly shard: string;
  /** Another assignment of the same domain has another one. */
  readonly revision: number;
}

/** What outlives the coordinator. Its changes reject with a ShardError. */
export interface Registry {
  /** null: this replica is not the coordinator. */
  readonly term: number | null;
  shards(): readonly RegisteredShard[];
  domains(): readonly RegisteredDomain[];
  register(shard: string, address: string, nowMs: number): Promise<void>;
  removeShard(shard: string): Promise<void>;
  assignDomain(topologyKey: string, topologyValue: string, shard: string): Promise<void>;
  unassignDomain(topologyKey: string, topologyValue: string): Promise<void>;
}

export interface KeptReport {
  readonly report: ShardReport;
  readonly receivedAtMs: number;
}

interface Told {
  readonly domain: RegisteredDomain;
  readonly kind: 'assign' | 'unassign';
  readonly id: string;
  isAcked: boolean;
}

export class NoCoordinatorHereError extends ShardError {
  readonly code = 'no_coordinator_here';
  readonly next = 'retry-later';

  constructor() {
    super(
      'This replica is not the coordinator. It did nothing. Call again: any replica of the fleet relays the call.',
    );
  }
}

export class Coordinator {
  readonly registry: Registry;
  readonly #clock: Clock;
  /** By shard: the last report. */
  readonly #reports = new Map<string, KeptReport>();
  /** By shard and domain: the last instruction. */
  readonly #told = new Map<string, Map<string, Told>>();
  #term: number | null = null;
  #sequence = 0;

  constructor(registry: Registry, clock: Clock) {
    this.registry = registry;
    this.#clock = clock;
  }

  /** Rejects with a ShardError: the report counts as not received. */
  async report(report: ShardReport): Promise<ReportAckInit> {
    const term = this.requireTerm();
    const { shardId, shardAddress, instructionAcks } = report;
    const nowMs = this.#clock.nowMs();
    await this.registry.register(shardId, shardAddress, nowMs);
    this.#reports.set(shardId, { report, receivedAtMs: nowMs });
    this.#acked(shardId, instructionAcks);
    return { coordinatorTerm: term, acknowledged: true, instructions: this.#instructions(shardId, term) };
  }

  /** Of one shard, or of all for ''. */
  reports(shardId: string): [string, KeptReport][] {
    this.requireTerm();
    return [...this.#reports].filter(([shard]) => shardId === '' || shard === shardId);
  }

  lastReportAtMs(shard: string): number {
    return this.#reports.get(shard)?.receivedAtMs ?? 0;
  }

  async removeShard(shard: string): Promise<void> {
    this.requireTerm();
    await this.registry.removeShard(shard);
    this.#reports.delete(shard);
    this.#told.delete(shard);
  }

  /** Throws NoCoordinatorHereError. What an earlier term of this replica has in memory counts for nothing. */
  requireTerm(): number {
    const { term } = this.registry;
    if (term !== this.#term) {
      this.#reports.clear();
      this.#told.clear();
      this.#term = term;
    }
    if (term === null) throw new NoCoordinatorHereError();
    return term;
  }

  #acked(shardId: string, acks: ShardReport['instructionAcks']): void {
    const told = this.#told.get(shardId);
    if (told === undefined) return;
    const ids = new Set(
      acks
        .filter(({ outcome }) => outcome !== Outcome.OUTCOME_REJECTED_STALE)
        .map((ack) => ack.instructionId),
    );
    for (const [name, one] of told) {
      if (!ids.has(one.id)) continue;
      one.isAcked = true;
      if (one.kind === 'unassign') told.delete(name);
    }
  }

  /** Repeated until they are acked. */
  #instructions(shardId: string, term: number): CoordinatorInstructionInit[] {
    const told = this.#told.get(shardId) ?? new Map<string, Told>();
    this.#told.set(shardId, told);
    const assigned = new Set<string>();
    for (const domain of this.registry.domains()) {
      if (domain.shard !== shardId) continue;
      const name = nameOf(domain);
      assigned.add(name);
      const last = told.get(name);
      if (last?.kind !== 'assign' || last.domain.revision !== domain.revision)
        told.set(name, { domain, kind: 'assign', id: idOf('assign', domain), isAcked: false });
    }
    for (const [name, last] of told)
      if (last.kind === 'assign' && !assigned.has(name))
        told.set(name, { ...last, kind: 'unassign', id: idOf('unassign', last.domain), isAcked: false });
    return [...told.values()]
      .filter(({ isAcked }) => !isAcked)
      .slice(0, INSTRUCTIONS_PER_REPLY_MAX)
      .map(({ domain: { topologyKey, topologyValue }, kind, id }) => ({
        coordinatorTerm: term,
        sequenceNumber: ++this.#sequence,
        instructionId: id,
        ...(kind === 'assign'
          ? { assignDomain: { topologyKey, topologyValue } }
          : { unassignDomain: { topologyKey, topologyValue } }),
      }));
  }
}

function nameOf({ topologyKey, topologyValue }: RegisteredDomain): string {
  return JSON.stringify([topologyKey, topologyValue]);
}

/** The shard carries out an id once, and repeats its answer: the same assignment has the same id, whichever replica sends it. */
function idOf(kind: Told['kind'], domain: RegisteredDomain): string {
  const name = Buffer.from(nameOf(domain));
  return `${kind}-${domain.revision}-${sha256Hex(name, 0, name.length).slice(0, 32)}`;
}
