/**
 * Who derives a cycle again from scratch, away from the main thread. The shard asks for memory ahead of time, because fresh
 * pages cost more than the copy itself, and copies into it in one stretch when the cycle comes.
 */

export interface CheckPort {
  /** Memory of at least this many bytes, and somebody who waits for it. Rejects if there is none to be had. */
  open(bytes: number): Promise<OpenCheck>;
}

export interface OpenCheck {
  /** Where the copy goes. */
  readonly buffer: SharedArrayBuffer;
  /** Derives and compares; the image is plain data over the buffer. Rejects if it could not. Ends the check. */
  run(image: object): Promise<CheckResult>;
  /** Gives it up unused. */
  close(): void;
}

export interface CheckResult {
  /** Actions that are not the same at the same place. */
  readonly actions: number;
  /** Machines that different needs count. */
  readonly claims: number;
  readonly verdicts: number;
  /** The first few of each. */
  readonly examples: readonly CheckExample[];
}

export interface CheckExample {
  /** The machine that it is about; 0 = none. */
  readonly slot: number;
  /** What the running engine said and what one from scratch says. */
  readonly text: string;
}
