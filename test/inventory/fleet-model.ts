/**
 * A naive model of the inventory: a Map of plain objects, every index a filter, every order a sort. Tests compare the real
 * inventory with it after every step.
 */
import type { MachineChange } from '../../src/inventory/inventory.ts';
import type { Assignment, Machine } from '../../src/machine/machine.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { MachineState as S } from '../../src/machine/state.ts';

export interface ModelMachine extends Machine {
  readonly provider: number;
  readonly intent: number;
  readonly flags: number;
  readonly sinceMs: number;
}

/** Legal next states by state, written apart from the table under test. */
export const LEGAL: readonly (readonly Machine['state'][])[] = [
  [],
  [S.Creating],
  [S.Idle, S.Failed],
  [S.Configuring, S.Deleting],
  [S.Configured, S.Failed, S.Idle],
  [S.Draining],
  [S.Idle, S.Failed],
  [S.Speculative, S.Failed],
  [],
];
const NEEDS_HOST = [S.Idle, S.Configuring, S.Configured, S.Draining, S.Deleting] as readonly number[];
const NO_HOST = [S.Speculative, S.Creating] as readonly number[];
const NEEDS_CLUSTER = [S.Configured, S.Draining] as readonly number[];
const NO_CLUSTER = [S.Speculative, S.Creating, S.Idle, S.Deleting] as readonly number[];
const STUCK_OR_FOUND = 1 | 4;
const STATE_OF_INTENT = [0, S.Idle, S.Speculative, S.Configured, S.Configured, S.Idle];

/** 'ok', 'same' (no change), or the code of the error. */
export type Outcome = string;

export class FleetModel {
  readonly machines = new Map<string, ModelMachine>();
  readonly machinesMax: number;

  constructor(machinesMax: number) {
    this.machinesMax = machinesMax;
  }

  insert(machine: Machine, provider: number, nowMs: number): Outcome {
    const invalid = findInvalid(machine, machine.state === S.Creating);
    if (invalid) return 'invalid_machine';
    if (this.machines.has(machine.id)) return 'duplicate_id';
    if (this.machines.size === this.machinesMax) return 'inventory_full';
    this.machines.set(machine.id, { ...normal(machine), provider, intent: 0, flags: 0, sinceMs: nowMs });
    return 'ok';
  }

  apply(id: string, change: MachineChange, nowMs: number, force: boolean): Outcome {
    const before = this.machines.get(id)!;
    const from = before.state;
    const to = change.state ?? from;
    if (to !== from && to >= 1 && to <= 8 && !force && !LEGAL[from]!.includes(to))
      return 'illegal_transition';
    const { host, cluster, assignment, lastError, ...facts } = change;
    const saysCluster = cluster !== undefined && !(isAssignmentOnly(to) && cluster === '');
    const nextCluster = saysCluster ? cluster : endsBinding(from, to) ? '' : before.cluster;
    const isNoNews = cluster === '' && isAssignmentOnly(to) && isNone(assignment ?? null);
    const keepsAssignment = nextCluster !== '' && nextCluster === before.cluster;
    const next: ModelMachine = {
      ...before,
      ...facts,
      state: to,
      host: host !== undefined ? host : to === S.Speculative ? null : before.host,
      cluster: nextCluster,
      assignment:
        assignment !== undefined && !isNoNews ? assignment : keepsAssignment ? before.assignment : null,
      lastError: lastError ?? (from === S.Failed && to !== from ? '' : before.lastError),
      sinceMs: to === from ? before.sinceMs : nowMs,
      flags: to === from ? before.flags : before.flags & ~STUCK_OR_FOUND,
    };
    const isAssignment =
      (before.intent === 1 || before.intent === 2) && !(cluster !== undefined && cluster !== '');
    if (findInvalid(next, to === S.Creating || (to === from && isAssignment))) return 'invalid_machine';
    const after = { ...next, ...normal(next) };
    if (JSON.stringify(sorted(after)) === JSON.stringify(sorted(before))) return 'same';
    this.machines.set(id, after);
    return 'ok';
  }

  remove(id: string): void {
    this.machines.delete(id);
  }

