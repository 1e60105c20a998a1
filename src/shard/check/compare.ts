/**
 * Compares the results of two engines for one cycle over the same tables: actions, claims and verdicts, by refs. Any
 * difference is a defect of the incremental engine; the first few are described.
 */
import { ACTION_NAMES, type ActionKind } from '../../decision/actions.ts';
import type { ActionColumns, EngineResult } from '../../decision/verdicts/result.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import type { CheckExample, CheckResult } from '../ports/check.ts';
import { type VerdictFacts, VerdictReader } from './verdict-reader.ts';

/** Of each kind. */
const EXAMPLES_MAX = 3;

const ACTION_FIELDS = [
  'kind',
  'slot',
  'cluster',
  'forCluster',
  'fingerprint',
  'group',
  'priority',
  'interruptionPenalty',
  'reclamationPenalty',
  'graceSeconds',
  'victim',
] as const;

export class ResultComparison {
  readonly #live: EngineResult;
  readonly #scratch: EngineResult;
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #examples: CheckExample[] = [];

  constructor(live: EngineResult, scratch: EngineResult, inventory: Inventory, needs: NeedTable) {
    this.#live = live;
    this.#scratch = scratch;
    this.#inventory = inventory;
    this.#needs = needs;
  }

  compare(): CheckResult {
    const actions = this.#compareActions();
    const claims = this.#compareClaims();
    const verdicts = this.#compareVerdicts();
    return { actions, claims, verdicts, examples: this.#examples };
  }

  #compareActions(): number {
    const live = this.#live.actions;
    const scratch = this.#scratch.actions;
    const longest = Math.max(live.kind.length, scratch.kind.length);
    let count = 0;
    for (let index = 0; index < longest; index++) {
      if (ACTION_FIELDS.every((field) => live[field][index] === scratch[field][index])) continue;
      if (count++ >= EXAMPLES_MAX) continue;
      const text = `action ${index}: ${this.#actionText(live, index)}, from scratch ${this.#actionText(scratch, index)}`;
      this.#examples.push({ slot: live.slot[index] ?? scratch.slot[index]!, text });
    }
    return count;
  }

  #compareClaims(): number {
    const live = new ClaimReader(this.#live);
    const scratch = new ClaimReader(this.#scratch);
    const { state, slotLimit } = this.#inventory.columns;
    let count = 0;
    for (let slot = 1; slot < slotLimit; slot++) {
      if (state[slot] === 0) continue;
      const a = live.assignmentOf(slot);
      const b = scratch.assignmentOf(slot);
      if (a === 0 && b === 0) continue;
      if (a !== 0 && b !== 0 && isSameName(this.#live, a, this.#scratch, b)) continue;
      if (count++ >= EXAMPLES_MAX) continue;
      const text = `claimed by ${this.#nameText(this.#live, a)}, from scratch by ${this.#nameText(this.#scratch, b)}`;
      this.#examples.push({ slot, text });
    }
    return count;
  }

  #compareVerdicts(): number {
    const { vectors } = this.#inventory.shapes;
    const live = new VerdictReader(this.#live, vectors);
    const scratch = new VerdictReader(this.#scratch, vectors);
    let count = 0;
    for (const cluster of this.#needs.clusterRefs()) {
      const liveRows = live.rowCount(cluster);
      const rows = scratch.rowCount(cluster);
      count += Math.abs(liveRows - rows);
      for (let row = 0; row < Math.min(liveRows, rows); row++) {
        const { sameKeys } = this.#profileOf(cluster, row);
        const a = live.read(cluster, row, sameKeys);
        const b = scratch.read(cluster, row, sameKeys);
        const field = differingField(a, b);
        if (field === null) continue;
        if (count++ >= EXAMPLES_MAX) continue;
        const text = `${this.#rowText(cluster, row)}: ${field} ${a[field]}, from scratch ${b[field]}`;
        this.#examples.push({ slot: 0, text });
      }
    }
    return count;
  }

  #actionText(actions: ActionColumns, index: number): string {
    const kind = actions.kind[index];
    if (kind === undefined) return 'none';
    const { clusters, groups } = this.#inventory.tables;
    const who = `${clusters.get(actions.forCluster[index]!)}/${groups.get(actions.group[index]!)}`;
    return `${ACTION_NAMES[kind as ActionKind]} of slot ${actions.slot[index]} for ${who}`;
  }

  #nameText({ assignments }: EngineResult, assignment: number): string {
    if (assignment === 0) return 'no need';
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const cluster = clusters.get(assignments.cluster[assignment]!);
    return `${cluster}/${groups.get(assignments.group[assignment]!)} (${fingerprints.get(assignments.fingerprint[assignment]!)})`;
  }

  #rowText(cluster: number, row: number): string {
    const { clusters, groups } = this.#inventory.tables;
    const group = groups.get(this.#needs.group[this.#needs.sliceStart(cluster) + row]!);
    return `need ${clusters.get(cluster)}/${group} (${this.#profileOf(cluster, row).fingerprint})`;
  }

  #profileOf(cluster: number, row: number) {
    return this.#needs.profiles.get(this.#needs.profile[this.#needs.sliceStart(cluster) + row]!);
  }
}

/** The need that claims a machine, as an assignment; 0 = none. */
class ClaimReader {
  readonly #result: EngineResult;
  /** By cluster ref. */
  readonly #needStart: Uint32Array;

  constructor(result: EngineResult) {
    this.#result = result;
    const { ref, needStart } = result.clusters;
    this.#needStart = new Uint32Array(ref.reduce((highest, one) => Math.max(highest, one), 0) + 1);
    for (let index = 0; index < ref.length; index++) this.#needStart[ref[index]!] = needStart[index]!;
  }

  assignmentOf(slot: number): number {
    const { claims, needs } = this.#result;
    const takenBy = claims.takenBy[slot]!;
    if (takenBy !== 0) return needs.assignment[takenBy - 1]!;
    const claim = claims.claim[slot]!;
    return claim === 0 ? 0 : needs.assignment[this.#needStart[claims.cluster[slot]!]! + claim - 1]!;
  }
}

function isSameName(a: EngineResult, assignmentA: number, b: EngineResult, assignmentB: number): boolean {
  return (
    a.assignments.cluster[assignmentA] === b.assignments.cluster[assignmentB] &&
    a.assignments.fingerprint[assignmentA] === b.assignments.fingerprint[assignmentB] &&
    a.assignments.group[assignmentA] === b.assignments.group[assignmentB]
  );
}

function differingField(a: VerdictFacts, b: VerdictFacts): keyof VerdictFacts | null {
  for (const field of Object.keys(a) as (keyof VerdictFacts)[]) {
    if (field === 'deficit' ? !isSameList(a.deficit, b.deficit) : a[field] !== b[field]) return field;
  }
  return null;
}

function isSameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
