/** Every limit of the operators' edge, with the sum behind it. */

/**
 * One frame of an operator, decompressed. 388 rows are 130 KB; 80,000 rows, the demand of 200 such clusters in one, are
 * 27 MB. gRPC ends a stream with a larger frame with RESOURCE_EXHAUSTED before it reads the bytes.
 */
export const FRAME_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Fields of a frame's outermost message: it has one, and newer operators may add a few. Parts of one payload are joined;
 * sixteen million parts of two bytes would block the thread.
 */
export const FRAME_FIELDS_MAX = 64;

/** Hello names a cluster, in at most 253 bytes, and a version. */
export const HELLO_BYTES_MAX = 4_096;

/** Rows of one roll-up: as many real rows as fit a frame. Without a limit, sixteen million empty rows would fit. */
export const ROLLUP_ROWS_MAX = 131_072;

/**
 * Waiting roll-ups of all clusters. After a restart 2,000 clusters send 190 MB at once. Beyond this limit the shard refuses
 * a roll-up, and its operator sends another one in ten seconds.
 */
export const ROLLUP_BYTES_WAITING_MAX = 1024 * 1024 * 1024;

/**
 * T1. One row has a few hundred bytes; the largest that makes sense, 200 host names of 253 bytes in a requirement, 50 KB. A row
 * is hashed and decoded in one step, and the limit bounds that step.
 */
export const ROW_BYTES_MAX = 64 * 1024;

/**
 * One bootstrap blob. Clouds take 16 to 256 KiB of user data, and a provider in Go accepts messages up to 4 MiB by default.
 * With 256 calls in flight, each in the memory of two threads, larger blobs would take gigabytes.
 */
export const BLOB_BYTES_MAX = 4 * 1024 * 1024;

/** Waiting frames that must not be lost (bootstrap requests, reclaims): 40 times the execute concurrency. */
export const CONTROL_FRAMES_MAX = 10_240;

/** O4: the shard keeps the last updates of machines that left a cluster without a session. At most this many. */
export const DEPARTURES_MAX = 10_000;
/** The same while a session lives and has not read them: one per machine of a shard, 500 bytes each. */
export const DEPARTURES_UNREAD_MAX = 1_048_576;
export const DEPARTURE_KEPT_MS = 3_600_000;

/** The shard ends a stream that sends no Hello in this time. */
export const HELLO_TIMEOUT_MS = 30_000;

/** An operator has one stream, briefly two when it reconnects, and readers of needs have a few. */
export const STREAMS_PER_CONNECTION_MAX = 64;

/** On all connections together: eight times 2,000 clusters, with about 10 KB each. */
export const STREAMS_MAX = 16_384;

/** Concurrent readers of needs: each holds a page and costs the thread about a millisecond per page. */
export const INSPECTIONS_MAX = 64;

/** Characters of an operator's error text that the shard passes on. */
export const ERROR_TEXT_MAX = 512;

/** Time that one event-loop turn spends on roll-ups, and on frames to operators. */
export const ROLLUP_TURN_MS = 5;
export const WRITE_TURN_MS = 5;

/**
 * The same while more roll-ups wait than 2,000 clusters send in a second. Decisions then use demand that is seconds old, so
 * roll-ups get a larger part of every turn.
 */
export const ROLLUP_BYTES_LATE = 32 * 1024 * 1024;
export const ROLLUP_TURN_LATE_MS = 15;
