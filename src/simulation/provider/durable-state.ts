/**
 * Keeps a provider's state in a file, so that a killed process loses nothing that an answer has shown:
 * machines, bindings, operations in progress and when they end, fence marks, removals and revisions. The
 * provider saves before every answer. What changed is read from the fleet's order of changes, so that
 * machines, random events and the agenda know nothing of files, and a provider without a file pays nothing.
 */
import type { Fence, Token } from './fence.ts';
import type { StringMap } from './kinds.ts';
import { type StateFile, StateFileError } from './state-file.ts';
import { STATE_FORMAT, type StateRecord, type StoredMachine, StoredState } from './state-records.ts';
import type { World } from './world.ts';

/** Changes of this size never cause a new snapshot, however small the fleet. */
const CHANGES_BYTES_MIN = 4 * 1024 * 1024;

export interface Keeping {
  readonly file: StateFile;
  /** The flags that the fleet was made with. */
  readonly made: string;
  /** Called once, when a change could not be stored. The provider answers no call from then on. */
  readonly onFailure: (error: unknown) => void;
}

export class DurableState {
  readonly #file: StateFile;
  readonly #world: World;
  readonly #fence: Fence;
  readonly #made: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #incarnation: number;
  /** By the number in the file. A snapshot gives them new numbers. */
  #metadataRefs = new WeakMap<StringMap, number>();
  #metadataCount = 0;
  #kindCount = 0;
  #savedRevision = 0;
  #snapshotBytes = 0;
  /** Tokens that passed the fence since the last save. */
  readonly #marks: StateRecord[] = [];
  #failure: unknown = null;

  /** Writes a snapshot. */
  constructor(world: World, fence: Fence, incarnation: number, keeping: Keeping) {
    this.#file = keeping.file;
    this.#world = world;
    this.#fence = fence;
    this.#made = keeping.made;
    this.#onFailure = keeping.onFailure;
    this.#incarnation = incarnation;
    this.#writeSnapshot();
  }

  noteMark({ shardId, epoch, sequence }: Token, machineId: string): void {
    this.#marks.push(['mark', shardId, machineId, String(epoch), String(sequence)]);
  }

  /** Stores everything that has changed; to be called before an answer. Throws if it cannot. */
  save(): void {
    if (this.#failure !== null) throw this.#failure;
    const { fleet } = this.#world;
    if (fleet.revision === this.#savedRevision && this.#marks.length === 0) return;
    try {
      this.#appendChanges();
      const changesBytes = this.#file.byteLength - this.#snapshotBytes;
      if (changesBytes > Math.max(CHANGES_BYTES_MIN, this.#snapshotBytes)) this.#writeSnapshot();
    } catch (error) {
      this.#failure = error;
      this.#onFailure(error);
      throw error;
    }
  }

  #appendChanges(): void {
    const { fleet, removals } = this.#world;
    const records: StateRecord[] = [...this.#marks, ...this.#newKinds()];
    for (const { id, revision } of removals.after(this.#savedRevision)) {
      records.push(['removed', id, revision]);
    }
    for (const row of fleet.rowsChangedAfter(this.#savedRevision)) records.push(...this.#machine(row));
    records.push(['at', fleet.revision, this.#world.operationCount]);
    this.#file.append(records);
    this.#marks.length = 0;
    this.#savedRevision = fleet.revision;
  }

  close(): void {
    if (this.#failure === null) this.save();
    this.#file.close();
  }

  #writeSnapshot(): void {
    this.#metadataRefs = new WeakMap();
    this.#metadataCount = 0;
    this.#kindCount = 0;
    this.#file.replace(this.#everything());
    this.#marks.length = 0;
    this.#savedRevision = this.#world.fleet.revision;
    this.#snapshotBytes = this.#file.byteLength;
  }

  *#everything(): Generator<StateRecord> {
    const { fleet, removals } = this.#world;
    yield ['file', STATE_FORMAT, this.#made, this.#incarnation];
    yield* this.#newKinds();
    yield ['forgotten', removals.forgottenUpTo];
    for (const { id, revision } of removals.after(0)) yield ['removed', id, revision];
    for (const row of fleet.rowsInPlace()) yield* this.#machine(row);
    for (const { shardId, machineId, epoch, sequence } of this.#fence.marks()) {
      yield ['mark', shardId, machineId, String(epoch), String(sequence)];
    }
    yield ['at', fleet.revision, this.#world.operationCount];
  }

  *#newKinds(): Generator<StateRecord> {
    const { kinds } = this.#world.kinds;
    for (; this.#kindCount < kinds.length; this.#kindCount++) {
      yield ['kind', this.#kindCount, kinds[this.#kindCount]!];
    }
  }

  *#machine(row: number): Generator<StateRecord> {
    const { fleet } = this.#world;
    const binding = fleet.bindings[row] ?? null;
    let metadata = binding === null ? undefined : this.#metadataRefs.get(binding.shardMetadata);
    if (binding !== null && metadata === undefined) {
      metadata = this.#metadataCount++;
      this.#metadataRefs.set(binding.shardMetadata, metadata);
      yield ['metadata', metadata, binding.shardMetadata];
    }
    const dueMs = fleet.dueMs[row]!;
    const lastError = fleet.lastErrors.get(row);
    const machine: StoredMachine = {
      id: fleet.ids[row]!,
      kind: fleet.kind[row]!,
      state: fleet.state[row]!,
      price: fleet.pricePerHourUsd[row]!,
      interruption: fleet.interruptionProbability[row]!,
      hosted: fleet.hosted[row]!,
      incarnation: fleet.incarnation[row]!,
      operation: fleet.operation[row]!,
      operationNumber: fleet.operationNumber[row]!,
      ending: fleet.ending[row]!,
      dueMs: Number.isFinite(dueMs) ? dueMs : null,
      changedAt: fleet.changedAt[row]!,
      ...(binding === null || metadata === undefined ? {} : { cluster: binding.cluster, metadata }),
      ...(lastError === undefined ? {} : { lastError }),
    };
    yield ['machine', machine];
  }
}

/** The state in the file, or null if there is no file yet. Throws if the file holds a fleet of other flags. */
export function readState(file: StateFile, made: string): StoredState | null {
  const stored = new StoredState();
  if (!file.read((record) => stored.take(record as StateRecord))) return null;
  if (stored.made === made) return stored;
  throw new StateFileError(
    `State file ${file.path} holds a fleet that was made with ${stored.made || 'no flags'}, not with ${made}. The provider did not start. ` +
      'Start it with the same flags, or give it another --state file.',
  );
}
