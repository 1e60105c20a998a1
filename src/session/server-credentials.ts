/**
 * The server side of mutual TLS: TLS 1.3, and a client certificate from our CA. Leaf certificates live for hours, so the
 * server checks the files periodically; new connections use the new certificate, open ones continue. While certificate and
 * key are being replaced, one after the other, the old pair stays in use.
 */
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import { type TlsFiles, UnusableCertificateError, versionOf } from '../tls/files.ts';

/** Three `stat`s. */
const TLS_CHECK_INTERVAL_MS = 10_000;
const TLS_VERSION = 'TLSv1.3';

export class RotatingServerCredentials extends ServerCredentials {
  readonly #files: TlsFiles;
  readonly #timer: NodeJS.Timeout;
  #version: string;

  /** Throws UnusableCertificateError if the files cannot be used. */
  constructor(files: TlsFiles, checkIntervalMs = TLS_CHECK_INTERVAL_MS) {
    const version = versionOf(files);
    super({ requestCert: true, rejectUnauthorized: true, minVersion: TLS_VERSION }, read(files));
    this.#files = files;
    this.#version = version;
    this.#timer = setInterval(() => this.#refresh(), checkIntervalMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  #refresh(): void {
    const version = versionOf(this.#files);
    if (version === this.#version) return;
    try {
      this.updateSecureContextOptions(read(this.#files));
      this.#version = version;
    } catch {
      // Half replaced: the next check tries again.
    }
  }
}

function read(files: TlsFiles): SecureContextOptions {
  try {
    const options: SecureContextOptions = {
      cert: readFileSync(files.certificatePath),
      key: readFileSync(files.privateKeyPath),
      ca: readFileSync(files.caPath),
      minVersion: TLS_VERSION,
    };
    createSecureContext(options); // throws for a pair that does not match
    return options;
  } catch (error) {
    throw new UnusableCertificateError(files, (error as Error).message);
  }
}
