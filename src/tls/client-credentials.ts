/**
 * The client side of mutual TLS, for connections to providers and to the coordinator. It requires TLS 1.3 and a server
 * certificate from the shared CA, for the dialled host, that is not a cluster's. All parties share the CA: without the
 * last check, an operator whose certificate carries a host name could pose as a provider and receive bootstrap blobs, or
 * as the coordinator and give instructions.
 */
import { isIP, connect as openSocket, type Socket } from 'node:net';
import {
  checkServerIdentity,
  createSecureContext,
  connect as openTlsSocket,
  type PeerCertificate,
  type SecureContext,
} from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { Random } from '../base/random.ts';
import { TlsCredentials } from './channel-credentials.ts';
import { CONNECTION_AGE_MS, jittered } from './connection-age.ts';
import { FileRotation } from './file-rotation.ts';
import { pathsOf, type TlsFiles, type UnusableTlsFileError } from './files.ts';
import { identityKey, isShardKey } from './identity.ts';
import { readMaterial } from './material.ts';

export class WrongServerIdentityError extends ShardError {
  readonly code = 'wrong_server_identity';
  readonly next = 'reject-input';

  constructor(host: string) {
    super(
      `The server at ${host} presented the certificate of a cluster (bigfleet://cluster/…); a cluster is only ever ` +
        'a client. The connection was closed before anything was sent. Give the server a certificate of its own.',
    );
  }
}

export class NotAReplicaError extends ShardError {
  readonly code = 'not_a_replica';
  readonly next = 'retry-later';

  constructor(host: string) {
    super(
      `The server at ${host} presented a certificate that is not a shard's (bigfleet://shard/…). The replica closed the ` +
        'connection before it sent anything. Give every replica a certificate of its shard.',
    );
  }
}

/** Three `stat`s; certificates live for hours. */
const TLS_CHECK_INTERVAL_MS = 10_000;

/**
 * The credentials to dial with, reloaded when their files change. A shard need not report a failed rotation here: it listens
 * with the same files, and its server reports it.
 */
export class ClientCredentials {
  readonly #files: TlsFiles | undefined;
  readonly #clock: Clock;
  readonly #ageMs: number;
  readonly #random: Random;
  readonly #onFailed: (error: UnusableTlsFileError) => void;
  #rotation: FileRotation<SecureContext> | null = null;
  #current: ChannelCredentials | null = null;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** T14: connections are dialled again from then on. */
  #dueMs = Number.NEGATIVE_INFINITY;

  /** Without files: plaintext. `onFailed`: replaced files cannot be used, and the last good ones stay in use. */
  constructor(
    files: TlsFiles | undefined,
    clock: Clock,
    ageMs = CONNECTION_AGE_MS,
    onFailed: (error: UnusableTlsFileError) => void = () => {},
  ) {
    this.#files = files;
    this.#clock = clock;
    this.#ageMs = ageMs;
    this.#random = new Random(clock.nowMs());
    this.#onFailed = onFailed;
  }

  /**
   * Returns another object than last time if the files were replaced, or if connections are as old as they may be: dial
   * again. Throws UnusableTlsFileError if no usable certificate has been read yet.
   */
  current(): ChannelCredentials {
    const files = this.#files;
    if (files === undefined) {
      this.#current ??= ChannelCredentials.createInsecure();
      return this.#current;
    }
    const { context, isReplaced } = this.#read(files);
    const nowMs = this.#clock.nowMs();
    if (this.#current === null || isReplaced || nowMs >= this.#dueMs) {
      this.#dueMs = nowMs + jittered(this.#ageMs, this.#random);
      this.#current = new TlsCredentials(context, verifyServerIdentity);
    }
    return this.#current;
  }

  /** F6: a connection to a replica, for HTTP/2 without the gRPC library. The server's certificate must be a shard's. */
  dialReplica(host: string, port: number): Socket {
    const files = this.#files;
    if (files === undefined) return openSocket({ host, port });
    return openTlsSocket({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}), // a server name must not be an IP address
      secureContext: this.#read(files).context,
      checkServerIdentity: verifyReplicaIdentity,
      ALPNProtocols: ['h2'],
    });
  }

  #read(files: TlsFiles): { readonly context: SecureContext; readonly isReplaced: boolean } {
    this.#rotation ??= new FileRotation(pathsOf(files), () => load(files));
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#checkedMs < TLS_CHECK_INTERVAL_MS) {
      return { context: this.#rotation.value, isReplaced: false };
    }
    this.#checkedMs = nowMs;
    const step = this.#rotation.check();
    if (step.kind === 'failed') this.#onFailed(step.error);
    return { context: this.#rotation.value, isReplaced: step.kind === 'replaced' };
  }
}

function load(files: TlsFiles): SecureContext {
  return createSecureContext(readMaterial(files, systemClock.nowMs()).options);
}

/** Alternative names are `TYPE:value`, separated by commas; a value that contains a comma is quoted. */
const CLUSTER_SAN = /(?:^|,\s*)URI:"?bigfleet:\/\/cluster(?:\/|"|,|$)/i;

function verifyServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const mismatch = checkServerIdentity(host, certificate);
  if (mismatch !== undefined) return mismatch;
  if (CLUSTER_SAN.test(certificate.subjectaltname ?? '')) return new WrongServerIdentityError(host);
  return undefined;
}

function verifyReplicaIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const mismatch = checkServerIdentity(host, certificate);
  if (mismatch !== undefined) return mismatch;
  return isShardKey(identityKey(certificate)) ? undefined : new NotAReplicaError(host);
}
