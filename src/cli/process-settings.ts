/**
 * How a process of this program is started, in its environment: what cannot be set any more once it runs. The systemd unit and
 * the container have the same (docs/ops). What other values cost in memory and in time is in docs/adr/0042 and 0043.
 */
export const PROCESS_SETTINGS = {
  // glibc: blocks of this size and above go back to the system when they are freed, as long as there are not too many of
  // them for the kernel, and all threads share one heap for the others. Elsewhere it means nothing.
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_MMAP_MAX_: '32768',
  // Node: an eighth of the room for young objects; two threads beside ours that compile and collect garbage, not four, which
  // take the cores from the main thread just when all of its code is new.
  NODE_OPTIONS: '--max-semi-space-size=2 --v8-pool-size=2',
} as const;
