/**
 * CPU time of the main thread alone. Where other programs share the cores, the busy time of its event loop includes waiting
 * for a core; Linux counts the time that the thread really ran. On other systems this returns the loop's busy time.
 */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;
const NS_PER_MS = 1e6;

/** Milliseconds since a fixed moment: only differences mean something. */
export function mainThreadCpuMs(): number {
  try {
    return Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]) / NS_PER_MS;
  } catch {
    return performance.eventLoopUtilization().active;
  }
}
