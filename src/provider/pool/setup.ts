/**
 * The setup of the threads and the paths of their programs. Plain data: it survives structured clone, and its shared
 * buffers stay shared.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ShardError } from '../../base/errors.ts';
import type { ProviderEndpoint } from '../client/endpoint.ts';
import type { SharedFencing } from '../client/fencing.ts';
import type { CallLimits } from '../client/limits.ts';

/** For a thread that calls and reads. */
export interface CallsSetup {
  /** Calls refer to a provider by its index here. */
  readonly endpoints: readonly ProviderEndpoint[];
  readonly fencing: SharedFencing;
  readonly limits: Partial<CallLimits>;
}

/** For the listing thread. */
export interface ListSetup extends CallsSetup {
  /** The result of `Inventory.share()`; this folder only passes it on. */
  readonly inventory: object;
  /** Size of one part of a listing while the inventory is empty; a smaller answer is one part. */
  readonly partBytes: number;
}

/** The threads' programs, as file URLs. */
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

/** In the build, `workers/` is beside `src/`. Tests run this module as TypeScript and the threads from `dist/`. */
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
