/**
 * Evidence from all answers of a run. Some rules hold for every answer ("on every snapshot", "and nothing
 * else on this service"); the suite collects violations during the whole run and judges them at the end.
 *
 * Memory is bounded: counts per code, and a few examples per broken rule.
 */
import type { ListQuery, MethodName, MutatingMethod } from './client.ts';
import { isUnanswered } from './codes.ts';
import type { MachineListView } from './machine-list-view.ts';
import { SHAPE_RULES } from './shape-rules.ts';
import { quote, type Snapshot, shorten } from './snapshot.ts';

export interface Violations {
  count: number;
  readonly examples: string[];
}

export interface AckStyle {
  readonly method: MutatingMethod;
  readonly isTerminal: boolean;
}

const EXAMPLES_MAX = 3;
/** Enough: a provider that sends wrong tombstones does so systematically. */
const TOMBSTONES_MAX = 100;

export class Sightings {
  /** By rule id. */
  readonly violations = new Map<string, Violations>();
  readonly unexplainedRefusals: Violations = { count: 0, examples: [] };
  readonly badTombstones: Violations = { count: 0, examples: [] };
  readonly tombstoneIds = new Set<string>();
  readonly ackStyles: AckStyle[] = [];
  readonly #codeCounts = new Map<MethodName, Map<number, number>>();
  #latestFullListing: MachineListView | undefined;
  machineCount = 0;
  /** Latest calls in a row that got no answer. */
  unansweredCalls = 0;

  sawReply(method: MethodName, code: number): void {
    this.unansweredCalls = isUnanswered(code) ? this.unansweredCalls + 1 : 0;
    let counts = this.#codeCounts.get(method);
    if (counts === undefined) {
      counts = new Map();
      this.#codeCounts.set(method, counts);
    }
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }

  replyCount(method: MethodName, code: number): number {
    return this.#codeCounts.get(method)?.get(code) ?? 0;
  }

  /** For the first ack of a transition, not for acks of repeats. */
  sawAck(method: MutatingMethod, isTerminal: boolean): void {
    this.ackStyles.push({ method, isTerminal });
  }

  /** `askedId`: the machine that was asked for; undefined for a listing. */
  sawMachine(where: string, machine: Snapshot, askedId?: string): void {
    this.machineCount++;
    if (askedId !== undefined && machine.id !== askedId) {
      this.sawViolation('lifecycle/same-id', `${where} for ${quote(askedId)} shows ${quote(machine.id)}`);
    }
    for (const rule of SHAPE_RULES) {
      const text = rule.violation(machine);
      if (text !== null)
        this.sawViolation(rule.id, `${text} (machine ${shorten(quote(machine.id))}, ${where})`);
    }
  }

  sawViolation(ruleId: string, example: string): void {
    let found = this.violations.get(ruleId);
    if (found === undefined) {
      found = { count: 0, examples: [] };
      this.violations.set(ruleId, found);
    }
    add(found, example);
  }

  sawUnexplainedRefusal(example: string): void {
    add(this.unexplainedRefusals, example);
  }

  /** Throws the decoder's error if a machine is malformed. */
  sawListing(listing: MachineListView, query: ListQuery): void {
    const known = this.#latestFullListing;
    for (let row = 0; row < listing.machineCount; row++) {
      const knownRow = known === undefined ? -1 : known.rowOf(listing.ids[row]!);
      // Equal bytes were judged before. So a large fleet is judged once, and later only its changes.
      if (knownRow >= 0 && listing.hasSameBytes(row, known!, knownRow)) this.machineCount++;
      else this.sawMachine('List', listing.machine(row));
    }
    const hasCursor = (query.sinceRevision?.length ?? 0) > 0;
    const isFull = !hasCursor && (query.states ?? []).length === 0 && (query.maxResults ?? 0) === 0;
    if (isFull) this.#latestFullListing = listing;
    if (listing.deletedIds.length > 0) this.#sawTombstones(listing, hasCursor);
  }

  #sawTombstones(listing: MachineListView, hasCursor: boolean): void {
    if (!hasCursor) add(this.badTombstones, 'deleted_ids in a listing without since_revision');
    for (const id of listing.deletedIds) {
      if (id === '') add(this.badTombstones, 'an empty id in deleted_ids');
      if (listing.rowOf(id) >= 0)
        add(this.badTombstones, `${quote(id)} is both in machines and in deleted_ids`);
      if (this.tombstoneIds.size < TOMBSTONES_MAX) this.tombstoneIds.add(id);
    }
  }
}

function add(violations: Violations, example: string): void {
  violations.count++;
  if (violations.examples.length < EXAMPLES_MAX) violations.examples.push(example);
}
