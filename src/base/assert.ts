/** A broken invariant of our own code. Never caught to go on: what we believe about memory is wrong. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** For hot paths, where a message that names a value would be built at every call: `if (…) fail(…)`. */
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
