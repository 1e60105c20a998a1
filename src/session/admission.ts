/**
 * T11: how many connections, handshakes, streams and readers the operators' server has, in total and per address,
 * identity and connection. One tenant must not use up what the others need, so each limit in total is larger than the
 * largest share of one address or identity.
 *
 * Clusters behind one balancer or NAT share an address: 2,000 of them must be able to reconnect at once after a restart.
 * So an address gets a large share, and certificates, where there are any, the small one.
 */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import {
  CONNECTIONS_MAX,
  CONNECTIONS_PER_IDENTITY_MAX,
  DESCRIPTORS_RESERVED,
  INSPECTIONS_MAX,
  INSPECTIONS_PER_IDENTITY_MAX,
  OPENINGS_MAX,
  OPENINGS_PER_ADDRESS_MAX,
  OPENINGS_PER_CONNECTION_MAX,
  OPENINGS_PER_IDENTITY_MAX,
  REFUSAL_LOG_INTERVAL_MS,
  STREAMS_MAX,
  STREAMS_PER_CONNECTION_MAX,
  STREAMS_PER_IDENTITY_MAX,
} from './limits.ts';

/** `opening`: a stream that has not sent its Hello, or its request. */
export const LIMITED = ['connection', 'handshake', 'stream', 'opening', 'reader'] as const;
export type Limited = (typeof LIMITED)[number];

export const SCOPES = ['total', 'address', 'identity', 'connection'] as const;
export type Scope = (typeof SCOPES)[number];

/** Infinity: no limit. */
export type Limit = Readonly<Record<Scope, number>>;
export type AdmissionLimits = Readonly<Record<Limited, Limit>>;
export type AdmissionOptions = { readonly [What in Limited]?: Partial<Limit> };

