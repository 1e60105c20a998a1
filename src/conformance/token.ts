/**
 * Fencing tokens, and the fence as the contract describes it. The suite predicts with this model whether
 * a call must be refused, so that it notices a FAILED_PRECONDITION which no stale token explains.
 * bigint: both numbers are int64 on the wire, and a provider has to compare all 64 bits.
 */
export interface Token {
  readonly shardId: string;
  readonly epoch: bigint;
  readonly sequence: bigint;
}

/** Bypasses every fence. */
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

/** One shard as providers see it: an id, and the tokens that it sends. */
export class FencedShard {
  readonly shardId: string;

  constructor(shardId: string) {
    this.shardId = shardId;
  }

  token(epoch: number | bigint, sequence: number | bigint): Token {
    return { shardId: this.shardId, epoch: BigInt(epoch), sequence: BigInt(sequence) };
  }
}

/** The highest token sent per (shard, machine): what a right provider has as its marks. */
export class FenceModel {
  /** shard id → machine id → mark. Bounded by the calls of one run. */
  readonly #marks = new Map<string, Map<string, Token>>();

  /** Says whether the call passes; a token that passes advances the mark whatever becomes of the call. */
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
