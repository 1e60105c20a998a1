/**
 * Instructions of the coordinator, and their acks. The coordinator repeats an instruction until the shard acknowledges it.
 * The sender may be a deposed coordinator, and connections lose messages in both directions. So each instruction is
 *
 *   known      executed before under this id: the shard repeats the outcome and does nothing else;
 *   stale      of a term below the highest seen: refused and not remembered, because the current leader may send it
 *              again under the same id and its own term;
 *   new        executed, and its outcome remembered.
 *
 * Every report carries an ack until the coordinator acknowledges a report with it. All state is in memory: after a
 * restart the coordinator repeats the instructions for which it has no ack.
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
  /** '' when carried out. */
  readonly reason: string;
}

/** Since the start. */
export interface InstructionCounts {
  accepted: number;
  rejectedStale: number;
  rejectedInvalid: number;
  failed: number;
  /** Known instructions: acked again, not executed again. */
  repeated: number;
  /** Without a usable id: neither executed nor acked. */
  unusable: number;
  /** Acks that were dropped because too many waited. */
  acksDropped: number;
}

const UNKNOWN =
  'an instruction without a known payload: the shard did not execute it, and a retry changes nothing';

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
  /** By id, oldest first. */
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

  /** A coordinator answered with this term, with or without instructions. */
  seeTerm(term: number): void {
    this.#highestTerm = Math.max(this.#highestTerm, term);
  }

  /** Returns the ack that now waits; null if the instruction cannot be acked. */
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

  /** For the next report: those that have waited longest. */
  acksToSend(): Ack[] {
    const acks: Ack[] = [];
    for (const ack of this.#waiting.values()) {
      if (acks.length >= ACKS_PER_REPORT_MAX) break;
      acks.push(ack);
    }
    return acks;
  }

  /** The coordinator acknowledged a report with these acks. */
  delivered(acks: readonly Ack[]): void {
    for (const ack of acks) {
      // A newer outcome under the same id (first stale, later executed) has not been reported yet.
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
        return notCarriedOut('ReassignSpeculative');
      case 'crossShardDrain':
        return notCarriedOut('CrossShardDrain');
      case 'transferOwnership':
        return notCarriedOut('TransferOwnership');
      default:
        return invalid(UNKNOWN);
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

/** Returns whether the oldest entry was removed. */
function setBounded(map: Map<string, Ack>, id: string, ack: Ack, sizeMax: number): boolean {
  map.set(id, ack);
  if (map.size <= sizeMax) return false;
  map.delete(map.keys().next().value!);
  return true;
}

/** As shards of the reference do: the coordinator repeats an instruction that is not accepted. */
function notCarriedOut(what: string): Omit<Ack, 'instructionId'> {
  const reason = `${what} is acknowledged; this shard does not carry it out and changes nothing`;
  return { outcome: Outcome.OUTCOME_ACCEPTED, reason };
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
