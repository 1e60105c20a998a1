/**
 * The client side of mutual TLS, for connections to providers and to the coordinator. It requires TLS 1.3 and a server
 * certificate from the shared CA, for the dialled host, that is not a cluster's. All parties share the CA: without the
 * last check, an operator whose certificate carries a host name could pose as a provider and receive bootstrap blobs, or
 * as the coordinator and give instructions.
 */
import { readFileSync } from 'node:fs';
import { checkServerIdentity, createSecureContext, type PeerCertificate } from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { type TlsFiles, UnusableCertificateError, versionOf } from './files.ts';

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

/** Three `stat`s; certificates live for hours. */
const TLS_CHECK_INTERVAL_MS = 10_000;

/** The credentials to dial with, reloaded when their files change. */
export class ClientCredentials {
  readonly #files: TlsFiles | undefined;
  readonly #clock: Clock;
  #current: ChannelCredentials | null = null;
  #version = '';
  #checkedMs = Number.NEGATIVE_INFINITY;

  /** Without files: plaintext. */
  constructor(files: TlsFiles | undefined, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  /**
   * Returns another object than last time if the files were replaced: dial again. Throws UnusableCertificateError if no
   * usable certificate has been read yet.
   */
  current(): ChannelCredentials {
    if (this.#files === undefined) {
      this.#current ??= ChannelCredentials.createInsecure();
      return this.#current;
    }
    const nowMs = this.#clock.nowMs();
    if (this.#current !== null && nowMs - this.#checkedMs < TLS_CHECK_INTERVAL_MS) return this.#current;
    this.#checkedMs = nowMs;
    const version = versionOf(this.#files);
    if (this.#current !== null && version === this.#version) return this.#current;
    try {
      this.#current = load(this.#files);
      this.#version = version;
    } catch (error) {
      // Certificate and key are replaced one after the other: use the old pair until both match.
      if (this.#current === null) throw new UnusableCertificateError(this.#files, (error as Error).message);
    }
    return this.#current;
  }
}

function load(files: TlsFiles): ChannelCredentials {
  const context = createSecureContext({
    cert: readFileSync(files.certificatePath),
    key: readFileSync(files.privateKeyPath),
    ca: readFileSync(files.caPath),
    minVersion: 'TLSv1.3',
  });
  return ChannelCredentials.createFromSecureContext(context, { checkServerIdentity: verifyServerIdentity });
}

/** Alternative names are `TYPE:value`, separated by commas; a value that contains a comma is quoted. */
const CLUSTER_SAN = /(?:^|,\s*)URI:"?bigfleet:\/\/cluster(?:\/|"|,|$)/i;

function verifyServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const mismatch = checkServerIdentity(host, certificate);
  if (mismatch !== undefined) return mismatch;
  if (CLUSTER_SAN.test(certificate.subjectaltname ?? '')) return new WrongServerIdentityError(host);
  return undefined;
}
