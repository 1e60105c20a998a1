/**
 * The fence keeps a mark per (shard, machine): the newest token accepted. A shard process that was replaced
 * may still have calls in flight; the fence refuses every call with an older token.
 *
 * A token that passes advances the mark even if its call then fails. So machines that do not exist get
 * marks, too. Clients can invent ids without limit, so the number of these marks is limited, and the fence
 * forgets the oldest first.
 */

/** bigint: both are int64 on the wire, and the fence compares all 64 bits. */
export interface Token {
  readonly shardId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

interface Mark {
  epoch: bigint;
  sequence: bigint;
}

/** 100,000 × about 150 bytes = 15 MB for ids that no machine has. */
const UNKNOWN_ID_MARKS_MAX = 100_000;

export class Fence {
  readonly #marksByShard = new Map<string, Map<string, Mark>>();
  /** By shard and machine id as one text; insertion order is age. */
  readonly #unknownIdMarks = new Map<string, Mark>();

  /** Returns whether the token passes; then it is the new mark. `exists`: whether the machine exists. */
  admit(token: Token, machineId: string, exists: boolean): boolean {
    // A call without a token comes from a person with a tool, not from a shard.
    if (token.shardId === '' && token.epoch === 0n && token.sequence === 0n) return true;
    const mark = this.#find(token.shardId, machineId);
    if (mark === undefined) {
      this.#remember(token, machineId, exists);
      return true;
    }
    const isNewer =
      token.epoch > mark.epoch || (token.epoch === mark.epoch && token.sequence > mark.sequence);
    if (!isNewer) return false;
    mark.epoch = token.epoch;
    mark.sequence = token.sequence;
    return true;
  }

  /** The newest token accepted, for the text of a refusal. */
  markOf(shardId: string, machineId: string): { epoch: bigint; sequence: bigint } | undefined {
    const mark = this.#find(shardId, machineId);
    return mark === undefined ? undefined : { ...mark };
  }

  /** All marks, those of unknown ids in order of age. */
  *marks(): Generator<Token & { readonly machineId: string }> {
    for (const [shardId, marks] of this.#marksByShard) {
      for (const [machineId, mark] of marks) yield { shardId, machineId, ...mark };
    }
    for (const [key, mark] of this.#unknownIdMarks) {
      const start = key.indexOf(':') + 1;
      const end = start + Number(key.slice(0, start - 1));
      yield { shardId: key.slice(start, end), machineId: key.slice(end), ...mark };
    }
  }

  #find(shardId: string, machineId: string): Mark | undefined {
    return (
      this.#marksByShard.get(shardId)?.get(machineId) ??
      this.#unknownIdMarks.get(unknownIdKey(shardId, machineId))
    );
  }

  #remember(token: Token, machineId: string, exists: boolean): void {
    const mark = { epoch: token.epoch, sequence: token.sequence };
    if (!exists) {
      this.#unknownIdMarks.set(unknownIdKey(token.shardId, machineId), mark);
      if (this.#unknownIdMarks.size > UNKNOWN_ID_MARKS_MAX) {
        for (const oldest of this.#unknownIdMarks.keys()) {
          this.#unknownIdMarks.delete(oldest);
          break;
        }
      }
      return;
    }
    let marks = this.#marksByShard.get(token.shardId);
    if (marks === undefined) {
      marks = new Map();
      this.#marksByShard.set(token.shardId, marks);
    }
    marks.set(machineId, mark);
  }
}

/** The length keeps ('a', 'bc') and ('ab', 'c') apart. */
function unknownIdKey(shardId: string, machineId: string): string {
  return `${shardId.length}:${shardId}${machineId}`;
}
