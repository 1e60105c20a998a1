/**
 * A TCP proxy on loopback between two processes that fails as networks do: it resets connections, keeps them open without
 * carrying data (half-open), or makes them slow or narrow. Its mode can change at any time.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type ProxyMode =
  | { readonly kind: 'pass' }
  /** Resets every connection, also new ones. */
  | { readonly kind: 'reset' }
  /** Connections stay open, but carry neither data nor an end. */
  | { readonly kind: 'silent' }
  /** All data arrives this much later, in order. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** Limits each direction of a connection. */
  | { readonly kind: 'narrow'; readonly bytesPerSecond: number };

const PASS: ProxyMode = { kind: 'pass' };

export class FaultyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #mode: ProxyMode = PASS;
  #target: { readonly host: string; readonly port: number };

  private constructor(target: string) {
    this.#target = addressOf(target);
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async listen(target: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the target of new connections. */
  connectTo(target: string): void {
    this.#target = addressOf(target);
  }

  /** Leaving `silent` resets all connections, because they have lost data. */
  be(mode: ProxyMode): void {
    if (mode.kind === 'reset' || this.#mode.kind === 'silent') this.#resetAll();
    this.#mode = mode;
  }

  async close(): Promise<void> {
    this.#resetAll();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  #accept(from: Socket): void {
    if (this.#mode.kind === 'reset') {
      from.resetAndDestroy();
      return;
    }
    const to = connect(this.#target.port, this.#target.host);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (this.#mode.kind !== 'silent') other.destroy();
      });
    }
    this.#carry(from, to);
    this.#carry(to, from);
  }

  #carry(from: Socket, to: Socket): void {
    let writableAtMs = 0;
    from.on('data', (piece: Buffer) => {
      const mode = this.#mode;
      if (mode.kind === 'silent') return;
      const nowMs = performance.now();
      if (mode.kind === 'slow') writableAtMs = Math.max(writableAtMs, nowMs + mode.delayMs);
      if (mode.kind === 'narrow') {
        writableAtMs = Math.max(writableAtMs, nowMs) + (1000 * piece.length) / mode.bytesPerSecond;
      }
      if (writableAtMs <= nowMs) {
        to.write(piece);
        return;
      }
      if (mode.kind === 'narrow') from.pause(); // unread data waits at the sender
      setTimeout(() => {
        if (!to.destroyed) to.write(piece);
        from.resume();
      }, writableAtMs - nowMs);
    });
    from.on('end', () => {
      if (this.#mode.kind !== 'silent') to.end();
    });
  }

  #resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }
}

function addressOf(target: string): { host: string; port: number } {
  const at = target.lastIndexOf(':');
  return { host: target.slice(0, at), port: Number(target.slice(at + 1)) };
}
