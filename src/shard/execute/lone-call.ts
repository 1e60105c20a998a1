/**
 * X16: after the process stood still, one call goes alone, and all others wait for its answer. If another process owns the shard id
 * by now, that answer says so (X8) before a second call has done harm. Only an answer that the provider gave counts. After a call
 * without one the next goes alone, to another provider if one waits: a provider that hangs must not hold up the rest for long.
 */

/** The right to make the one call. */
export interface Turn {
  readonly provider: number;
}

interface Caller {
  readonly provider: number;
  readonly go: (turn: Turn | null) => void;
}

export class LoneCall {
  readonly #waiting: Caller[] = [];
  /** Providers that did not answer a lone call. */
  readonly #silent = new Set<number>();
  #isOn = false;
  #holder: Turn | null = null;

  /** Whether calls wait for the answer of one. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** The process stood still. A call from before is not the lone one. */
  begin(): void {
    this.#isOn = true;
    this.#holder = null;
    this.#silent.clear();
    this.#next();
  }

  /** Resolves when the caller may go on: with its turn, or with null if no call must be alone any more. */
  turn(provider: number): Promise<Turn | null> {
    return new Promise((resolve) => {
      this.#waiting.push({ provider, go: resolve });
      this.#next();
    });
  }

  /** `definite`: the provider answered. `none`: it did not. `unused`: the call was not made. */
  ended(turn: Turn | null, answer: 'definite' | 'none' | 'unused'): void {
    if (turn === null || this.#holder !== turn) return;
    this.#holder = null;
    if (answer === 'none') this.#silent.add(turn.provider);
    if (answer === 'definite') this.stop();
    else this.#next();
  }

  /** No call must be alone any more. */
  stop(): void {
    this.#isOn = false;
    this.#holder = null;
    for (const { go } of this.#waiting.splice(0)) go(null);
  }

  #next(): void {
    if (this.#holder !== null || this.#waiting.length === 0) return;
    const other = this.#waiting.findIndex(({ provider }) => !this.#silent.has(provider));
    if (other < 0) this.#silent.clear();
    const [caller] = this.#waiting.splice(Math.max(0, other), 1);
    this.#holder = { provider: caller!.provider };
    caller!.go(this.#holder);
  }
}