  setIntent(id: string, intent: number, cluster: string, assignment: Assignment | null): Outcome {
    const before = this.machines.get(id)!;
    const binds = intent === 1 || intent === 2;
    if (intent === 0 || before.intent !== 0 || STATE_OF_INTENT[intent] !== before.state)
      return 'intent_refused';
    if (binds !== (cluster !== '')) return 'intent_refused';
    const binding = binds ? { cluster, assignment } : {};
    const after = { ...before, intent, ...binding };
    this.machines.set(id, { ...after, ...normal(after) });
    return 'ok';
  }

  clearIntent(id: string): void {
    const before = this.machines.get(id)!;
    if (before.intent === 0) return;
    const unbound =
      before.state === S.Idle || before.state === S.Speculative ? { cluster: '', assignment: null } : {};
    this.machines.set(id, { ...before, intent: 0, ...unbound });
  }

  setFlag(id: string, flag: number, on: boolean): void {
    const before = this.machines.get(id)!;
    this.machines.set(id, { ...before, flags: on ? before.flags | flag : before.flags & ~flag });
  }

  ids(isWanted: (machine: ModelMachine) => boolean = () => true): string[] {
    return [...this.machines.values()].filter(isWanted).map((machine) => machine.id);
  }

  idsInOrder(isWanted: (machine: ModelMachine) => boolean, compare: Compare): string[] {
    return [...this.machines.values()]
      .filter(isWanted)
      .sort(compare)
      .map((machine) => machine.id);
  }
}

type Compare = (a: ModelMachine, b: ModelMachine) => number;

export const byId: Compare = (a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
export const acquireOrder: Compare = (a, b) => a.pricePerHourUsd - b.pricePerHourUsd || byId(a, b);
export const keepOrder: Compare = (a, b) => {
  if (a.pricePerHourUsd !== b.pricePerHourUsd) return a.pricePerHourUsd - b.pricePerHourUsd;
  const dollarsA = BUCKET_DOLLARS[a.assignment?.reclamationPenalty ?? 0]!;
  const dollarsB = BUCKET_DOLLARS[b.assignment?.reclamationPenalty ?? 0]!;
  return dollarsA === dollarsB ? byId(a, b) : dollarsA > dollarsB ? -1 : 1;
};

/** As the inventory returns it: without zero amounts, and with null for an assignment without any value. */
function normal(machine: Machine): Machine {
  const { assignment, capacity } = machine;
  return {
    ...machine,
    capacity: Object.fromEntries(Object.entries(capacity).filter(([, units]) => units > 0)),
    assignment: isNone(assignment) ? null : assignment,
  };
}

function isNone(assignment: Assignment | null): boolean {
  if (assignment === null) return true;
  const { fingerprint, group, priority, interruptionPenalty, reclamationPenalty } = assignment;
  return (
    fingerprint === '' && group === '' && priority === 0 && interruptionPenalty + reclamationPenalty === 0
  );
}

function sorted(value: object): unknown {
  return Object.entries(value)
    .map(([key, part]) => [key, part !== null && typeof part === 'object' ? sorted(part) : part])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function isAssignmentOnly(state: number): boolean {
  return state === S.Creating || state === S.Idle || state === S.Speculative;
}

function endsBinding(from: number, to: number): boolean {
  if (to === S.Idle || to === S.Speculative) return from !== to;
  if (to === S.Creating) return from !== S.Creating && from !== S.Speculative;
  return to === S.Deleting;
}

function findInvalid(machine: Machine, isAssignment: boolean): boolean {
  const { state, host, assignment, cluster } = machine;
  return (
    machine.id === '' ||
    !(Number.isInteger(state) && state >= 1 && state <= 8) ||
    !(machine.pricePerHourUsd >= 0 && Number.isFinite(machine.pricePerHourUsd)) ||
    !(machine.interruptionProbability >= 0 && machine.interruptionProbability <= 1) ||
    (NEEDS_HOST.includes(state) && host === null) ||
    (NO_HOST.includes(state) && host !== null) ||
    (NEEDS_CLUSTER.includes(state) && cluster === '') ||
    (NO_CLUSTER.includes(state) && cluster !== '' && !isAssignment) ||
    (state === S.Failed && machine.lastError === '') ||
    (cluster === '' && normal(machine).assignment !== null) ||
    (assignment !== null && !Number.isInteger(assignment.priority))
  );
}
