/**
 * CPU time of the main thread alone. Where other programs share the cores, the time that its loop was busy is also the time
 * that it stood in a queue; Linux counts what it really ran. Elsewhere the loop's busy time has to do.
 */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;
const NS_PER_MS = 1e6;

/** Milliseconds since some moment that does not change. */
export function mainThreadCpuMs(): number {
  try {
    return Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]) / NS_PER_MS;
  } catch {
    return performance.eventLoopUtilization().active;
  }
}
