/**
 * What the threads are started with, and where their programs are. Plain data: it survives structured clone, and the
 * buffers in it stay shared.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ShardError } from '../../base/errors.ts';
import type { ProviderEndpoint } from '../client/endpoint.ts';
import type { SharedFencing } from '../client/fencing.ts';
import type { CallLimits } from '../client/limits.ts';

/** Of a thread that calls and reads. */
export interface CallsSetup {
  /** By the index that calls name. */
  readonly endpoints: readonly ProviderEndpoint[];
  readonly fencing: SharedFencing;
  readonly limits: Partial<CallLimits>;
}

/** Of the thread that lists. */
export interface ListSetup extends CallsSetup {
  /** What `Inventory.share()` gave; this folder only hands it on. */
  readonly inventory: object;
  /** Bytes of one part of a listing that finds the inventory empty; a shorter answer is one. */
  readonly partBytes: number;
}

/** Programs of threads, as file URLs. */
export interface WorkerFiles {
  readonly calls: URL;
  readonly list: URL;
}

export class MissingWorkerError extends ShardError {
  readonly code = 'missing_worker';
  readonly next = 'refuse-to-start';

  constructor(path: string) {
    super(
      `The program of a worker thread is missing: ${path}. Without it the shard cannot call providers. ` +
        'Build first (npm run build), or reinstall the package.',
    );
  }
}

/** Beside this module once compiled; tests run this module as TypeScript and the threads from the build. */
export function workerFiles(): WorkerFiles {
  const folder = new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/workers/' : '../../../workers/',
    import.meta.url,
  );
  return { calls: new URL('calls.js', folder), list: new URL('list.js', folder) };
}

export function pathOfWorker(file: URL): string {
  const path = fileURLToPath(file);
  if (!existsSync(path)) throw new MissingWorkerError(path);
  return path;
}
