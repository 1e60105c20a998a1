/**
 * Makes a failure small: leaves accidents out of a replay while it still fails. The remaining ones are close to the cause. It
 * leaves out halves first, then quarters, down to single accidents, within a number of replays.
 */

/** Returns the fewest accident numbers with which `fails` is still true, as far as `replaysMax` replays can tell. */
export async function shrink(
  all: readonly number[],
  fails: (only: readonly number[]) => Promise<boolean>,
  replaysMax: number,
): Promise<readonly number[]> {
  let kept = all;
  let replays = 0;
  let chunk = Math.ceil(kept.length / 2);
  while (chunk >= 1 && replays < replaysMax) {
    let hasShrunk = false;
    for (let start = 0; start < kept.length && replays < replaysMax; ) {
      const without = [...kept.slice(0, start), ...kept.slice(start + chunk)];
      replays++;
      if (await fails(without)) {
        kept = without;
        hasShrunk = true;
      } else start += chunk;
    }
    if (chunk === 1 && !hasShrunk) break;
    if (!hasShrunk || chunk > 1) chunk = Math.max(1, Math.floor(chunk / 2));
    if (kept.length === 0) break;
  }
  return kept;
}
