/**
 * The boundary of demand: decoded roll-up rows, and the one place that checks them. The shard accepts or refuses a
 * roll-up as a whole, so a row is checked in full before any of it is kept; later code trusts every bucket and
 * quantity.
 */
import { isDigestText } from '../base/digest-text.ts';
import { DEMAND_DIMENSIONS_MAX, DIMENSIONS_MAX, type DimensionTable } from '../base/dimensions.ts';
import { ShardError } from '../base/errors.ts';
import { InvalidQuantityError, NAME_LENGTH_MAX, parseDemand } from '../base/quantity.ts';
import { fits, GROUP_BYTES_MAX, KEY_BYTES_MAX, tooLong, VALUE_BYTES_MAX } from '../base/text-limits.ts';
import type { VectorTable } from '../base/vectors.ts';
import { isPenaltyBucket } from '../machine/penalty.ts';
import { isOperator, isWhenUnsatisfiable, type Requirement, type Spread } from './requirements.ts';

/** One decoded row. Quantities are text by resource name; numbers are the protocol's, unchecked. */
export interface RollupRow {
  readonly requirements: readonly Requirement[];
  readonly aggregate: Readonly<Record<string, string>>;
  readonly minUnit: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly spread: readonly Spread[];
  readonly interruptionBucket: number;
  readonly reclamationBucket: number;
  readonly group: string;
  /** Its size on the wire; absent if the row never was there. */
  readonly wireBytes?: number;
}

/** Dimensions with a quantity above zero in one roll-up. Real roll-ups have three to five. */
export const ROLLUP_DIMENSIONS_MAX = 64;

/** T6: names in one roll-up that no machine has. A typing error brings one, a new accelerator two. */
export const CLUSTER_DEMAND_NAMES_MAX = 16;
/** Names that an error shows. */
const SHOWN_NAMES_MAX = 8;

/** T4: or a client could give its need the name of another need's assignment. */
const DIGEST_GROUP = 'the shard itself writes groups of this form on machines, in place of long ones';

const CORRECT_AND_SEND = 'Correct the field and send the roll-up again.';

export class RollupRejectedError extends ShardError {
  readonly code = 'rollup_rejected';
  readonly next = 'reject-input';
  readonly clusterId: string;
  /** The path of the offending field in the message: `needs[3].requirements[0].operator`. */
  readonly field: string;

  constructor(clusterId: string, field: string, why: string, nextStep = CORRECT_AND_SEND) {
    super(
      `The roll-up of cluster ${JSON.stringify(clusterId)} was refused: ${field} ${why}. ` +
        `The shard applied none of it; the demand accepted before stays. ${nextStep}`,
    );
    this.clusterId = clusterId;
    this.field = field;
  }
}

/** T1: the roll-up has more of something than one cluster may have. */
export class RollupOverLimitError extends RollupRejectedError {
  /** What there is too much of: `distinct profiles`. */
  readonly what: string;
  readonly limit: number;

  constructor(clusterId: string, field: string, what: string, count: number, limit: number) {
    super(
      clusterId,
      field,
      `brings the roll-up to ${count} ${what}; the limit for one cluster is ${limit}`,
      'Send a smaller roll-up: remove labels and groups with a value for each row, or split the cluster.',
    );
    this.what = what;
    this.limit = limit;
  }
}

/** A session reports one cluster. A roll-up that names no cluster is for the session's own. */
export function requireOwnCluster(clusterId: string, namedClusterId: string): void {
  if (namedClusterId === '' || namedClusterId === clusterId) return;
  const why = `names cluster ${JSON.stringify(namedClusterId)}, but this session is for another cluster`;
  throw new RollupRejectedError(clusterId, 'cluster_id', why);
}

export class RowChecker {
  readonly #dimensions: DimensionTable;
  readonly #isSeen = new Uint8Array(DIMENSIONS_MAX);
  readonly #newNames = new Set<string>();
  #seenCount = 0;
  #clusterId = '';

  constructor(dimensions: DimensionTable) {
    this.#dimensions = dimensions;
  }

  /** Begins a roll-up. */
  begin(clusterId: string): void {
    this.#clusterId = clusterId;
    this.#isSeen.fill(0);
    this.#newNames.clear();
    this.#seenCount = 0;
  }

  /** Throws unless every field of the row is known and in range. Keeps and interns nothing. */
  check(row: RollupRow, index: number): void {
    for (const [position, { key, operator, values }] of row.requirements.entries()) {
      if (key === '') this.#refuse(index, `requirements[${position}].key`, 'is empty');
      if (!fits(key, KEY_BYTES_MAX))
        this.#refuse(index, `requirements[${position}].key`, tooLong(key, KEY_BYTES_MAX));
      for (let at = 0; at < values.length; at++) {
        if (fits(values[at]!, VALUE_BYTES_MAX)) continue;
        const why = tooLong(values[at]!, VALUE_BYTES_MAX);
        this.#refuse(index, `requirements[${position}].values[${at}]`, why);
      }
      if (!isOperator(operator)) {
        this.#refuse(index, `requirements[${position}].operator`, `is ${operator}, an unknown operator`);
      }
    }
    for (const [position, { topologyKey, maxSkew, whenUnsatisfiable }] of row.spread.entries()) {
      if (!fits(topologyKey, KEY_BYTES_MAX))
        this.#refuse(index, `spread[${position}].topology_key`, tooLong(topologyKey, KEY_BYTES_MAX));
      if (!isInt32(maxSkew))
        this.#refuse(index, `spread[${position}].max_skew`, `is ${maxSkew}, not an int32`);
      if (isWhenUnsatisfiable(whenUnsatisfiable)) continue;
      const why = `is ${whenUnsatisfiable}, an unknown mode`;
      this.#refuse(index, `spread[${position}].when_unsatisfiable`, why);
    }
    if (!fits(row.group, GROUP_BYTES_MAX)) this.#refuse(index, 'group', tooLong(row.group, GROUP_BYTES_MAX));
    if (isDigestText(row.group)) this.#refuse(index, 'group', `is ${row.group}: ${DIGEST_GROUP}`);
    if (!isInt32(row.priority)) this.#refuse(index, 'priority', `is ${row.priority}, not an int32`);
    this.#checkBucket(index, 'interruption_penalty_bucket', row.interruptionBucket);
    this.#checkBucket(index, 'reclamation_penalty_bucket', row.reclamationBucket);
    this.#checkQuantities(index, 'aggregate_resources', row.aggregate);
    this.#checkQuantities(index, 'min_unit', row.minUnit);
  }

