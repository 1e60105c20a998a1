/**
 * Memory of one decode. "Allocated" means heap and buffers directly after the decode, garbage included, over what there was
 * directly before it, after a collection. The result is kept, so it counts.
 *
 * The program runs with flags that make this an upper bound of the peak, the same in every run:
 *   --min-semi-space-size=1, --max-semi-space-size=1   short-lived garbage is collected when there is 1 MiB of it
 *   --initial-old-space-size=1024                      no full collection begins during a decode, which would hide a peak
 *   --no-allocation-site-pretenuring                   V8 does not guess that objects will live long, where it keeps garbage
 */

/** A decoder may allocate 32 bytes for each byte that it is given, and 1 MiB. */
export function budgetOf(inputBytes: number): number {
  return 32 * inputBytes + 2 ** 20;
}

declare const gc: () => void;

/** Bytes that `run` allocates. A rejected input counts like an accepted one. */
export async function allocatedBy(run: () => unknown): Promise<number> {
  gc();
  const before = memoryBytes();
  const result = await run();
  const after = memoryBytes();
  held = result;
  return after - before;
}

/** Keeps the latest result alive until the memory was read. */
export let held: unknown = null;

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
