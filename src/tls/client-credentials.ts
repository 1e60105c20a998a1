/**
 * The client side of mutual TLS, for connections to providers and to the coordinator. It requires TLS 1.3 and a server
 * certificate from the shared CA, for the dialled host, that is not a cluster's. All parties share the CA: without the
 * last check, an operator whose certificate carries a host name could pose as a provider and receive bootstrap blobs, or
 * as the coordinator and give instructions.
 */
import { checkServerIdentity, createSecureContext, type PeerCertificate, type SecureContext } from 'node:tls';
import { ChannelCredentials } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { Random } from '../base/random.ts';
import { TlsCredentials } from './channel-credentials.ts';
import { CONNECTION_AGE_MS, jittered } from './connection-age.ts';
import { FileRotation } from './file-rotation.ts';
import { pathsOf, type TlsFiles, type UnusableTlsFileError } from './files.ts';
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
    this.#rotation ??= new FileRotation(pathsOf(files), () => load(files));
    const nowMs = this.#clock.nowMs();
    let isReplaced = false;
    if (nowMs - this.#checkedMs >= TLS_CHECK_INTERVAL_MS) {
      this.#checkedMs = nowMs;
      const step = this.#rotation.check();
      isReplaced = step.kind === 'replaced';
      if (step.kind === 'failed') this.#onFailed(step.error);
    }
    if (this.#current === null || isReplaced || nowMs >= this.#dueMs) {
      this.#dueMs = nowMs + jittered(this.#ageMs, this.#random);
      this.#current = new TlsCredentials(this.#rotation.value, verifyServerIdentity);
    }
    return this.#current;
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
