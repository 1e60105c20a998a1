/** Providers that break the protocol below gRPC: raw HTTP/2 and raw sockets. */
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface Hostile {
  readonly address: string;
  close(): Promise<void>;
}

/** A server that passes every new connection to `onSocket`. */
export function rawServer(onSocket: (socket: Socket) => void): Promise<Hostile> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client may close the connection at any time
    onSocket(socket);
  });
  return listen(server, () => {
    for (const socket of sockets) socket.destroy();
  });
}

/** An HTTP/2 server that passes every call to `onCall`, with a function that cuts all connections. */
export function http2Server(onCall: (stream: ServerHttp2Stream, cut: () => void) => void): Promise<Hostile> {
  const server = createHttp2Server();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    onCall(stream, cut);
  });
  return listen(server, cut);
}

function listen(server: Server, cut: () => void): Promise<Hostile> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        address: `127.0.0.1:${port}`,
        close: () =>
          new Promise((closed) => {
            cut();
            server.close(() => closed());
          }),
      });
    });
  });
}

/** A gRPC frame; `length` may be wrong. */
export function frame(message: Uint8Array, { compressed = 0, length = message.length } = {}): Buffer {
  const header = Buffer.alloc(5);
  header[0] = compressed;
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, message]);
}

export const GRPC_HEADERS = { ':status': 200, 'content-type': 'application/grpc' };

/** Answers a call as a gRPC server would: these bytes, then this status. */
export function answer(
  stream: ServerHttp2Stream,
  body: Uint8Array | null,
  trailers: Record<string, string> = { 'grpc-status': '0' },
  headers: Record<string, string> = {},
): void {
  stream.respond({ ...GRPC_HEADERS, ...headers }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(body ?? undefined);
}
