/**
 * The server side of mutual TLS: TLS 1.3, and a client certificate from our CA. Leaf certificates live for hours, so the
 * server checks the files periodically. New connections use what it read last; open ones are judged by it (T14).
 *
 * Every handshake is a full one. With a session ticket OpenSSL would resume a session without looking at the certificate
 * again, and the intermediates would be missing.
 */
import { constants, type X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { trustedUntilMs } from './chain.ts';
import { type DeniedList, deniedBy, NO_ONE_DENIED, readDeniedList } from './denied.ts';
import { FileRotation, type RotationStep } from './file-rotation.ts';
import { pathsOf, type TlsFiles } from './files.ts';
import { bigfleetUrisOf, identityNameOf } from './identity.ts';
import { expiryMs, readMaterial, type TlsMaterial } from './material.ts';

/** Why a connection must end before its time. */
export type PeerEnd = 'expired' | 'untrusted' | 'denied';

export interface PeerVerdict {
  /** Wall-clock time at which the peer's certificate expires, or the CA that signed it. */
  readonly untilMs: number;
  /** Why the connection must end now; null if it may go on. */
  readonly end: { readonly reason: PeerEnd; readonly detail: string } | null;
}

/** A few `stat`s. */
const TLS_CHECK_INTERVAL_MS = 10_000;

export type TlsEvent =
  | { readonly kind: 'tls_reloaded'; readonly what: string }
  | { readonly kind: 'tls_reload_failed'; readonly path: string; readonly detail: string };

/** For metrics. Of several certificates in a file, the one that expires first. */
export interface TlsStatus {
  readonly files: readonly {
    readonly file: 'certificate' | 'ca';
    readonly validFromMs: number;
    readonly expiresMs: number;
  }[];
  /** Since the start. */
  readonly reloadFailures: number;
  /** The files on disk are not those in use. */
  readonly isFailing: boolean;
}

export interface RotatingServerOptions {
  readonly files: TlsFiles;
  /** '': none. */
  readonly deniedPath?: string;
  readonly checkIntervalMs?: number;
  /** OpenSSL compares certificates with the system's clock, and so does this class. */
  readonly wall?: Clock;
  readonly onEvent?: (event: TlsEvent) => void;
}

export class RotatingServerCredentials extends ServerCredentials {
  readonly #material: FileRotation<TlsMaterial>;
  readonly #denied: FileRotation<DeniedList>;
  readonly #wall: Clock;
  readonly #onEvent: (event: TlsEvent) => void;
  readonly #timer: NodeJS.Timeout;
  #trustVersion = 1;

  /** Throws UnusableTlsFileError if a file cannot be used. */
  constructor(options: RotatingServerOptions) {
    const { files, deniedPath = '', checkIntervalMs = TLS_CHECK_INTERVAL_MS, wall = systemClock } = options;
    const material = new FileRotation(pathsOf(files), () => readMaterial(files, wall.nowMs()));
    const context = contextOf(material.value);
    super({ requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' }, context);
    this.#material = material;
    this.#denied =
      deniedPath === ''
        ? new FileRotation([], () => NO_ONE_DENIED)
        : new FileRotation([deniedPath], () => readDeniedList(deniedPath));
    this.#wall = wall;
    this.#onEvent = options.onEvent ?? (() => {});
    this.#timer = setInterval(() => this.refresh(), checkIntervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  /** Changes when open connections must be judged again. */
  get trustVersion(): number {
    return this.#trustVersion;
  }

  get status(): TlsStatus {
    const { certificate, authorities } = this.#material.value;
    const firstToExpire = [...authorities].sort((a, b) => expiryMs(a) - expiryMs(b))[0]!;
    return {
      files: [
        { file: 'certificate', ...validityOf(certificate) },
        { file: 'ca', ...validityOf(firstToExpire) },
      ],
      reloadFailures: this.#material.failures + this.#denied.failures,
      isFailing: this.#material.isFailing || this.#denied.isFailing,
    };
  }

  /** Reads the files that have changed. */
  refresh(): void {
    const before = this.#material.value;
    const step = this.#material.check();
    if (step.kind === 'replaced') {
      const { options } = this.#material.value;
      this.updateSecureContextOptions(contextOf(this.#material.value));
      if (!(options.ca as Buffer).equals(before.options.ca as Buffer)) this.#trustVersion++;
    }
    this.#report(step, 'certificate, key and CA');
    const deniedStep = this.#denied.check();
    if (deniedStep.kind === 'replaced') this.#trustVersion++;
    this.#report(deniedStep, 'denied identities');
  }

  /** T14: whether a connection with this peer may go on, and until when. */
  judge(chain: readonly X509Certificate[]): PeerVerdict {
    const [leaf] = chain;
    if (leaf === undefined) return untrusted('A peer presented no certificate.');
    const names = leaf.subjectAltName ?? '';
    const who = identityNameOf(names);
    const line = deniedBy(this.#denied.value, bigfleetUrisOf(names), leaf.fingerprint256);
    if (line !== null) {
      const detail = `The shard denies ${who}: its file of denied identities has ${line}. Ask its operators.`;
      return { untilMs: 0, end: { reason: 'denied', detail } };
    }
    const untilMs = trustedUntilMs(chain, this.#material.value.authorities);
    if (untilMs === null) {
      return untrusted(`The certificate of ${who} is not signed by the shard's present CA.`);
    }
    if (untilMs > this.#wall.nowMs()) return { untilMs, end: null };
    const at = new Date(untilMs).toISOString();
    const what = untilMs === expiryMs(leaf) ? '' : ', or the CA that signed it,';
    const detail = `The certificate of ${who}${what} expired at ${at}. Connect with a new one.`;
    return { untilMs, end: { reason: 'expired', detail } };
  }

  #report(step: RotationStep, what: string): void {
    if (step.kind === 'replaced') this.#onEvent({ kind: 'tls_reloaded', what });
    if (step.kind !== 'failed') return;
    this.#onEvent({ kind: 'tls_reload_failed', path: step.error.path, detail: step.error.message });
  }
}

function untrusted(what: string): PeerVerdict {
  return { untilMs: 0, end: { reason: 'untrusted', detail: `${what} Connect with a new one.` } };
}

function contextOf({ options }: TlsMaterial): SecureContextOptions {
  return { ...options, secureOptions: constants.SSL_OP_NO_TICKET };
}

function validityOf(certificate: X509Certificate): { validFromMs: number; expiresMs: number } {
  return { validFromMs: Date.parse(certificate.validFrom), expiresMs: expiryMs(certificate) };
}
