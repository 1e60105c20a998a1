/**
 * Limits how far the heap grows before V8 collects garbage. By default V8 lets the heap grow to twice the live data, or to
 * several times that on a host with much memory. A shard keeps the same data for months and its garbage is young. V8 reads
 * the flag at each collection, so setting it at runtime works (docs/adr/0038).
 */
import { setFlagsFromString } from 'node:v8';

/** Growth in percent of the live data after the last full collection. */
const HEAP_GROWING_PERCENT = 20;

export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
}
