/** T13: what the HTTP servers bound. All are constants: no installation has needed another value, and each is a promise. */

export interface HttpLimits {
  /** Open connections. A new one is always accepted; beyond the limit the server closes the one that waited longest. */
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** Requests between their arrival and the last byte of their answer. Health checks do not count. */
  readonly inFlightMax: number;
  readonly inFlightPerAddressMax: number;
  /** Requests of one connection that are not answered yet. */
  readonly pipelinedMax: number;
  readonly requestsPerConnectionMax: number;
  /** From the connection, or the first byte of a further request, to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** The same, to the end of its body. */
  readonly requestTimeoutMs: number;
  /** From the end of an answer to the moment when the peer has taken it. */
  readonly answerTimeoutMs: number;
  /** Without any traffic. */
  readonly idleTimeoutMs: number;
  /** How often the timeouts are checked. */
  readonly checkMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  // A scraper, probes, and some 80 browsers with the 6 connections that each opens.
  connectionsMax: 512,
  // Half: a proxy hands on the requests of many people from one address.
  connectionsPerAddressMax: 256,
  // An answer has at most some 2 MB, so answers that are not read take 128 MB at most. A usual one takes 10 ms.
  inFlightMax: 64,
  inFlightPerAddressMax: 32,
  // No browser sends a request before the last one is answered; a few simple clients send two.
  pipelinedMax: 4,
  requestsPerConnectionMax: 10_000,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  // 2 MB at 70 KB/s.
  answerTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
  checkMs: 1_000,
};

/** For the server of --health-addr: a kubelet, a load balancer and a person. */
export const HEALTH_LIMITS: HttpLimits = {
  ...HTTP_LIMITS,
  connectionsMax: 64,
  connectionsPerAddressMax: 32,
  answerTimeoutMs: 5_000,
  idleTimeoutMs: 10_000,
};

/** Why the server refused a request or closed a connection; also the label of the metric. */
export const HTTP_REFUSALS = [
  'connections',
  'in_flight',
  'pipelined',
  'slow_request',
  'unread_answer',
] as const;
export type HttpRefusal = (typeof HTTP_REFUSALS)[number];

const REFUSAL_WORDS: Readonly<Record<HttpRefusal, string>> = {
  connections: 'too many connections; the shard closed those that waited longest without a request',
  in_flight:
    'too many requests at a time; the shard answered 503 to the others, and still answers health checks',
  pipelined: 'a client sent requests without waiting for answers; the shard closed its connection',
  slow_request: 'a request did not arrive whole in time; the shard closed its connection',
  unread_answer: 'a client did not read its answer in time; the shard closed its connection',
};

/** After this long without a refusal of a kind, the next one is logged again. */
const QUIET_MS = 600_000;

/** Counts refusals by reason and logs the first of each. */
export class HttpRefusals {
  readonly #counts = Object.fromEntries(HTTP_REFUSALS.map((reason) => [reason, 0])) as Record<
    HttpRefusal,
    number
  >;
  readonly #lastMs = new Map<HttpRefusal, number>();
  readonly #log: { warn(event: string, fields: Readonly<Record<string, string>>): void };

  constructor(log: { warn(event: string, fields: Readonly<Record<string, string>>): void }) {
    this.#log = log;
  }

  get counts(): Readonly<Record<HttpRefusal, number>> {
    return this.#counts;
  }

  note(reason: HttpRefusal, address: string): void {
    this.#counts[reason]++;
    const nowMs = performance.now();
    const lastMs = this.#lastMs.get(reason);
    this.#lastMs.set(reason, nowMs);
    if (lastMs !== undefined && nowMs - lastMs < QUIET_MS) return;
    const next = 'flotilla_http_refused_total counts further ones, which are not logged';
    this.#log.warn('http_refused', { reason, address, detail: REFUSAL_WORDS[reason], next });
  }
}
