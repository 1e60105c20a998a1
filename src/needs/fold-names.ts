/**
 * The groups of folds (A1): `fold:` and the canonical aggregate of one gang, formatted once per aggregate. Every gang that
 * the need table holds keeps the name of its fold in use, so a decision never adds one: a full table of groups refuses a
 * roll-up and never stops a cycle (T1).
 *
 *   by aggregate   #users   u32   gangs and fold groups that use the name; 0 = no name
 *                  #group   u32   ref in the table of groups, counted once while the name has users
 */
import { assert } from '../base/assert.ts';
import { formatAmounts } from '../base/quantity.ts';
import type { StringTable } from '../base/string-table.ts';
import { grown, type VectorTable } from '../base/vectors.ts';

const AGGREGATES_AT_START = 1024;

export class FoldNames {
  readonly #groups: StringTable;
  readonly #vectors: VectorTable;
  #users = new Uint32Array(AGGREGATES_AT_START);
  #group = new Uint32Array(AGGREGATES_AT_START);

  constructor(groups: StringTable, vectors: VectorTable) {
    this.#groups = groups;
    this.#vectors = vectors;
  }

  /** Ref of the group; call `release` when done. Throws a StringTableFullError if a new name does not fit. */
  use(aggregate: number): number {
    if (aggregate >= this.#users.length) this.#grow(2 * aggregate);
    if (this.#users[aggregate] === 0) {
      this.#group[aggregate] = this.#groups.internWhole(
        `fold:${formatAmounts(this.#vectors.amountsOf(aggregate))}`,
      );
      this.#vectors.retain(aggregate); // keeps the ref from being reused
    }
    this.#users[aggregate]!++;
    return this.#group[aggregate]!;
  }

  /** The group of an aggregate whose name is in use. */
  groupOf(aggregate: number): number {
    return this.#group[aggregate]!;
  }

  release(aggregate: number): void {
    assert(this.#users[aggregate]! > 0, 'only a used fold name is released');
    if (--this.#users[aggregate]! > 0) return;
    this.#groups.releaseWhole(this.#group[aggregate]!);
    this.#vectors.release(aggregate);
  }

  #grow(aggregates: number): void {
    this.#users = grown(this.#users, new Uint32Array(aggregates));
    this.#group = grown(this.#group, new Uint32Array(aggregates));
  }
}
