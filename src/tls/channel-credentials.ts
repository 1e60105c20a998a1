/**
 * TLS credentials of a gRPC channel that is dialled by name or by IP address. The library sends the dialled host as the
 * server name of the handshake, and a server name must not be an IP address (RFC 6066): Node.js writes a warning
 * that is no JSON line into the log, and a later version refuses it. So a connection to an IP address sends no server
 * name. The certificate is still checked against the address, which must be among its alternative names.
 */
import { isIP, type Socket } from 'node:net';
import { connect, type PeerCertificate, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials } from '@grpc/grpc-js';

type CheckIdentity = (host: string, certificate: PeerCertificate) => Error | undefined;
type CreateConnector = ChannelCredentials['_createSecureConnector'];
type Connector = ReturnType<CreateConnector>;

export class TlsCredentials extends ChannelCredentials {
  readonly #context: SecureContext;
  readonly #checkServerIdentity: CheckIdentity;
  readonly #byName: ChannelCredentials;

  constructor(context: SecureContext, checkServerIdentity: CheckIdentity) {
    super();
    this.#context = context;
    this.#checkServerIdentity = checkServerIdentity;
    this.#byName = ChannelCredentials.createFromSecureContext(context, { checkServerIdentity });
  }

  override _isSecure(): boolean {
    return true;
  }

  /** Two objects may differ in their age, and then channels must not share a connection. */
  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(...[target, options, ofCalls]: Parameters<CreateConnector>): Connector {
    const host = hostOf(target.path);
    if (isIP(host) === 0) return this.#byName._createSecureConnector(target, options, ofCalls);
    return {
      connect: async (socket) => ({ socket: await this.#handshake(socket, host), secure: true }),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => ofCalls ?? CallCredentials.createEmpty(),
      destroy() {},
    };
  }

  #handshake(socket: Socket, host: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const secured = connect(
        {
          socket,
          host, // what the certificate is checked against
          secureContext: this.#context,
          checkServerIdentity: this.#checkServerIdentity,
          ALPNProtocols: ['h2'],
        },
        () => resolve(secured), // called only for a certificate that passed all checks
      );
      secured.on('error', reject);
    });
  }
}

/** The host of `host:port`, `[address]:port` or a bare host. */
function hostOf(path: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(path);
  if (bracketed !== null) return bracketed[1]!;
  return isIP(path) === 6 ? path : path.replace(/:\d*$/, '');
}
