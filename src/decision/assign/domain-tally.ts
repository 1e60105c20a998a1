/**
 * What a gang has and could get in each domain, and which domain it chooses (A5: one that covers the gang, then the one
 * with the greatest coverage by machines that it may be credited). Sums are of integers below 2^53 and so exact; ratios
 * are added in the order of the dimensions' names, so that every run on every computer ranks alike.
 *
 *   by entry   domain, count            number of the domain; machines there
 *              own, creditable, total   f64 × width   units by wanted dimension
 */
import type { VectorTable } from '../../base/vectors.ts';
import { columnF64, columnU8, columnU32, widerF64, widerU8, widerU32 } from '../columns/columns.ts';
import type { Domains } from '../supply/domains.ts';
import type { Families } from '../supply/families.ts';

export class DomainTally {
  readonly #vectors: VectorTable;
  readonly #families: Families;
  #domains!: Domains;
  #aggregate = 0;
  #width = 0;
  /** By domain: entry + 1, valid if the entry names the domain. */
  #entryOf = columnU32(256);
  #domain = columnU32(16);
  #count = columnF64(16);
  #own = columnF64(64);
  #creditable = columnF64(64);
  #total = columnF64(64);
  #unassignedCounted = columnU8(16);
  #entryCount = 0;

  constructor(vectors: VectorTable, families: Families) {
    this.#vectors = vectors;
    this.#families = families;
  }

  begin(aggregate: number, domains: Domains): this {
    this.#aggregate = aggregate;
    this.#domains = domains;
    this.#width = this.#vectors.length[aggregate]!;
    this.#entryCount = 0;
    return this;
  }

  addOwn(domain: number, family: number): void {
    this.#add(domain, family, 1, true, true);
  }

  addCreditable(domain: number, family: number): void {
    this.#add(domain, family, 1, true, false);
  }

  addUnassigned(domain: number, family: number, machines: number): void {
    if (machines > 0) this.#add(domain, family, machines, false, false);
  }

  /** Copies what creditable machines give, before unassigned ones are added; into `into` if its length fits. */
  copyTo(into: Float64Array | undefined): Float64Array {
    const width = this.#width;
    const length = this.#entryCount * (2 + 2 * width);
    const copy = into?.length === length ? into : new Float64Array(length);
    let at = 0;
    for (let entry = 0; entry < this.#entryCount; entry++) {
      copy[at++] = this.#domain[entry]!;
      copy[at++] = this.#count[entry]!;
      for (let index = 0; index < width; index++) copy[at++] = this.#own[entry * width + index]!;
      for (let index = 0; index < width; index++) copy[at++] = this.#creditable[entry * width + index]!;
    }
    return copy;
  }

  /** Restores a copy in a tally that was begun for the same gang. */
  copyFrom(copy: Float64Array): void {
    const width = this.#width;
    for (let at = 0; at < copy.length; ) {
      const entry = this.#entry(copy[at++]!);
      this.#count[entry] = copy[at++]!;
      for (let index = 0; index < width; index++) this.#own[entry * width + index] = copy[at++]!;
      for (let index = 0; index < width; index++) {
        this.#creditable[entry * width + index] = this.#total[entry * width + index] = copy[at++]!;
      }
    }
  }

  get entryCount(): number {
    return this.#entryCount;
  }

  domainAt(entry: number): number {
    return this.#domain[entry]!;
  }

