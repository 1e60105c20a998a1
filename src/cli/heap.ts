/**
 * How large the heap of this process may become before V8 looks for garbage. By itself it waits until there is as much
 * again as what lives, or several times that where the machine has much memory; a shard lives for months with the same data,
 * and its garbage is young. Read by V8 at each collection, so it may be set while the process runs (docs/adr/0038).
 */
import { setFlagsFromString } from 'node:v8';

/** Of what was left after the last full collection. */
const HEAP_GROWING_PERCENT = 20;

export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
}
