/**
 * Derives a cycle again from scratch, off the main thread. The shard requests memory ahead of time, because new pages cost
 * more than the copy itself, and copies into it at once when the cycle comes.
 */

export interface CheckPort {
  /** Provides at least this many bytes, and a thread that waits for the copy. Rejects if there is not enough memory. */
  open(bytes: number): Promise<OpenCheck>;
}

export interface OpenCheck {
  /** Where the copy goes. */
  readonly buffer: SharedArrayBuffer;
  /** Derives and compares; the image is plain data over the buffer. Rejects if the check fails. Ends the check. */
  run(image: object): Promise<CheckResult>;
  /** Ends the check unused. */
  close(): void;
}

export interface CheckResult {
  /** Positions at which the actions differ. */
  readonly actions: number;
  /** Machines that different needs claim. */
  readonly claims: number;
  readonly verdicts: number;
  /** The first few of each. */
  readonly examples: readonly CheckExample[];
}

export interface CheckExample {
  /** The machine in question; 0 = none. */
  readonly slot: number;
  /** The results of the running engine and of the one from scratch. */
  readonly text: string;
}
