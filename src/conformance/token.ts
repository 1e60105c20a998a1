/**
 * Fencing tokens, and a model of the fence that the contract describes. With the model the suite knows
 * whether a call must be refused, and notices a FAILED_PRECONDITION that no stale token explains. Both
 * numbers are int64 on the wire and a provider must compare all 64 bits, hence bigint.
 */
export interface Token {
  readonly shardId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

/** Bypasses the fence. */
export const ABSENT_TOKEN: Token = { shardId: '', epoch: 0n, sequence: 0n };

export function isAbsent(token: Token): boolean {
  return token.shardId === '' && token.epoch === 0n && token.sequence === 0n;
}

export function isNewer(token: Token, mark: Token): boolean {
  return token.epoch > mark.epoch || (token.epoch === mark.epoch && token.sequence > mark.sequence);
}

export function describeToken(token: Token): string {
  return isAbsent(token) ? 'no token' : `token (epoch ${token.epoch}, sequence ${token.sequence})`;
}

/** A shard as a provider sees it: an id and tokens. */
export class FencedShard {
  readonly shardId: string;

  constructor(shardId: string) {
    this.shardId = shardId;
  }

  token(epoch: number | bigint, sequence: number | bigint): Token {
    return { shardId: this.shardId, epoch: BigInt(epoch), sequence: BigInt(sequence) };
  }
}

/** The marks of a conforming provider: the highest token per (shard, machine). */
export class FenceModel {
  /** shard id → machine id → mark. Bounded by the calls of one run. */
  readonly #marks = new Map<string, Map<string, Token>>();

  /** Returns whether the call passes. A token that passes advances the mark even if the call then fails. */
  admit(machineId: string, token: Token): boolean {
    if (isAbsent(token)) return true;
    let marks = this.#marks.get(token.shardId);
    if (marks === undefined) {
      marks = new Map();
      this.#marks.set(token.shardId, marks);
    }
    const mark = marks.get(machineId);
    if (mark !== undefined && !isNewer(token, mark)) return false;
    marks.set(machineId, token);
    return true;
  }
}
