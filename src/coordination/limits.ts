/** Bounds of what a coordinator can make us keep, with the sums they come from. */

/** Executed instructions that are remembered, so that a repeat is answered and not executed: about 5 MB with long ids. */
export const REMEMBERED_IDS_MAX = 10_000;

/** Acks that wait for delivery. More come only while a coordinator sends instructions and acknowledges no report. */
export const WAITING_ACKS_MAX = 10_000;

/** In one report: 100 KB at 100 bytes each. The rest goes with the next ones. */
export const ACKS_PER_REPORT_MAX = 1_000;

/** Domains that are recorded: racks of a fleet of half a million machines, twice over. */
export const DOMAINS_MAX = 50_000;

/** An id is kept and sent back: a longer one is not ours to store. UUIDs have 36. */
export const ID_BYTES_MAX = 256;

/** Keys of labels have at most 317 bytes, values 63. */
export const TOPOLOGY_BYTES_MAX = 512;

/** What the protocol lets one report carry. */
export const SHORTFALLS_MAX = 100;

/** An answer with ten thousand instructions has about one. */
export const REPLY_BYTES_MAX = 4 * 1024 ** 2;

/** A report that has not been answered by then is given up; the next one says the same, and newer. */
export const CALL_TIMEOUT_MS = 5_000;
