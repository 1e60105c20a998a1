/**
 * T11: decides which connections and streams reach the gRPC library. The library owns the listening HTTP/2 server and
 * limits only the streams of one connection. So the gate takes the place of the library's listeners for `connection`,
 * `session` and `stream`, and calls them for whatever it admits. What it refuses costs one event and no object of the
 * library.
 *
 * A connection is in its handshake until the peer has sent its HTTP/2 settings: TLS alone, or an open socket, proves
 * nothing. A stream is opening until it has sent its Hello, or its request.
 */
import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Server as NetServer, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { RELAYED_FOR, relayedKey } from '../tls/identity.ts';
import { closeWhenEnded, respondWithStatus } from '../wire/http2-status.ts';
import { type Admission, addressKey, type Holder } from './admission.ts';
import type { Arrivals } from './arrivals.ts';
import type { Lifetimes, ServedCall } from './lifetimes.ts';

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  readonly timer: NodeJS.Timeout;
  /** Without an identity: the handshake is counted by address. */
  readonly unidentified: Holder;
  /** Whose place the connection has; null if it has none. */
  holder: Holder | null;
  isHandshaking: boolean;
}

/** A stream that was admitted and that the library does not know yet. */
export interface AdmittedStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Gives the stream to the library, now or later; its data must be unread, or have been put back. */
  pass(): void;
  /** T11: the stream has sent what a call begins with. */
  opened(): void;
}

/** F6: takes streams in place of the library. */
export interface StreamRelay {
  /** Null: the library answers this one. */
  take(admitted: AdmittedStream): ServedCall | null;
}

/** F7: takes streams of sessions of other shards; `local` is how this replica takes those of its own. Null: the library answers. */
export interface StreamRouter {
  take(admitted: AdmittedStream, local: (admitted: AdmittedStream) => ServedCall | null): ServedCall | null;
}

export interface GateOptions {
  readonly handshakeTimeoutMs: number;
  /** Of a connection with TLS; '' if it has none. */
  readonly identityOf: (socket: TLSSocket) => string;
  readonly lifetimes: Lifetimes;
  readonly arrivals: Arrivals;
}

type Listener = (...args: unknown[]) => void;

export class Gate {
  readonly #admission: Admission;
  readonly #options: GateOptions;
  /** By peer: with TLS, the socket of a session is not the one that was accepted. */
  readonly #byPeer = new Map<string, Connection>();
  readonly #bySession = new WeakMap<object, Connection>();
  readonly #openings = new WeakMap<object, Holder>();
  /** Null: the library serves all streams. */
  relay: StreamRelay | null = null;
  /** Null: the shard is the only one. */
  router: StreamRouter | null = null;

  constructor(admission: Admission, options: GateOptions) {
    this.#admission = admission;
    this.#options = options;
  }

  guard(server: NetServer): void {
    replaceListeners(server, 'connection', (pass, socket) => this.#connection(pass, socket as Socket));
    replaceListeners(server, 'session', (pass, session) =>
      this.#session(pass, session as ServerHttp2Session),
    );
    replaceListeners(server, 'stream', (pass, stream, headers) =>
      this.#stream(pass, stream as ServerHttp2Stream, headers as IncomingHttpHeaders),
    );
  }

  /** The stream has sent its Hello, or its request. */
  opened(stream: object): void {
    const holder = this.#openings.get(stream);
    if (holder === undefined) return;
    this.#openings.delete(stream);
    this.#admission.giveBack('opening', holder);
  }

  /** Ends the connections that have not completed their handshake: the library does not know them. */
  close(): void {
    for (const { socket, isHandshaking } of this.#byPeer.values()) if (isHandshaking) socket.destroy();
  }

  #connection(pass: () => void, socket: Socket): void {
    this.#options.arrivals.note();
    const address = addressKey(socket.remoteAddress);
    const unidentified = { address, identity: '', connection: null };
    const connection: Connection = {
      socket,
      address,
      unidentified,
      holder: unidentified,
      isHandshaking: true,
      timer: setTimeout(() => this.#late(connection), this.#options.handshakeTimeoutMs),
    };
    if (!this.#admit(connection)) {
      clearTimeout(connection.timer);
      socket.on('error', () => {}); // the peer may be gone already
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    this.#byPeer.set(peer, connection);
    socket.once('close', () => {
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      this.#shaken(connection);
      if (connection.holder !== null) this.#admission.giveBack('connection', connection.holder);
    });
    whenItSpeaks(socket, pass);
  }

  #admit({ unidentified }: Connection): boolean {
    if (this.#admission.take('connection', unidentified) !== null) return false;
    if (this.#admission.take('handshake', unidentified) === null) return true;
    this.#admission.giveBack('connection', unidentified);
    return false;
  }

  /** After a long pause of this thread, the settings may have arrived and wait to be read: they come before the immediate. */
  #late(connection: Connection): void {
    setImmediate(() => {
      if (!connection.isHandshaking) return;
      const { handshakeTimeoutMs } = this.#options;
      const detail = `A connection did not complete its handshake within ${handshakeTimeoutMs} ms. The shard closed it.`;
      this.#admission.refused('handshake_timeout', connection.address, detail);
      connection.socket.destroy();
    });
  }

  #shaken(connection: Connection): void {
    if (!connection.isHandshaking) return;
    connection.isHandshaking = false;
    clearTimeout(connection.timer);
    this.#admission.giveBack('handshake', connection.unidentified);
  }

  #session(pass: () => void, session: ServerHttp2Session): void {
    const socket = session.socket as TLSSocket;
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection === undefined || !this.#identify(connection, socket)) {
      session.on('error', () => {}); // the peer may be gone already
      session.destroy();
      return;
    }
    this.#bySession.set(session, connection);
    session.once('remoteSettings', () => this.#shaken(connection));
    this.#options.lifetimes.begin(session);
    pass();
  }

  /** Moves the connection's place to its identity; false if the identity has none left. */
  #identify(connection: Connection, socket: TLSSocket): boolean {
    const identity = this.#options.identityOf(socket);
    if (identity === '') return true;
    const identified = { ...connection.unidentified, identity };
    this.#admission.giveBack('connection', connection.unidentified);
    const isAdmitted = this.#admission.take('connection', identified) === null;
    connection.holder = isAdmitted ? identified : null;
    return isAdmitted;
  }

