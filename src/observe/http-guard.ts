/**
 * T13: bounds what clients of an HTTP server can hold, so that health checks are always answered. The server cannot know
 * whether a new connection will ask for health. So it accepts every connection, and beyond a limit it closes the one that
 * has waited longest without a complete request, of the address that has the most. A probe sends its request at once:
 * it is the youngest, and is answered before its turn to be closed comes.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../base/network.ts';
import type { HttpLimits, HttpRefusal, HttpRefusals } from './http-limits.ts';

interface Pending {
  readonly response: ServerResponse;
  readonly isCounted: boolean;
  /** When the handler had written its answer; 0 before. */
  endedMs: number;
}

interface Connection {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly pending: Set<Pending>;
}

/** The connections of one address, in the order in which they began to wait. */
interface Peer {
  readonly address: string;
  readonly waiting: Set<Connection>;
  readonly busy: Set<Connection>;
  inFlight: number;
}

/** The kernel may hand over a backlog of 511 connections in each of the two turns before limits are enforced. */
const BACKLOG = 511;

export class HttpGuard {
  readonly #limits: HttpLimits;
  readonly #refusals: HttpRefusals;
  readonly #peers = new Map<string, Peer>();
  readonly #connections = new Map<Socket, Connection>();
  readonly #sweeper: NodeJS.Timeout;
  #inFlight = 0;
  #isEnforcing = false;

  constructor(server: Server, limits: HttpLimits, refusals: HttpRefusals) {
    this.#limits = limits;
    this.#refusals = refusals;
    server.maxConnections = limits.connectionsMax + 2 * BACKLOG;
    server.maxRequestsPerSocket = limits.requestsPerConnectionMax;
    server.timeout = limits.idleTimeoutMs;
    server.on('connection', (socket: Socket) => this.#opened(socket));
    server.on('drop', (peer) => refusals.note('connections', peer?.remoteAddress ?? ''));
    server.on('timeout', (socket: Socket) => this.#timedOut(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
        refusals.note('slow_request', (socket as Socket).remoteAddress ?? '');
      }
      refuse(socket as Socket, error.code ?? '');
    });
    this.#sweeper = setInterval(() => this.#cutOffUnread(), limits.checkMs).unref();
  }

  close(): void {
    clearInterval(this.#sweeper);
  }

  /** Whether to answer the request. If not, the guard has answered it or has closed the connection. */
  admits({ socket }: IncomingMessage, response: ServerResponse, isHealth: boolean): boolean {
    const connection = this.#connections.get(socket);
    // The parser goes on with what it has read, also after the connection was closed.
    if (connection === undefined || socket.destroyed) return false;
    if (connection.pending.size >= this.#limits.pipelinedMax) {
      this.#cut(connection, 'pipelined');
      return false;
    }
    const { peer } = connection;
    const isCounted = !isHealth;
    if (
      isCounted &&
      (this.#inFlight >= this.#limits.inFlightMax || peer.inFlight >= this.#limits.inFlightPerAddressMax)
    ) {
      this.#refusals.note('in_flight', peer.address);
      this.#begin(connection, { response, isCounted: false, endedMs: 0 });
      const headers = {
        'Content-Type': 'text/plain; charset=utf-8',
        'Retry-After': '1',
        Connection: 'close',
      };
      response.writeHead(503, headers).end('Too many requests at a time. Try again in a second.\n');
      return false;
    }
    this.#begin(connection, { response, isCounted, endedMs: 0 });
    return true;
  }

  #opened(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? '');
    let peer = this.#peers.get(address);
    if (peer === undefined) {
      peer = { address, waiting: new Set(), busy: new Set(), inFlight: 0 };
      this.#peers.set(address, peer);
    }
    const connection: Connection = { socket, peer, pending: new Set() };
    this.#connections.set(socket, connection);
    peer.waiting.add(connection);
    socket.once('close', () => this.#closed(connection));
    if (!this.#isEnforcing && this.#isOver(peer)) {
      this.#isEnforcing = true;
      // In the second turn from now the server has read the requests that came together with their connections.
      setImmediate(() => setImmediate(() => this.#enforce()));
    }
  }

  #isOver(peer: Peer): boolean {
    return (
      this.#connections.size > this.#limits.connectionsMax ||
      countOf(peer) > this.#limits.connectionsPerAddressMax
    );
  }

  #enforce(): void {
    this.#isEnforcing = false;
    for (const peer of [...this.#peers.values()]) {
      while (countOf(peer) > this.#limits.connectionsPerAddressMax) this.#cutOldest(peer);
    }
    while (this.#connections.size > this.#limits.connectionsMax) {
      let most: Peer | null = null;
      for (const peer of this.#peers.values())
        if (most === null || countOf(peer) > countOf(most)) most = peer;
      this.#cutOldest(most!);
    }
  }

  #cutOldest({ waiting, busy }: Peer): void {
    const [oldest] = waiting.size > 0 ? waiting : busy;
    this.#cut(oldest!, 'connections');
  }

  #begin(connection: Connection, pending: Pending): void {
    const { peer } = connection;
    connection.pending.add(pending);
    peer.waiting.delete(connection);
    peer.busy.add(connection);
    if (pending.isCounted) {
      peer.inFlight++;
      this.#inFlight++;
    }
    pending.response.once('close', () => this.#ended(connection, pending));
  }

  #ended(connection: Connection, pending: Pending): void {
    if (!connection.pending.delete(pending)) return;
    const { peer } = connection;
    if (pending.isCounted) {
      peer.inFlight--;
      this.#inFlight--;
    }
    if (connection.pending.size > 0 || !peer.busy.delete(connection)) return;
    peer.waiting.add(connection);
  }

  #closed(connection: Connection): void {
    if (!this.#connections.delete(connection.socket)) return;
    // Not every answer of a closed connection says that it is closed.
    for (const pending of connection.pending) this.#ended(connection, pending);
    const { peer } = connection;
    peer.waiting.delete(connection);
    peer.busy.delete(connection);
    if (countOf(peer) === 0) this.#peers.delete(peer.address);
  }

  #cut(connection: Connection, reason: HttpRefusal): void {
    this.#refusals.note(reason, connection.peer.address);
    this.#closed(connection);
    connection.socket.destroy();
  }

  /** Without traffic for long. If the connection has an answer, its client does not read it. */
  #timedOut(socket: Socket): void {
    const connection = this.#connections.get(socket);
    const isUnread = [...(connection?.pending ?? [])].some(({ response }) => response.writableEnded);
    if (connection !== undefined && isUnread) this.#cut(connection, 'unread_answer');
    else socket.destroy();
  }

  #cutOffUnread(): void {
    const nowMs = performance.now();
    for (const { busy } of this.#peers.values()) {
      for (const connection of busy) {
        for (const pending of connection.pending) {
          if (!pending.response.writableEnded) continue;
          if (pending.endedMs === 0) pending.endedMs = nowMs;
          if (nowMs - pending.endedMs < this.#limits.answerTimeoutMs) continue;
          this.#cut(connection, 'unread_answer');
          break;
        }
      }
    }
  }
}

const countOf = ({ waiting, busy }: Peer) => waiting.size + busy.size;

const STATUS_LINES: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/** Answers what is not a request, unless an answer to an earlier request is under way. */
function refuse(socket: Socket, code: string): void {
  const answering = socket as Socket & { _httpMessage?: unknown };
  if (socket.writable && !answering._httpMessage) {
    socket.write(`HTTP/1.1 ${STATUS_LINES[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  } else socket.destroy();
}
