/** Every limit of the operators' edge, with the sum that it came from. */

/**
 * One frame of an operator, decompressed. 388 rows are 130 KB; 80,000 rows, the demand of 200 such clusters in one, are
 * 27 MB. Above this gRPC itself ends the stream with RESOURCE_EXHAUSTED, before the bytes are read.
 */
export const FRAME_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Fields of a frame's outermost message: it has one, and newer operators may add a few. Parts of one payload are joined, and sixteen
 * million of two bytes each would hold the thread up for as long as their sender likes.
 */
export const FRAME_FIELDS_MAX = 64;

/** Hello names a cluster, in 253 bytes at the most, and a version. */
export const HELLO_BYTES_MAX = 4_096;

/** Rows of one roll-up: as many as a frame of real rows can have. Empty rows would make sixteen million. */
export const ROLLUP_ROWS_MAX = 131_072;

/**
 * Roll-ups that wait to be read, of all clusters. After a restart 2,000 clusters send 190 MB at once; beyond this a roll-up is
 * refused, and its operator sends another one in ten seconds.
 */
export const ROLLUP_BYTES_WAITING_MAX = 1024 * 1024 * 1024;

/** One row is a few hundred bytes. It is hashed and decoded in one step, so it must not be a step of its own making. */
export const ROW_BYTES_MAX = 1024 * 1024;

/**
 * One bootstrap blob. Clouds take 16 to 256 KiB of user data, and a provider in Go takes no message above 4 MiB unless told to. With
 * 256 calls under way, each in the memory of two threads, larger ones would be gigabytes.
 */
export const BLOB_BYTES_MAX = 4 * 1024 * 1024;

/** Frames that must not be lost (bootstrap requests, reclaims) and wait for a reader: 40 times the execute concurrency. */
export const CONTROL_FRAMES_MAX = 10_240;

/** O4: last updates of machines that left, for a cluster that is away. */
export const DEPARTURES_MAX = 10_000;
/** The same while its session lives and has not read them: as many as a shard has machines, 500 bytes each. */
export const DEPARTURES_UNREAD_MAX = 1_048_576;
export const DEPARTURE_KEPT_MS = 3_600_000;

/** A stream that has said nothing at all is no operator. */
export const HELLO_TIMEOUT_MS = 30_000;

/** One operator is one stream; a few more while it replaces itself, and readers of needs. */
export const STREAMS_PER_CONNECTION_MAX = 64;

/** On all connections together: 2,000 clusters, eight times over, with about 10 KB each. */
export const STREAMS_MAX = 16_384;

/** Readers of needs at a time: each has a page in hand and costs the thread a millisecond now and then. */
export const INSPECTIONS_MAX = 64;

/** Error texts of an operator that are passed on, in characters. */
export const ERROR_TEXT_MAX = 512;

/** What one turn of the event loop spends on roll-ups, and on frames to operators. */
export const ROLLUP_TURN_MS = 5;
export const WRITE_TURN_MS = 5;

/**
 * The same while more roll-ups wait than 2,000 clusters send in a second: then decisions are made on needs of seconds ago, and a
 * larger part of every turn is well spent.
 */
export const ROLLUP_BYTES_LATE = 32 * 1024 * 1024;
export const ROLLUP_TURN_LATE_MS = 15;