  /** Whether creditable machines cover some of the demand there. */
  hasCreditable(entry: number): boolean {
    for (let index = 0; index < this.#width; index++)
      if (this.#creditable[entry * this.#width + index]! > 0) return true;
    return false;
  }

  markUnassignedCounted(entry: number): void {
    this.#unassignedCounted[entry] = 1;
  }

  hasUnassignedCounted(domain: number): boolean {
    const entry = (this.#entryOf[domain] ?? 0) - 1;
    return (
      entry >= 0 &&
      entry < this.#entryCount &&
      this.#domain[entry] === domain &&
      this.#unassignedCounted[entry] === 1
    );
  }

  covers(domain: number): boolean {
    return this.#coversEntry(this.#entryOf[domain]! - 1, this.#total);
  }

  /** The one domain that the gang's own machines cover; 0 if there is none, or several. */
  onlyDomainCoveredByOwn(): number {
    let found = 0;
    for (let entry = 0; entry < this.#entryCount; entry++) {
      if (!this.#coversEntry(entry, this.#own)) continue;
      if (found !== 0) return 0;
      found = this.#domain[entry]!;
    }
    return found;
  }

  /**
   * The best domain in which creditable machines alone cover the gang; 0 if there is none. Unassigned machines cannot
   * change it: any other domain has less creditable coverage, and between these A5 ignores them (docs/adr/0037).
   */
  bestCoveredByCreditable(): number {
    let best = -1;
    for (let entry = 0; entry < this.#entryCount; entry++) {
      if (!this.#coversEntry(entry, this.#creditable)) continue;
      if (best < 0 || this.#beats(entry, best)) best = entry;
    }
    return best < 0 ? 0 : this.#domain[best]!;
  }

  /** The best domain; 0 if there is none. */
  choose(): number {
    let best = -1;
    for (let entry = 0; entry < this.#entryCount; entry++) {
      if (best < 0 || this.#beats(entry, best)) best = entry;
    }
    return best < 0 ? 0 : this.#domain[best]!;
  }

  #add(domain: number, family: number, machines: number, isCreditable: boolean, isOwn: boolean): void {
    if (domain === 0 || !this.#gives(family)) return;
    const { start, dims } = this.#vectors;
    const first = start[this.#aggregate]!;
    const entry = this.#entry(domain);
    const row = entry * this.#width;
    this.#count[entry]! += machines;
    for (let index = 0; index < this.#width; index++) {
      const units = machines * this.#families.unitsOf(family, dims[first + index]!);
      this.#total[row + index]! += units;
      if (isCreditable) this.#creditable[row + index]! += units;
      if (isOwn) this.#own[row + index]! += units;
    }
  }

  /** Whether a machine of the family has some of a wanted dimension. */
  #gives(family: number): boolean {
    const { start, dims } = this.#vectors;
    const first = start[this.#aggregate]!;
    for (let index = 0; index < this.#width; index++) {
      if (this.#families.unitsOf(family, dims[first + index]!) > 0) return true;
    }
    return false;
  }

  #entry(domain: number): number {
    this.#entryOf = widerU32(this.#entryOf, domain);
    const known = this.#entryOf[domain]! - 1;
    if (known >= 0 && known < this.#entryCount && this.#domain[known] === domain) return known;
    const entry = this.#entryCount++;
    this.#domain = widerU32(this.#domain, entry);
    this.#count = widerF64(this.#count, entry);
    const end = (entry + 1) * this.#width;
    this.#own = widerF64(this.#own, end);
    this.#creditable = widerF64(this.#creditable, end);
    this.#total = widerF64(this.#total, end);
    this.#own.fill(0, entry * this.#width, end);
    this.#creditable.fill(0, entry * this.#width, end);
    this.#total.fill(0, entry * this.#width, end);
    this.#domain[entry] = domain;
    this.#unassignedCounted = widerU8(this.#unassignedCounted, entry);
    this.#unassignedCounted[entry] = 0;
    this.#count[entry] = 0;
    this.#entryOf[domain] = entry + 1;
    return entry;
  }

  #wanted(index: number): number {
    return this.#vectors.units[this.#vectors.start[this.#aggregate]! + index]!;
  }

  #coversEntry(entry: number, units: Float64Array): boolean {
    for (let index = 0; index < this.#width; index++) {
      if (units[entry * this.#width + index]! < this.#wanted(index)) return false;
    }
    return true;
  }

  /** Sum of have ÷ wanted over the wanted dimensions, each at most `cap`. */
  #coverage(entry: number, units: Float64Array, cap: number): number {
    let sum = 0;
    for (let index = 0; index < this.#width; index++) {
      sum += Math.min(cap, units[entry * this.#width + index]! / this.#wanted(index));
    }
    return sum;
  }

  #beats(a: number, b: number): boolean {
    const coversA = this.#coversEntry(a, this.#total);
    if (coversA !== this.#coversEntry(b, this.#total)) return coversA;
    let order = 0;
    if (coversA) {
      order =
        this.#coverage(a, this.#creditable, 1) - this.#coverage(b, this.#creditable, 1) ||
        this.#coverage(a, this.#own, 1) - this.#coverage(b, this.#own, 1);
      // The gang takes no unassigned machine in either domain. If those decided, other needs could move it back and forth.
      if (order === 0 && this.#coversEntry(a, this.#creditable)) return this.#isSmaller(a, b);
      order ||=
        this.#coverage(b, this.#total, Number.POSITIVE_INFINITY) -
        this.#coverage(a, this.#total, Number.POSITIVE_INFINITY);
    } else {
      order =
        this.#coverage(a, this.#own, 1) - this.#coverage(b, this.#own, 1) ||
        this.#coverage(a, this.#total, 1) - this.#coverage(b, this.#total, 1) ||
        this.#coverage(a, this.#creditable, 1) - this.#coverage(b, this.#creditable, 1);
    }
    order ||= this.#count[a]! - this.#count[b]!;
    return order === 0 ? this.#isSmaller(a, b) : order > 0;
  }

  #isSmaller(a: number, b: number): boolean {
    return this.#domains.compare(this.#domain[a]!, this.#domain[b]!) < 0;
  }
}
