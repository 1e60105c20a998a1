/** Limits of what a coordinator can make the shard keep, with the sums behind them. */

/** Remembered instructions, so that a repeat is acked and not executed again: about 5 MB with long ids. */
export const REMEMBERED_IDS_MAX = 10_000;

/** Acks that wait for delivery. They exceed this only if a coordinator sends instructions but acknowledges no report. */
export const WAITING_ACKS_MAX = 10_000;

/** Acks in one report: 100 KB at 100 bytes each. The next reports carry the rest. */
export const ACKS_PER_REPORT_MAX = 1_000;

/** Recorded domains: twice the racks of a fleet of half a million machines. */
export const DOMAINS_MAX = 50_000;

/** The shard stores an id and sends it back; UUIDs have 36 bytes. */
export const ID_BYTES_MAX = 256;

/** Label keys have at most 317 bytes, values 63. */
export const TOPOLOGY_BYTES_MAX = 512;

/** The protocol's maximum per report. */
export const SHORTFALLS_MAX = 100;

/** Instructions of one reply: more than a coordinator has for one shard. As objects they take about 1 MB. */
export const INSTRUCTIONS_PER_REPLY_MAX = 4_096;

/** An answer with ten thousand instructions has about 1 MiB. */
export const REPLY_BYTES_MAX = 4 * 1024 ** 2;

/** The shard gives up a report that is not answered in this time; the next one has newer facts. */
export const CALL_TIMEOUT_MS = 5_000;
