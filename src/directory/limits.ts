/** Limits of requests and answers, with the sums behind them. */
import { DirectoryLimitError } from './errors.ts';
import type { Transaction } from './port.ts';

/** etcd refuses more than 128 comparisons, and more than 128 operations. */
export const TRANSACTION_ITEMS_MAX = 100;

/** etcd refuses a request of more than 1.5 MiB; a third is left for what surrounds keys and values. */
export const REQUEST_BYTES_MAX = 1024 ** 2;

/** One reading of a prefix: 100,000 loans of 300 bytes. */
export const RANGE_BYTES_MAX = 32 * 1024 ** 2;

/** Events of one revision: a transaction has at most 128 operations in a request of 1.5 MiB. */
export const REVISION_BYTES_MAX = 4 * 1024 ** 2;

/** Throws DirectoryLimitError. Both implementations call it before they send anything. */
export function checkTransaction({ when, change, elseRead = [] }: Transaction): void {
  const items = Math.max(when.length, change.length, elseRead.length);
  if (items > TRANSACTION_ITEMS_MAX) {
    throw new DirectoryLimitError(
      'A part of a transaction (comparisons, changes or reads)',
      items,
      TRANSACTION_ITEMS_MAX,
    );
  }
  let bytes = 0;
  for (const comparison of when) {
    bytes +=
      Buffer.byteLength(comparison.key) +
      (comparison.kind === 'equals' ? Buffer.byteLength(comparison.value) : 0);
  }
  for (const operation of change) {
    bytes +=
      Buffer.byteLength(operation.key) + (operation.kind === 'put' ? Buffer.byteLength(operation.value) : 0);
  }
  for (const key of elseRead) bytes += Buffer.byteLength(key);
  if (bytes > REQUEST_BYTES_MAX)
    throw new DirectoryLimitError('A transaction, in bytes,', bytes, REQUEST_BYTES_MAX);
}
