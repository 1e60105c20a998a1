/** Waits for as long as a loaded machine may need; a test that never gets there fails here. */
const WAIT_MS_MAX = 60_000;
const LOOK_MS = 10;

export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${WAIT_MS_MAX} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