  #stream(pass: () => void, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { session } = stream;
    const connection = session === undefined ? undefined : this.#bySession.get(session);
    if (session === undefined || connection === undefined) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    closeWhenEnded(stream);
    const ending = this.#options.lifetimes.endingOf(session);
    if (ending !== null) {
      respondWithStatus(stream, ending.code, ending.detail);
      return;
    }
    const holder = holderOf(connection, headers);
    const why = this.#admission.take('stream', holder);
    if (why !== null) {
      respondWithStatus(stream, status.RESOURCE_EXHAUSTED, why);
      return;
    }
    stream.once('close', () => {
      this.#admission.giveBack('stream', holder);
      this.opened(stream);
    });
    const whyNotOpening = this.#admission.take('opening', holder);
    if (whyNotOpening !== null) {
      respondWithStatus(stream, status.RESOURCE_EXHAUSTED, whyNotOpening);
      return;
    }
    this.#openings.set(stream, holder);
    const taken = this.#take({ stream, headers, pass, opened: () => this.opened(stream) });
    if (taken === null) pass();
    else this.#options.lifetimes.serve(stream, taken);
  }

  #take(admitted: AdmittedStream): ServedCall | null {
    const local = (own: AdmittedStream) => this.relay?.take(own) ?? null;
    return this.router === null ? local(admitted) : this.router.take(admitted, local);
  }
}

/** F6: a replica relays the streams of many clients over one connection; each counts for its client. */
function holderOf(connection: Connection, headers: IncomingHttpHeaders): Holder {
  const holder = connection.holder ?? connection.unidentified;
  const relayedFor = headers[RELAYED_FOR];
  if (relayedFor === undefined) return { ...holder, connection };
  if (holder.identity === '') return { ...holder, connection: null }; // without TLS there is no identity to name
  const identity = relayedKey(String(relayedFor), holder.identity);
  return identity === null ? { ...holder, connection } : { ...holder, identity, connection: null };
}

/**
 * In HTTP/2 and in TLS the client speaks first. Until it does, a connection costs a socket and no HTTP/2 session. The bytes
 * stay in the socket: Node passes them on to TLS or to the session.
 */
function whenItSpeaks(socket: Socket, then: () => void): void {
  const ignore = () => {}; // the socket closes by itself
  socket.on('error', ignore);
  socket.once('readable', () => {
    socket.off('error', ignore);
    if (socket.readableLength > 0) then();
    else socket.destroy(); // the peer has left without a word
  });
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function replaceListeners(
  server: NetServer,
  event: string,
  instead: (pass: () => void, ...args: unknown[]) => void,
): void {
  const listeners = server.listeners(event) as Listener[];
  server.removeAllListeners(event);
  server.on(event, (...args: unknown[]) => {
    const pass = () => {
      for (const listener of listeners) listener.apply(server, args);
    };
    instead(pass, ...args);
  });
}
