/** A client that speaks HTTP/2 or less, from an address of its own: what no gRPC library would send. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import { closeAfterwards } from './rig.ts';

/** Every address of 127.0.0.0/8 is this host, so a test may have neighbours. */
export const HOSTILE_ADDRESS = '127.0.0.2';

export const SESSION_PATH = '/bigfleet.v1alpha1.Shard/Session';
export const INSPECT_PATH = '/bigfleet.v1alpha1.ShardRead/InspectNeeds';
export const HEALTH_PATH = '/grpc.health.v1.Health/Check';

/** A connection that says nothing. */
export function rawConnection(address: string, localAddress = HOSTILE_ADDRESS): Socket {
  const [host, port] = address.split(':');
  const socket = connect({ host: host!, port: Number(port), localAddress });
  socket.on('error', () => {});
  closeAfterwards(() => void socket.destroy());
  return socket;
}

export class HostileClient {
  readonly session: ClientHttp2Session;

  /** Without `tls`: plaintext. */
  constructor(address: string, tls?: Pick<SecureContextOptions, 'ca' | 'cert' | 'key'>) {
    const [host, port] = address.split(':');
    const own = { host: host!, port: Number(port), localAddress: HOSTILE_ADDRESS };
    this.session = connectHttp2(`${tls === undefined ? 'http' : 'https'}://${address}`, {
      createConnection: () =>
        tls === undefined ? rawConnection(address) : connectTls({ ...own, ...tls, ALPNProtocols: ['h2'] }),
    });
    this.session.on('error', () => {});
    closeAfterwards(() => this.session.destroy());
  }

  /** Opens a call and sends these bytes, which need not be a message. */
  open(path: string, bytes: Buffer = Buffer.alloc(0)): HostileStream {
    const stream = this.session.request(
      { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      { endStream: false },
    );
    if (bytes.length > 0) stream.write(bytes);
    return new HostileStream(stream);
  }
}

export class HostileStream {
  /** The gRPC status; null while the server has sent none. */
  status: number | null = null;
  details = '';
  isClosed = false;

  constructor(stream: ClientHttp2Stream) {
    const note = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] === undefined) return;
      this.status = Number(headers['grpc-status']);
      this.details = decodeURI(String(headers['grpc-message']));
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('error', () => {});
    stream.on('close', () => {
      this.isClosed = true;
    });
    stream.resume();
  }
}

/** The header of a message, which announces its length. */
export function announce(bytes: number): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(bytes, 1);
  return header;
}
