/**
 * Environment variables that must be set before a process of this program starts, because they have no effect later. The
 * systemd unit and the container set the same (docs/ops). ADRs 0042 and 0043 list what other values cost.
 */
export const PROCESS_SETTINGS = {
  // glibc: freed blocks from 32 KiB return to the system at once, up to as many mappings as the kernel allows, and all
  // threads share one heap for smaller blocks. Other C libraries ignore these.
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_MMAP_MAX_: '32768',
  // Node: an eighth of the default space for young objects, and two threads for compilation and garbage collection instead
  // of four, which would compete with the main thread for cores just after the start.
  NODE_OPTIONS: '--max-semi-space-size=2 --v8-pool-size=2',
} as const;