/** Labels of a metric: all of them are known in advance. */
export const REFUSAL_REASONS = [
  ...LIMITED.flatMap((what) => SCOPES.map((scope) => `${what}_${scope}` as const)),
  'handshake_timeout',
  'opening_timeout',
  'opening_bytes',
  'reader_timeout',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Whose share counts. */
export interface Holder {
  readonly address: string;
  /** '': none, or not known yet. */
  readonly identity: string;
  /** Null: outside of connections. */
  readonly connection: object | null;
}

export interface Refusal {
  readonly reason: RefusalReason;
  readonly address: string;
  readonly detail: string;
}

const NAMES: Readonly<Record<Limited, string>> = {
  connection: 'connections',
  handshake: 'handshakes in progress',
  stream: 'open streams',
  opening: 'streams without Hello or request',
  reader: 'readers of needs',
};

export class Admission {
  readonly counts: Record<RefusalReason, number>;
  readonly #limits: AdmissionLimits;
  readonly #held = new Map<Limited, Counts>();
  readonly #loggedMs = new Map<RefusalReason, number>();
  readonly #nowMs: () => number;
  readonly #log: (refusal: Refusal) => void;

  constructor(
    limits: AdmissionLimits,
    counts: Record<RefusalReason, number>,
    nowMs: () => number,
    log: (refusal: Refusal) => void,
  ) {
    this.#limits = limits;
    this.counts = counts;
    this.#nowMs = nowMs;
    this.#log = log;
    for (const what of LIMITED) this.#held.set(what, new Counts());
  }

  /** Takes a place, which the caller gives back. Returns null, or a sentence that says which limit is reached. */
  take(what: Limited, holder: Holder): string | null {
    const held = this.#held.get(what)!;
    const scope = held.fullScope(this.#limits[what], holder);
    if (scope === null) {
      held.add(holder, 1);
      return null;
    }
    const max = this.#limits[what][scope];
    const where = scope === 'total' ? '' : ` per ${scope}`;
    const detail = `The shard has ${max} ${NAMES[what]}${where}, its maximum. Retry later.`;
    this.refused(`${what}_${scope}`, holder.address, detail);
    return detail;
  }

  giveBack(what: Limited, holder: Holder): void {
    this.#held.get(what)!.add(holder, -1);
  }

  held(what: Limited): number {
    return this.#held.get(what)!.total;
  }

  /** Counts, and logs the first of a burst: a flood must not fill the log. */
  refused(reason: RefusalReason, address: string, detail: string): void {
    this.counts[reason]++;
    const nowMs = this.#nowMs();
    const loggedMs = this.#loggedMs.get(reason);
    if (loggedMs !== undefined && nowMs - loggedMs < REFUSAL_LOG_INTERVAL_MS) return;
    this.#loggedMs.set(reason, nowMs);
    this.#log({ reason, address, detail });
  }
}

class Counts {
  total = 0;
  readonly #byAddress = new Map<string, number>();
  readonly #byIdentity = new Map<string, number>();
  readonly #byConnection = new Map<object, number>();

  fullScope(limit: Limit, { address, identity, connection }: Holder): Scope | null {
    if (connection !== null && (this.#byConnection.get(connection) ?? 0) >= limit.connection)
      return 'connection';
    if (identity !== '' && (this.#byIdentity.get(identity) ?? 0) >= limit.identity) return 'identity';
    if ((this.#byAddress.get(address) ?? 0) >= limit.address) return 'address';
    return this.total >= limit.total ? 'total' : null;
  }

  add({ address, identity, connection }: Holder, by: 1 | -1): void {
    this.total += by;
    addTo(this.#byAddress, address, by);
    if (identity !== '') addTo(this.#byIdentity, identity, by);
    if (connection !== null) addTo(this.#byConnection, connection, by);
  }
}

function addTo<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

export function newRefusals(): Record<RefusalReason, number> {
  return Object.fromEntries(REFUSAL_REASONS.map((reason) => [reason, 0])) as Record<RefusalReason, number>;
}

const NO_LIMIT: Limit = { total: Infinity, address: Infinity, identity: Infinity, connection: Infinity };

/** `descriptors`: the process may have this many files and sockets. */
export function admissionLimits(
  options: AdmissionOptions = {},
  descriptors = descriptorsMax(),
): AdmissionLimits {
  const connections = Math.min(
    CONNECTIONS_MAX,
    Math.max(descriptors - DESCRIPTORS_RESERVED, Math.floor(descriptors / 2)),
  );
  const threeQuarters = Math.ceil(0.75 * connections);
  return {
    connection: {
      ...NO_LIMIT,
      total: connections,
      address: threeQuarters,
      identity: CONNECTIONS_PER_IDENTITY_MAX,
      ...options.connection,
    },
    handshake: {
      ...NO_LIMIT,
      total: threeQuarters,
      address: Math.ceil(connections / 2),
      ...options.handshake,
    },
    stream: {
      total: STREAMS_MAX,
      address: 0.75 * STREAMS_MAX,
      identity: STREAMS_PER_IDENTITY_MAX,
      connection: STREAMS_PER_CONNECTION_MAX,
      ...options.stream,
    },
    opening: {
      total: OPENINGS_MAX,
      address: OPENINGS_PER_ADDRESS_MAX,
      identity: OPENINGS_PER_IDENTITY_MAX,
      connection: OPENINGS_PER_CONNECTION_MAX,
      ...options.opening,
    },
    reader: {
      ...NO_LIMIT,
      total: INSPECTIONS_MAX,
      identity: INSPECTIONS_PER_IDENTITY_MAX,
      ...options.reader,
    },
  };
}

/** One key for all addresses of a host: an IPv6 host has 2⁶⁴ of them. */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('%')[0]!.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const behind = tail.split(':').filter((group) => group !== '');
  if (address.includes('::')) while (groups.length + behind.length < 8) groups.push('0');
  return `${[...groups, ...behind].slice(0, 4).join(':')}::/64`;
}

/** Where the system does not tell: what most service managers allow. */
const DESCRIPTORS_USUAL = 1_024;

function descriptorsMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
    if (soft === 'unlimited') return Infinity;
    return soft === undefined ? DESCRIPTORS_USUAL : Number(soft);
  } catch {
    return DESCRIPTORS_USUAL; // not Linux
  }
}
