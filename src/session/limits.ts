/**
 * Every limit of the operators' edge, with the sum behind it. Those that an operator also checks are in base/frame-limits, those of
 * every ended stream in wire/http2-status.
 */
export {
  BLOB_BYTES_MAX,
  ERROR_TEXT_MAX,
  FRAME_BYTES_MAX,
  ROLLUP_ROWS_MAX,
  ROW_BYTES_MAX,
} from '../base/frame-limits.ts';
export { ENDED_STREAM_MS } from '../wire/http2-status.ts';

/**
 * Fields of a frame's outermost message: it has one, and newer operators may add a few. Parts of one payload are joined;
 * sixteen million parts of two bytes would block the thread.
 */
export const FRAME_FIELDS_MAX = 64;

/** Hello names a cluster, in at most 253 bytes, and a version. */
export const HELLO_BYTES_MAX = 4_096;

/**
 * Waiting roll-ups of all clusters. After a restart 2,000 clusters send 190 MB at once. Beyond this limit the shard refuses
 * a roll-up, and its operator sends another one in ten seconds.
 */
export const ROLLUP_BYTES_WAITING_MAX = 1024 * 1024 * 1024;

/** The same of one cluster: two of the largest frames, the one that is being read and the latest behind it. */
export const ROLLUP_BYTES_PER_CLUSTER_MAX = ROLLUP_BYTES_WAITING_MAX / 16;

/**
 * T7: bytes of one cluster that the shard reads per visit. The usual roll-up of 130 KB fits, so it is read in one visit. If
 * each of 256 KiB is new, a visit takes about 10 ms.
 */
export const ROLLUP_QUANTUM_BYTES = 256 * 1024;

/**
 * T7: bytes that one step reads before it pauses: one row of the largest size, or about 200 usual ones, which take one or
 * two milliseconds. A step that reads no bytes (ordering, releasing) counts as much.
 */
export const ROLLUP_STEP_BYTES = 64 * 1024;

/**
 * T7: larger roll-ups that are open at a time. One of 131,072 rows needs about 20 MB beside its own bytes: 16 bytes a row
 * for the scan, 60 for the draft and 60 for the rows that it replaces. Eight of them need 160 MB.
 */
export const ROLLUPS_OPEN_MAX = 8;

/**
 * T7: rows of one cluster that the shard takes up as new per second, and at once. A usual cluster changes 4 of 388 rows in ten
 * seconds; one of 80,000 rows changes 800. The first roll-up after a start is never delayed. Reading 131,072 new rows takes half
 * a second, so every 60 s they cost the shard 1 % of its time.
 */
export const NEW_ROWS_PER_SECOND = 2_048;
export const NEW_ROWS_BURST = 8_192;
/** T7: a longer new row counts as several of this size. Usual rows have 350 bytes. */
export const NEW_ROW_BYTES = 1_024;

/**
 * T1. Spread constraints and requirements of one row. Rows have a handful. An empty one has two bytes on the wire and becomes an
 * object of about 60; a row of 64 KiB could have 32,000.
 */
export const ROW_SPREADS_MAX = 64;
export const ROW_REQUIREMENTS_MAX = 1_024;

/** Waiting frames that must not be lost (bootstrap requests, reclaims): 40 times the execute concurrency. */
export const CONTROL_FRAMES_MAX = 10_240;

/** O4: the shard keeps the last updates of machines that left a cluster without a session. At most this many. */
export const DEPARTURES_MAX = 10_000;
/** The same while a session lives and has not read them: one per machine of a shard, 500 bytes each. */
export const DEPARTURES_UNREAD_MAX = 1_048_576;
export const DEPARTURE_KEPT_MS = 3_600_000;

/**
 * T11: bytes of a stream's first frame: Hello with its framing, and fields that newer operators may add. A longer one is
 * refused before its memory is allocated. It applies to requests as well.
 */
export const FIRST_FRAME_BYTES_MAX = 2 * HELLO_BYTES_MAX;

/** T11: the shard ends a stream that sends no Hello or request in this time, and a connection without a handshake. */
export const HELLO_TIMEOUT_MS = 5_000;
export const HANDSHAKE_TIMEOUT_MS = 5_000;

/** T11: connections: one for each of 2,000 clusters, twice that while they reconnect. Fewer if descriptors are few. */
export const CONNECTIONS_MAX = 4_096;

/** T11: descriptors for everything else: providers, HTTP, files, and connections that are refused. */
export const DESCRIPTORS_RESERVED = 512;

/** T11: of one certificate: an operator has one, and its dead ones are noticed after 30 s. Readers share certificates. */
export const CONNECTIONS_PER_IDENTITY_MAX = 64;

/** T11: a refusal for the same reason is logged once in this time. */
export const REFUSAL_LOG_INTERVAL_MS = 60_000;

/** An operator has one stream, briefly two when it reconnects, and readers of needs have a few. */
export const STREAMS_PER_CONNECTION_MAX = 64;

/** On all connections together: eight times 2,000 clusters, with about 10 KB each. */
export const STREAMS_MAX = 16_384;

/** T11: of one certificate: those of its connections, if each has a few. */
export const STREAMS_PER_IDENTITY_MAX = 256;

/**
 * T11: streams that have not sent their Hello or request. 2,000 clusters that share an address may reconnect at once, and
 * half as many places remain for other addresses. Each may hold 8 KB: 24 MB in all.
 */
export const OPENINGS_MAX = 3_072;
export const OPENINGS_PER_ADDRESS_MAX = 2_048;
export const OPENINGS_PER_IDENTITY_MAX = 32;
export const OPENINGS_PER_CONNECTION_MAX = 16;

/** T15: the readers of one certificate; without TLS, of one address. */
export const INSPECTIONS_PER_IDENTITY_MAX = 8;

/** T15: the shard ends the stream of a reader that reads nothing for this long. */
export const INSPECTION_WRITE_MS = 10_000;

/** Concurrent readers of needs: each holds a page and costs the thread about a millisecond per page. */
export const INSPECTIONS_MAX = 64;

/** Time that one event-loop turn spends on roll-ups, and on frames to operators. */
export const ROLLUP_TURN_MS = 5;
export const WRITE_TURN_MS = 5;

/**
 * If more roll-ups wait than 2,000 clusters send in a second, decisions use demand that is seconds old. Until nearly all of them
 * are read, they get a share of the thread instead of a fixed time in each turn: a turn of a busy thread takes 250 ms, of
 * which 5 are nothing. A turn on roll-ups delays other answers, so it has a maximum.
 */
export const ROLLUP_BYTES_LATE = 32 * 1024 * 1024;
export const ROLLUP_BYTES_CAUGHT_UP = 2 * 1024 * 1024;
export const ROLLUP_SHARE_LATE = 1 / 3;
export const ROLLUP_TURN_LATE_MS_MAX = 40;

/** T14: twice the default time that the shard waits for a bootstrap blob. */
export const EXPIRY_MARGIN_MS = 60_000;

/** T14: a look at 4,096 connections takes less than 0.1 ms. */
export const LIFETIME_SWEEP_MS = 1_000;

/** T14: with an intermediate about 0.6 ms each: a turn takes 5 ms, and 4,096 connections a few seconds after the CA changed. */
export const PEERS_JUDGED_PER_TURN = 8;

/** T14: a reader of needs has this much time after its connection reached its age. */
export const RETIRED_READER_MS = 30_000;
