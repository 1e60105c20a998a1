/** Every limit of the relay, with the sum behind it. */

/** The active replica allows this many streams on a connection (session/limits). 2,000 sessions take 32 connections. */
export const STREAMS_PER_CONNECTION_MAX = 64;

/**
 * T11: until the active replica has answered a stream, the relay reads this much of it, and one HTTP/2 frame of 16 KiB more. It keeps
 * these bytes, so that it can send them to another replica if this one does not answer. Hello has 4 KiB at most.
 */
export const UNANSWERED_BYTES_MAX = 16 * 1024;

/** A session is held for a lease, in which `active` expires, and this long: for the election, and for late timers. */
export const HOLD_BEYOND_LEASE_MS = 5_000;

/** A connection that failed is dialled again after this time. A standby must be able to relay soon after a takeover. */
export const REDIAL_MS = 500;

/** A stream that the active replica refused as UNAVAILABLE is offered again after this time: 2,000 streams are 1,000 a second. */
export const REFUSED_RETRY_MS = 2_000;

/** T14: a stream without a frame for this long waits for no bootstrap blob, so it may end with its old connection. */
export const QUIET_MS = 1_000;
/** T14: a stream that is never quiet ends this long after its connection reached its age: twice the wait for a blob. */
export const RETIRED_STREAM_MS = 60_000;

/** F7: the session's first frame has this many bytes at most (session/limits). */
export const FIRST_MESSAGE_BYTES_MAX = 8_192;
/** F7: as long as the server itself waits for a Hello. */
export const FIRST_MESSAGE_MS_MAX = 5_000;
