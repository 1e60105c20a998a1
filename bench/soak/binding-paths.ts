/**
 * Binding latencies by path, from the shard's histogram `flotilla_binding_seconds`: the p99 of the bindings between two
 * scrapes. A need that waits for a drain, or for supply that is not there, says nothing about the shard; one that found an
 * Idle machine does.
 */

/** Figures of a soak and the paths that each covers. */
const FIGURES = {
  bindIdleP99Ms: ['idle'],
  bindCreatedP99Ms: ['created'],
  bindFreedP99Ms: ['drained', 'preempted'],
  bindWaitedP99Ms: ['waited'],
} as const;

export type PathFigures = { readonly [figure in keyof typeof FIGURES]: number | null };

const BUCKET = /^flotilla_binding_seconds_bucket\{le="([^"]+)",path="([^"]+)"\}$/;
const QUANTILE = 0.99;

/** By path: the cumulative counts by upper bound in seconds. */
type Buckets = ReadonlyMap<string, ReadonlyMap<number, number>>;

export class BindingPaths {
  #before: Buckets | null = null;

  /** Null figures: the shard did not answer, no earlier scrape is known, or no such binding ended in between. */
  read(values: ReadonlyMap<string, number> | null): PathFigures {
    const before = this.#before;
    const now = values === null ? null : bucketsOf(values);
    if (now !== null) this.#before = now;
    const figures = Object.entries(FIGURES).map(([figure, paths]) => [
      figure,
      before === null || now === null ? null : p99Ms(paths, before, now),
    ]);
    return Object.fromEntries(figures) as PathFigures;
  }
}

function bucketsOf(values: ReadonlyMap<string, number>): Buckets {
  const buckets = new Map<string, Map<number, number>>();
  for (const [name, count] of values) {
    const match = BUCKET.exec(name);
    if (match === null) continue;
    const [, bound, path] = match;
    const ofPath = buckets.get(path!) ?? new Map<number, number>();
    ofPath.set(bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), count);
    buckets.set(path!, ofPath);
  }
  return buckets;
}

/** On a straight line within its bucket, as Prometheus does it; above the last bound, that bound. */
function p99Ms(paths: readonly string[], before: Buckets, now: Buckets): number | null {
  const bounds = [...new Set(paths.flatMap((path) => [...(now.get(path)?.keys() ?? [])]))].sort(
    (a, b) => a - b,
  );
  const upTo = (bound: number) =>
    paths.reduce((sum, path) => {
      return sum + (now.get(path)?.get(bound) ?? 0) - (before.get(path)?.get(bound) ?? 0);
    }, 0);
  const wanted = upTo(Number.POSITIVE_INFINITY) * QUANTILE;
  if (!(wanted > 0)) return null;
  let [lowSeconds, lowCount] = [0, 0];
  for (const bound of bounds) {
    const count = upTo(bound);
    if (count >= wanted) {
      if (bound === Number.POSITIVE_INFINITY) break;
      return 1_000 * (lowSeconds + ((bound - lowSeconds) * (wanted - lowCount)) / (count - lowCount));
    }
    [lowSeconds, lowCount] = [bound, count];
  }
  return 1_000 * lowSeconds;
}
