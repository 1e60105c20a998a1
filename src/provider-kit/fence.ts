/**
 * The fence keeps a mark per shard and machine: the newest (epoch, sequence) accepted. A shard process that was replaced may
 * still have calls on the network, and the fence refuses each of them.
 *
 * A token that passes becomes the mark even if its call then fails, so machines that do not exist get marks too. Callers
 * choose ids, so the number of marks is limited; the fence forgets the one that has been unused for longest.
 */
import type { StringMap } from './cloud.ts';

/** bigint: both are int64 on the wire, and all 64 bits count. */
export interface Token {
  readonly shardId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

/** A machine is called by one shard, or by two while it moves; the conformance suite adds a dozen in each run. */
const SHARDS_PER_MACHINE_MAX = 256;
/** Ids without a machine: 10,000 × about 200 bytes = 2 MB. */
const UNKNOWN_IDS_MAX = 10_000;

type Marks = Map<string, { readonly epoch: bigint; readonly sequence: bigint }>;

export class Fence {
  /** In order of use, the oldest first. */
  readonly #byMachine = new Map<string, Marks>();
  readonly #unknownIds = new Set<string>();
  readonly #exists: (machineId: string) => boolean;

  constructor(exists: (machineId: string) => boolean) {
    this.#exists = exists;
  }

  /** Null if the token passes: then it is the new mark. Otherwise the reason for the refusal. */
  whyStale(token: Token, machineId: string): string | null {
    if (isAbsent(token)) return null;
    const mark = this.#byMachine.get(machineId)?.get(token.shardId);
    const isNewer =
      mark === undefined ||
      token.epoch > mark.epoch ||
      (token.epoch === mark.epoch && token.sequence > mark.sequence);
    if (isNewer) {
      this.#remember(token, machineId);
      return null;
    }
    return (
      `token (epoch ${token.epoch}, sequence ${token.sequence}) is not newer than ` +
      `(${mark.epoch}, ${mark.sequence}), the newest of this shard for this machine`
    );
  }

  /** The marks of a machine, by shard, as they are stored. */
  marksOf(machineId: string): StringMap {
    const marks = [...(this.#byMachine.get(machineId) ?? [])];
    return Object.fromEntries(marks.map(([shard, { epoch, sequence }]) => [shard, `${epoch}.${sequence}`]));
  }

  get machineIds(): Iterable<string> {
    return this.#byMachine.keys();
  }

  /** Replaces the marks of a machine with stored ones. Throws if they are none. */
  restore(machineId: string, stored: StringMap): void {
    for (const [shardId, text] of Object.entries(stored)) {
      const [epoch, sequence] = text.split('.').map(BigInt);
      this.#remember({ shardId, epoch: epoch!, sequence: sequence! }, machineId);
    }
  }

  #remember({ shardId, epoch, sequence }: Token, machineId: string): void {
    let marks = this.#byMachine.get(machineId);
    if (marks === undefined) {
      marks = new Map();
      this.#byMachine.set(machineId, marks);
    }
    marks.delete(shardId); // to the end of the order
    marks.set(shardId, { epoch, sequence });
    if (marks.size > SHARDS_PER_MACHINE_MAX) marks.delete(firstOf(marks.keys())!);
    this.#unknownIds.delete(machineId);
    if (this.#exists(machineId)) return;
    this.#unknownIds.add(machineId);
    if (this.#unknownIds.size > UNKNOWN_IDS_MAX) this.#forget(firstOf(this.#unknownIds)!);
  }

  #forget(machineId: string): void {
    this.#unknownIds.delete(machineId);
    if (!this.#exists(machineId)) this.#byMachine.delete(machineId);
  }
}

/** A call without a token comes from a person with a tool, not from a shard. */
export function isAbsent({ shardId, epoch, sequence }: Token): boolean {
  return shardId === '' && epoch === 0n && sequence === 0n;
}

function firstOf<Value>(values: Iterable<Value>): Value | undefined {
  for (const value of values) return value;
  return undefined;
}
