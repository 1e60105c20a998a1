/**
 * T1: what each provider may take of a table that all of them share. A part of the table is reserved, in equal parts for the
 * providers; the rest is for those that come first. An entry counts for the provider that brought it first. So one provider
 * alone may fill the table up to what the others have not used of their parts, and each other still finds its part free.
 *
 *   by owner      0 = demand and the shard itself, provider + 1
 *   #entries      f64   entries that the owner brought, and that are still held
 *   #bytes        f64   their bytes
 *
 * While the whole reserve is free, which is usual, a new entry costs two comparisons.
 */
import { ShardError } from './errors.ts';

export class TableShareError extends ShardError {
  readonly code = 'table_share_exceeded';
  readonly next = 'reject-input';

  constructor(provider: string, table: string, what: string, used: number, limit: number) {
    super(
      `Provider ${provider} has ${used} of the ${limit} ${what} that the shard holds of ${table}, and what is left is ` +
        'reserved for others. The shard refused the record that needs more and kept the last good one. Remove what ' +
        'differs from machine to machine at the provider, or start the shard with a larger --max-machines or a smaller ' +
        '--provider-table-reserve.',
    );
  }
}

export interface SharedAmong {
  /** By index. */
  readonly providers: readonly string[];
  /** The part of a table that is reserved for providers. */
  readonly reserve: number;
}

export interface TableSize {
  /** What the entries are, for messages. */
  readonly name: string;
  readonly entriesMax: number;
  readonly bytesMax: number;
}

/** The owner of what a provider brings; 0 is demand, and the shard itself. */
export function ownerOf(provider: number): number {
  return provider + 1;
}

export class TableShares {
  readonly #size: TableSize;
  readonly #providers: readonly string[];
  /** By owner: the reserved part of the table. */
  readonly #reserved: Float64Array;
  /** The sum of them. */
  readonly #reservedAll: number;
  readonly #entries: Float64Array;
  readonly #bytes: Float64Array;
  /** The last error, for the next refusals of the same provider: a listing may have a million. */
  #refusal: { readonly owner: number; readonly used: number; readonly error: TableShareError } | null = null;

  private constructor(size: TableSize, { providers, reserve }: SharedAmong, demandReserve: number) {
    this.#size = size;
    this.#providers = providers;
    this.#reserved = new Float64Array(providers.length + 1).fill(
      (reserve * (1 - demandReserve)) / providers.length,
    );
    this.#reserved[0] = demandReserve;
    this.#reservedAll = this.#reserved.reduce((sum, part) => sum + part, 0);
    this.#entries = new Float64Array(providers.length + 1);
    this.#bytes = new Float64Array(providers.length + 1);
  }

  /** Null: nothing is reserved, because only one provider uses the table. */
  static create(size: TableSize, among: SharedAmong, demandReserve = 0): TableShares | null {
    if (among.providers.length < 2 && demandReserve === 0) return null;
    return new TableShares(size, among, demandReserve);
  }

  entriesOf(owner: number): number {
    return this.#entries[owner]!;
  }

  bytesOf(owner: number): number {
    return this.#bytes[owner]!;
  }

  /** Throws if a new entry of so many bytes would use what is reserved for others. `count` and `bytesUsed` are the table's. */
  admit(owner: number, bytes: number, count: number, bytesUsed: number): void {
    if (owner === 0) return; // T1 limits demand by cluster
    const { entriesMax, bytesMax } = this.#size;
    const open = 1 - this.#reservedAll;
    if (count + 1 <= entriesMax * open && bytesUsed + bytes <= bytesMax * open) return;
    this.#admitInto('entries', entriesMax, this.#entries, owner, 1, count);
    this.#admitInto('bytes', bytesMax, this.#bytes, owner, bytes, bytesUsed);
  }

  charge(owner: number, bytes: number): void {
    this.#entries[owner]!++;
    this.#bytes[owner]! += bytes;
  }

  refund(owner: number, bytes: number): void {
    this.#entries[owner]!--;
    this.#bytes[owner]! -= bytes;
  }

  #admitInto(
    what: string,
    max: number,
    charged: Float64Array,
    owner: number,
    wanted: number,
    used: number,
  ): void {
    const own = charged[owner]!;
    if (own + wanted <= Math.floor(max * this.#reserved[owner]!)) return;
    let kept = 0;
    let ofProviders = 0;
    for (let other = 1; other < charged.length; other++) {
      ofProviders += charged[other]!;
      if (other !== owner) kept += Math.max(0, Math.floor(max * this.#reserved[other]!) - charged[other]!);
    }
    kept += Math.max(0, Math.floor(max * this.#reserved[0]!) - (used - ofProviders));
    if (used + wanted + kept <= max || kept === 0) return; // a full table has its own error
    throw this.#refusalOf(owner, what, own, max);
  }

  #refusalOf(owner: number, what: string, used: number, max: number): TableShareError {
    const last = this.#refusal;
    if (last !== null && last.owner === owner && last.used === used) return last.error;
    const error = new TableShareError(this.#providers[owner - 1]!, this.#size.name, what, used, max);
    this.#refusal = { owner, used, error };
    return error;
  }
}
