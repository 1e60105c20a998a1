/** The directory on etcd, by six calls of its own protocol (proto/etcd/rpc.proto). */
import { status } from '@grpc/grpc-js';
import type { Clock, Scheduler } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { etcdMethods, type KeyValue, type Messages } from '../../wire/etcd.ts';
import { DirectoryLimitError, DirectoryUnavailableError, LeaseNotFoundError } from '../errors.ts';
import { checkTransaction, RANGE_BYTES_MAX } from '../limits.ts';
import type {
  Directory,
  DirectoryEntry,
  GetAnswer,
  Lease,
  Position,
  RangeAnswer,
  Transaction,
  TransactionAnswer,
  Watch,
  WatchListener,
} from '../port.ts';
import { EtcdCalls, EtcdStatusError } from './calls.ts';
import { EtcdChannels, type EtcdEndpoints } from './channels.ts';
import { bytesOf, compareOf, endOfPrefix, entryOf, positionOf, requestOf } from './messages.ts';
import { EtcdWatch } from './watch.ts';

export interface EtcdDirectoryOptions extends EtcdEndpoints {
  /** Wall-clock time, for deadlines. */
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** For ids of leases. */
  readonly random: Random;
  readonly callTimeoutMs: number;
  /** A watch that hears nothing for so long is over. */
  readonly silenceMsMax: number;
}

/** Entries on a page. Values are a few hundred bytes; a page that is too large for one answer is read again in smaller ones. */
const PAGE_ENTRIES = 1_000;

/** How often a reading begins again because its revision was compacted between two pages. */
const READINGS_MAX = 3;

export class EtcdDirectory implements Directory {
  readonly #options: EtcdDirectoryOptions;
  readonly #channels: EtcdChannels;
  readonly #calls: EtcdCalls;
  readonly #watches = new Set<Watch>();

  constructor(options: EtcdDirectoryOptions) {
    this.#options = options;
    this.#channels = new EtcdChannels(options, options.clock);
    this.#calls = new EtcdCalls(this.#channels, options.clock, options.callTimeoutMs);
  }

  async get(key: string): Promise<GetAnswer> {
    const { header, kvs } = await this.#calls.unary(
      etcdMethods.Range,
      { key: bytesOf(key) },
      { name: 'get', isRepeatable: true },
    );
    return { entry: firstOf(kvs), position: positionOf(header) };
  }

  async range(prefix: string): Promise<RangeAnswer> {
    for (let readings = 1; ; readings++) {
      try {
        return await this.#pages(prefix);
      } catch (error) {
        const isCompacted = error instanceof EtcdStatusError && error.status === status.OUT_OF_RANGE;
        if (!isCompacted || readings >= READINGS_MAX) throw error;
      }
    }
  }

  async transact(transaction: Transaction): Promise<TransactionAnswer> {
    checkTransaction(transaction);
    const { when, change, elseRead = [] } = transaction;
    try {
      const { header, succeeded, responses } = await this.#calls.unary(
        etcdMethods.Txn,
        {
          compare: when.map(compareOf),
          success: change.map(requestOf),
          failure: elseRead.map((key) => ({ requestRange: { key: bytesOf(key) } })),
        },
        { name: 'transact', isRepeatable: false },
      );
      const read = succeeded ? [] : responses.map(({ responseRange }) => firstOf(responseRange?.kvs ?? []));
      return { succeeded, read, position: positionOf(header) };
    } catch (error) {
      const lease = change.find((operation) => operation.kind === 'put' && (operation.leaseId ?? 0) !== 0);
      if (!isNotFound(error) || lease?.kind !== 'put') throw error;
      throw new LeaseNotFoundError(lease.leaseId!);
    }
  }

  watch(prefix: string, afterRevision: number, listener: WatchListener): Watch {
    const { scheduler, silenceMsMax } = this.#options;
    const watch = new EtcdWatch({
      channels: this.#channels,
      scheduler,
      prefix,
      afterRevision,
      listener,
      silenceMsMax,
      onOver: (over) => this.#watches.delete(over),
    });
    this.#watches.add(watch);
    return watch;
  }

  async grantLease(ttlMs: number): Promise<Lease> {
    // Ids that the server chooses have 63 bits, more than a number holds.
    const id = this.#options.random.between(1, 2 ** 21 - 1) * 2 ** 32 + this.#options.random.uint32();
    const { TTL } = await this.#calls.unary(
      etcdMethods.LeaseGrant,
      { TTL: Math.ceil(ttlMs / 1_000), ID: id },
      { name: 'grantLease', isRepeatable: false },
    );
    return { id, ttlMs: TTL * 1_000 };
  }

  async keepAlive(leaseId: number): Promise<{ readonly ttlMs: number }> {
    const { TTL } = await this.#calls.single(
      etcdMethods.LeaseKeepAlive,
      { ID: leaseId },
      { name: 'keepAlive', isRepeatable: true },
    );
    if (TTL <= 0) throw new LeaseNotFoundError(leaseId);
    return { ttlMs: TTL * 1_000 };
  }

  async revokeLease(leaseId: number): Promise<void> {
    try {
      await this.#calls.unary(
        etcdMethods.LeaseRevoke,
        { ID: leaseId },
        { name: 'revokeLease', isRepeatable: true },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  close(): void {
    for (const watch of [...this.#watches]) watch.close();
    this.#channels.close();
  }

  async #pages(prefix: string): Promise<RangeAnswer> {
    const rangeEnd = endOfPrefix(prefix);
    const entries: DirectoryEntry[] = [];
    let position: Position | null = null;
    let bytes = 0;
    let limit = PAGE_ENTRIES;
    for (let from = bytesOf(prefix); ; ) {
      const page: Messages['RangeResponse'] | null = await this.#page({
        key: from,
        rangeEnd,
        limit,
        revision: position?.revision ?? 0,
      });
      if (page === null && limit === 1) {
        throw new DirectoryUnavailableError(
          'range',
          `an entry below ${prefix} does not fit one answer`,
          false,
        );
      }
      if (page === null) {
        limit = Math.ceil(limit / 8);
        continue;
      }
      position ??= positionOf(page.header);
      for (const kv of page.kvs) {
        bytes += kv.key.length + kv.value.length;
        entries.push(entryOf(kv));
      }
      if (bytes > RANGE_BYTES_MAX) {
        throw new DirectoryLimitError(`The keys below ${prefix}, in bytes,`, bytes, RANGE_BYTES_MAX);
      }
      if (!page.more) return { entries, position };
      from = Buffer.concat([page.kvs.at(-1)!.key, Buffer.from([0])]); // the next possible key
    }
  }

  /** null: the page is too large for one answer. */
  async #page(request: {
    key: Uint8Array;
    rangeEnd: Uint8Array;
    limit: number;
    revision: number;
  }): Promise<Messages['RangeResponse'] | null> {
    try {
      return await this.#calls.unary(etcdMethods.Range, request, { name: 'range', isRepeatable: true });
    } catch (error) {
      if (error instanceof EtcdStatusError && error.status === status.RESOURCE_EXHAUSTED) return null;
      throw error;
    }
  }
}

function firstOf(kvs: readonly KeyValue[]): DirectoryEntry | null {
  const first = kvs[0];
  return first === undefined ? null : entryOf(first);
}

function isNotFound(error: unknown): boolean {
  return error instanceof EtcdStatusError && error.status === status.NOT_FOUND;
}
