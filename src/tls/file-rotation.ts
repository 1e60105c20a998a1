/**
 * A value that is read from files, and again when they change. T14: if they cannot be used, the last good value stays, and
 * the failure is reported once. Certificate and key are replaced one after the other, so that for a moment they may not match:
 * the next check tries again.
 */
import { statSync } from 'node:fs';
import { UnusableTlsFileError } from './files.ts';

export type RotationStep =
  | { readonly kind: 'same' }
  | { readonly kind: 'replaced' }
  | { readonly kind: 'failed'; readonly error: UnusableTlsFileError };

const SAME: RotationStep = { kind: 'same' };
const REPLACED: RotationStep = { kind: 'replaced' };

export class FileRotation<Value> {
  readonly #paths: readonly string[];
  readonly #read: () => Value;
  #value: Value;
  #version: string;
  /** The version and the message of the last failure; '' after a success. */
  #failed = '';
  #failures = 0;

  /** `read` throws UnusableTlsFileError if the files cannot be used; so does this constructor. */
  constructor(paths: readonly string[], read: () => Value) {
    this.#paths = paths;
    this.#read = read;
    this.#version = versionOf(paths);
    this.#value = read();
  }

  get value(): Value {
    return this.#value;
  }

  /** Failures since the start; one that repeats counts once. */
  get failures(): number {
    return this.#failures;
  }

  /** The files on disk are not those in use. */
  get isFailing(): boolean {
    return this.#failed !== '';
  }

  check(): RotationStep {
    const version = versionOf(this.#paths);
    if (version === this.#version) {
      this.#failed = ''; // the last good files are back
      return SAME;
    }
    try {
      this.#value = this.#read();
      this.#version = version;
      this.#failed = '';
      return REPLACED;
    } catch (error) {
      if (!(error instanceof UnusableTlsFileError)) throw error;
      const failed = `${version} ${error.message}`;
      if (failed === this.#failed) return SAME;
      this.#failed = failed;
      this.#failures++;
      return { kind: 'failed', error };
    }
  }
}

/** Changes when any of the files changes. A file may be missing for a moment while it is replaced. */
function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((file) => (file === undefined ? 'none' : `${file.ino}/${file.mtimeMs}/${file.size}`))
    .join(' ');
}
