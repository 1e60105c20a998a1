/**
 * Limits how far the heap grows before V8 collects garbage. By default V8 lets the heap grow to twice the live data, or to
 * several times that on a host with much memory. A shard keeps the same data for months and its garbage is young. V8 reads
 * the flag at each collection, so setting it at runtime works (docs/adr/0038).
 *
 * Under load a small heap costs time: calls under way are no longer young when they end. With 20 percent, a shard with 1,024
 * of them marked its whole heap every 1.3 s and its call thread every 0.4 s, which took a third of its CPU time. So the heap
 * may double while many actions are under way.
 */
import { setFlagsFromString } from 'node:v8';

/** Growth in percent of the live data after the last full collection, at rest and under load. */
const REST_PERCENT = 20;
const LOAD_PERCENT = 100;
/** Actions under way from which on the shard is under load: a quarter of the default concurrency. */
const LOAD_ACTIONS = 64;
const LOOK_EVERY_MS = 1_000;

export function keepHeapSmall(): void {
  setGrowth(REST_PERCENT);
}

/** Lets the heap grow while the shard is under load. Does not keep the process alive. */
export function growHeapUnderLoad(actionsUnderWay: () => number): void {
  let current = REST_PERCENT;
  setInterval(() => {
    const wanted = actionsUnderWay() >= LOAD_ACTIONS ? LOAD_PERCENT : REST_PERCENT;
    if (wanted === current) return;
    current = wanted;
    setGrowth(wanted);
  }, LOOK_EVERY_MS).unref();
}

function setGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
