/**
 * The records of a state file. A later record replaces an earlier one of the same machine, mark or reference.
 * Kinds and metadata are written once and referred to by number, as in memory: half a million machines share
 * a few thousand of them.
 */
import type { MachineKind, StringMap } from './kinds.ts';

export const STATE_FORMAT = 1;

export type StateRecord =
  /** First in every file. `made`: the flags that the fleet was made with, as text. */
  | readonly ['file', format: number, made: string, incarnation: number]
  | readonly ['kind', ref: number, kind: MachineKind]
  | readonly ['metadata', ref: number, metadata: StringMap]
  | readonly ['machine', machine: StoredMachine]
  | readonly ['removed', id: string, revision: number]
  /** Removals up to this revision may be missing. */
  | readonly ['forgotten', revision: number]
  /** The numbers of a token are text, because JSON has no 64-bit integers. */
  | readonly ['mark', shardId: string, machineId: string, epoch: string, sequence: string]
  /** The end of a change. */
  | readonly ['at', revision: number, operationCount: number];

export interface StoredMachine {
  readonly id: string;
  readonly kind: number;
  readonly state: number;
  readonly price: number;
  readonly interruption: number;
  readonly hosted: number;
  readonly incarnation: number;
  readonly operation: number;
  readonly operationNumber: number;
  readonly ending: number;
  /** Null: never. */
  readonly dueMs: number | null;
  readonly changedAt: number;
  /** Left out: not bound. */
  readonly cluster?: string;
  readonly metadata?: number;
  readonly lastError?: string;
}

/** A machine with what its references stand for. */
export interface RestoredMachine extends Omit<StoredMachine, 'kind' | 'metadata'> {
  readonly kind: MachineKind;
  readonly shardMetadata: StringMap;
}

export interface StoredMark {
  readonly shardId: string;
  readonly machineId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

/** Everything that a file holds, once all its records are read. */
export class StoredState {
  made = '';
  incarnation = 0;
  revision = 0;
  operationCount = 0;
  forgottenUpTo = 0;
  readonly machines = new Map<string, RestoredMachine>();
  readonly removals: { readonly id: string; readonly revision: number }[] = [];
  readonly marks = new Map<string, StoredMark>();
  readonly #kinds: MachineKind[] = [];
  readonly #metadata: StringMap[] = [];
  #hasHeader = false;

  /** Throws if the record cannot follow the ones before it. */
  take(record: StateRecord): void {
    if (record[0] !== 'file' && !this.#hasHeader) throw new Error('it does not begin as a state file');
    switch (record[0]) {
      case 'file':
        if (record[1] !== STATE_FORMAT) throw new Error(`its format is ${record[1]}, not ${STATE_FORMAT}`);
        this.#hasHeader = true;
        this.made = record[2];
        this.incarnation = record[3];
        return;
      case 'kind':
        this.#kinds[record[1]] = record[2];
        return;
      case 'metadata':
        this.#metadata[record[1]] = Object.freeze(record[2]);
        return;
      case 'machine':
        this.machines.set(record[1].id, this.#resolved(record[1]));
        return;
      case 'removed':
        this.machines.delete(record[1]);
        this.removals.push({ id: record[1], revision: record[2] });
        return;
      case 'forgotten':
        this.forgottenUpTo = record[1];
        return;
      case 'mark': {
        const [, shardId, machineId, epoch, sequence] = record;
        const mark = { shardId, machineId, epoch: BigInt(epoch), sequence: BigInt(sequence) };
        this.marks.set(JSON.stringify([shardId, machineId]), mark);
        return;
      }
      case 'at':
        this.revision = record[1];
        this.operationCount = record[2];
        return;
      default:
        throw new Error(`it has an unknown record ${JSON.stringify(record[0])}`);
    }
  }

  #resolved(machine: StoredMachine): RestoredMachine {
    const kind = this.#kinds[machine.kind];
    const shardMetadata = machine.metadata === undefined ? NO_METADATA : this.#metadata[machine.metadata];
    if (kind === undefined || shardMetadata === undefined) {
      throw new Error(`machine ${JSON.stringify(machine.id)} refers to a record that is missing`);
    }
    return { ...machine, kind, shardMetadata };
  }
}

const NO_METADATA: StringMap = Object.freeze({});