  /** Counts the dimensions of a row that is kept from the roll-up before. */
  countKept(vectors: VectorTable, vectorRef: number, index: number): void {
    const { start, length, dims } = vectors;
    const end = start[vectorRef]! + length[vectorRef]!;
    for (let entry = start[vectorRef]!; entry < end; entry++) this.#countDimension(dims[entry]!);
    this.#checkDimensionCount(index, 'aggregate_resources');
  }

  /** After the last row: throws if the roll-up uses too many names that no machine has (T6). */
  end(): void {
    const dimensions = this.#dimensions;
    const names = [...this.#newNames];
    let newCount = names.length;
    for (let dim = 0; dim < dimensions.count; dim++) {
      if (this.#isSeen[dim] === 0 || dimensions.isSupplied(dim)) continue;
      if (!dimensions.isUsed(dim)) newCount++;
      names.push(dimensions.nameOf(dim));
    }
    const what = 'resource names that no machine has';
    if (names.length > CLUSTER_DEMAND_NAMES_MAX) {
      const shown = `${what} (${shownNames(names)})`;
      throw new RollupOverLimitError(this.#clusterId, 'needs', shown, names.length, CLUSTER_DEMAND_NAMES_MAX);
    }
    const known = dimensions.demandOnlyCount;
    if (newCount === 0 || (known + newCount <= DEMAND_DIMENSIONS_MAX && newCount <= dimensions.room)) return;
    const why = `name ${newCount} resources that are new to this shard (${shownNames(names)}), which has ${dimensions.room} of ${DIMENSIONS_MAX} names left and ${known} of at most ${DEMAND_DIMENSIONS_MAX} names that no machine has`;
    throw new RollupRejectedError(this.#clusterId, 'needs', why);
  }

  #checkBucket(index: number, field: string, bucket: number): void {
    if (!isPenaltyBucket(bucket)) this.#refuse(index, field, `is ${bucket}, an unknown penalty bucket`);
  }

  #checkQuantities(index: number, field: string, quantities: Readonly<Record<string, string>>): void {
    for (const name of Object.keys(quantities)) {
      if (!fits(name, KEY_BYTES_MAX))
        this.#refuse(index, field, `has a name that ${tooLong(name, KEY_BYTES_MAX)}`);
      const units = this.#parse(index, field, name, quantities[name]!);
      if (units === 0) continue;
      const dim = this.#dimensions.find(name);
      if (dim < 0) this.#newNames.add(name);
      else this.#countDimension(dim);
      this.#checkDimensionCount(index, field);
    }
  }

  #parse(index: number, field: string, name: string, text: string): number {
    try {
      return parseDemand(name, text);
    } catch (error) {
      if (!(error instanceof InvalidQuantityError)) throw error;
      this.#refuse(
        index,
        `${field}[${JSON.stringify(name.slice(0, NAME_LENGTH_MAX))}]`,
        `is ${error.fault}: ${JSON.stringify(text.slice(0, 64))}`,
      );
    }
  }

  #countDimension(dim: number): void {
    this.#seenCount += 1 - this.#isSeen[dim]!;
    this.#isSeen[dim] = 1;
  }

  #checkDimensionCount(index: number, field: string): void {
    if (this.#seenCount + this.#newNames.size <= ROLLUP_DIMENSIONS_MAX) return;
    this.#refuse(
      index,
      field,
      `brings the roll-up to more than ${ROLLUP_DIMENSIONS_MAX} resource dimensions`,
    );
  }

  #refuse(index: number, field: string, why: string): never {
    throw new RollupRejectedError(this.#clusterId, `needs[${index}].${field}`, why);
  }
}

/** The units of checked quantities as an interned vector, with one more reference. */
export function internDemand(vectors: VectorTable, quantities: Readonly<Record<string, string>>): number {
  vectors.stage();
  for (const name of Object.keys(quantities)) {
    const units = parseDemand(name, quantities[name]!);
    if (units !== 0) vectors.put(vectors.dimensions.indexOfDemand(name), units);
  }
  return vectors.commit();
}

function shownNames(names: readonly string[]): string {
  const rest = names.length > SHOWN_NAMES_MAX ? ', …' : '';
  return (
    names
      .slice(0, SHOWN_NAMES_MAX)
      .map((name) => JSON.stringify(name))
      .join(', ') + rest
  );
}

function isInt32(value: number): boolean {
  return value === (value | 0);
}
