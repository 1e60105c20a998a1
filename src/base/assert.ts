/** A broken invariant of our own code. Never catch it to continue: the state in memory cannot be trusted any more. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** For hot paths: `if (…) fail(…)` builds the message only on failure, where `assert` would build it at every call. */
export function fail(message: string): never {
  throw new AssertionError(message);
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** For the default branch of a switch over a closed set: the compiler proves it is never reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
