/**
 * What a coordinator asks for, and what it is told came of it. Instructions come again until they are acknowledged, from
 * coordinators that may have been deposed, over connections that lose answers in both directions. So each is
 *
 *   known      executed before under this id: its outcome is told again, and nothing happens;
 *   stale      of a term lower than the highest seen: refused, and not remembered, because the leader of
 *              today may send it again under the same id and its own term;
 *   new        executed, and its outcome remembered.
 *
 * An ack is told with every report until a report that carried it was acknowledged. All state is in memory: after a
 * restart the coordinator sends again what it has no ack for.
 */
import { type CoordinatorInstruction, InstructAckOutcome as Outcome } from '../wire/protocol.generated.ts';
import { DomainRecord } from './domain-record.ts';
import {
  ACKS_PER_REPORT_MAX,
  DOMAINS_MAX,
  ID_BYTES_MAX,
  REMEMBERED_IDS_MAX,
  TOPOLOGY_BYTES_MAX,
  WAITING_ACKS_MAX,
} from './limits.ts';

export interface Ack {
  readonly instructionId: string;
  /** A number of the protocol's InstructAck.Outcome. */
  readonly outcome: number;
  /** '' when accepted. */
  readonly reason: string;
}

/** Since the start. */
export interface InstructionCounts {
  accepted: number;
  rejectedStale: number;
  rejectedInvalid: number;
  failed: number;
  /** Told again, not executed again. */
  repeated: number;
  /** Without an id that can be kept: neither executed nor acked. */
  unusable: number;
  /** Acks that were never delivered because too many waited. */
  acksDropped: number;
}

const NOT_BUILT = 'not supported by this shard: the shard did not execute it, and a retry changes nothing';

export class Instructions {
  readonly domains = new DomainRecord();
  readonly counts: InstructionCounts = {
    accepted: 0,
    rejectedStale: 0,
    rejectedInvalid: 0,
    failed: 0,
    repeated: 0,
    unusable: 0,
    acksDropped: 0,
  };
  /** By id, the oldest first. */
  readonly #executed = new Map<string, Ack>();
  readonly #waiting = new Map<string, Ack>();
  #highestTerm = 0;

  get highestTerm(): number {
    return this.#highestTerm;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  get rememberedCount(): number {
    return this.#executed.size;
  }

  /** A coordinator spoke for this term, with or without instructions. */
  seeTerm(term: number): void {
    this.#highestTerm = Math.max(this.#highestTerm, term);
  }

  /** Gives the ack that is now waiting; null for one that cannot be acked. */
  receive(instruction: CoordinatorInstruction, nowMs: number): Ack | null {
    const { instructionId, coordinatorTerm } = instruction;
    if (instructionId === '' || Buffer.byteLength(instructionId) > ID_BYTES_MAX) {
      this.counts.unusable++;
      return null;
    }
    this.seeTerm(coordinatorTerm);
    const known = this.#executed.get(instructionId);
    if (known !== undefined) {
      this.counts.repeated++;
      return this.#owe(known);
    }
    if (coordinatorTerm < this.#highestTerm) {
      this.counts.rejectedStale++;
      const reason = `term ${coordinatorTerm} is stale: the shard has seen term ${this.#highestTerm}`;
      return this.#owe({ instructionId, outcome: Outcome.OUTCOME_REJECTED_STALE, reason });
    }
    const ack = { instructionId, ...this.#execute(instruction, nowMs) };
    this.#count(ack.outcome);
    setBounded(this.#executed, instructionId, ack, REMEMBERED_IDS_MAX);
    return this.#owe(ack);
  }

  /** For the next report: those that wait longest. */
  acksToSend(): Ack[] {
    const acks: Ack[] = [];
    for (const ack of this.#waiting.values()) {
      if (acks.length >= ACKS_PER_REPORT_MAX) break;
      acks.push(ack);
    }
    return acks;
  }

  /** A report that carried these was acknowledged. */
  delivered(acks: readonly Ack[]): void {
    for (const ack of acks) {
      // A newer outcome under the same id (stale first, executed later) has not been told yet.
      if (this.#waiting.get(ack.instructionId) === ack) this.#waiting.delete(ack.instructionId);
    }
  }

  #execute(instruction: CoordinatorInstruction, nowMs: number): Omit<Ack, 'instructionId'> {
    switch (instruction.payload) {
      case 'assignDomain':
        return this.#assign(instruction.assignDomain!, instruction.coordinatorTerm, nowMs);
      case 'unassignDomain': {
        const { topologyKey, topologyValue } = instruction.unassignDomain!;
        const why = whyNoDomain(topologyKey, topologyValue);
        if (why !== '') return invalid(why);
        this.domains.unassign(topologyKey, topologyValue);
        return { outcome: Outcome.OUTCOME_ACCEPTED, reason: '' };
      }
      case 'reassignSpeculative':
        return invalid(`ReassignSpeculative is ${NOT_BUILT}`);
      case 'crossShardDrain':
        return invalid(`CrossShardDrain is ${NOT_BUILT}`);
      case 'transferOwnership':
        return invalid(`TransferOwnership is ${NOT_BUILT}`);
      default:
        return invalid(`an instruction without a known payload is ${NOT_BUILT}`);
    }
  }

  #assign(
    { topologyKey, topologyValue }: { readonly topologyKey: string; readonly topologyValue: string },
    term: number,
    nowMs: number,
  ): Omit<Ack, 'instructionId'> {
    const why = whyNoDomain(topologyKey, topologyValue);
    if (why !== '') return invalid(why);
    if (this.domains.assign({ topologyKey, topologyValue, term, sinceMs: nowMs })) {
      return { outcome: Outcome.OUTCOME_ACCEPTED, reason: '' };
    }
    const reason = `the shard records ${DOMAINS_MAX} domains, its maximum: unassign some first`;
    return { outcome: Outcome.OUTCOME_FAILED, reason };
  }

  #owe(ack: Ack): Ack {
    if (setBounded(this.#waiting, ack.instructionId, ack, WAITING_ACKS_MAX)) this.counts.acksDropped++;
    return ack;
  }

  #count(outcome: number): void {
    if (outcome === Outcome.OUTCOME_ACCEPTED) this.counts.accepted++;
    else if (outcome === Outcome.OUTCOME_FAILED) this.counts.failed++;
    else this.counts.rejectedInvalid++;
  }
}

/** Whether the oldest entry had to go. */
function setBounded(map: Map<string, Ack>, id: string, ack: Ack, sizeMax: number): boolean {
  map.set(id, ack);
  if (map.size <= sizeMax) return false;
  map.delete(map.keys().next().value!);
  return true;
}

function invalid(reason: string): Omit<Ack, 'instructionId'> {
  return { outcome: Outcome.OUTCOME_REJECTED_INVALID, reason };
}

function whyNoDomain(topologyKey: string, topologyValue: string): string {
  if (topologyKey === '' || topologyValue === '') return 'a domain needs a topology key and a value';
  const bytes = Math.max(Buffer.byteLength(topologyKey), Buffer.byteLength(topologyValue));
  return bytes > TOPOLOGY_BYTES_MAX
    ? `the topology key and value may have at most ${TOPOLOGY_BYTES_MAX} bytes each`
    : '';
}
