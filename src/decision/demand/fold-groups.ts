/**
 * The fold groups of one cluster, seven numbers each: gangs that fold into one plain need while each fits one machine
 * (A1). A fleet of 500,000 machines has 126,000 groups; as objects they were a fifth of the live heap.
 *
 *   by group   profile           without its Same requirements
 *              aggregate         vector ref
 *              assignment        of the fold
 *              plainAssignment   the same with the empty group, which the reference gives to folds
 *              rowsStart         its rows, by priority and arrival (N4): a range of the cluster's `groupRows` …
 *              rowsEnd           … up to here
 *              firstFolded       the first row that folds; -1 = none
 */
const FIELDS = 7;
const AGGREGATE = 1;
const ASSIGNMENT = 2;
const PLAIN_ASSIGNMENT = 3;
const ROWS_START = 4;
const ROWS_END = 5;
const FIRST_FOLDED = 6;
const GROUPS_AT_START = 64;
const NOTHING = new Int32Array(0);

export class FoldGroups {
  #fields: Int32Array;
  #count = 0;

  constructor(fields: Int32Array = NOTHING) {
    this.#fields = fields;
    this.#count = fields.length / FIELDS;
  }

  get count(): number {
    return this.#count;
  }

  profile(group: number): number {
    return this.#fields[group * FIELDS]!;
  }

  aggregate(group: number): number {
    return this.#fields[group * FIELDS + AGGREGATE]!;
  }

  assignment(group: number): number {
    return this.#fields[group * FIELDS + ASSIGNMENT]!;
  }

  plainAssignment(group: number): number {
    return this.#fields[group * FIELDS + PLAIN_ASSIGNMENT]!;
  }

  rowsStart(group: number): number {
    return this.#fields[group * FIELDS + ROWS_START]!;
  }

  rowsEnd(group: number): number {
    return this.#fields[group * FIELDS + ROWS_END]!;
  }

  firstFolded(group: number): number {
    return this.#fields[group * FIELDS + FIRST_FOLDED]!;
  }

  setFirstFolded(group: number, row: number): void {
    this.#fields[group * FIELDS + FIRST_FOLDED] = row;
  }

  /** Adds a group without rows; returns its index. */
  add(profile: number, aggregate: number, assignment: number, plainAssignment: number): number {
    const group = this.#count++;
    const at = group * FIELDS;
    if (at === this.#fields.length) {
      const wider = new Int32Array(Math.max(2 * at, GROUPS_AT_START * FIELDS));
      wider.set(this.#fields);
      this.#fields = wider;
    }
    this.#fields[at] = profile;
    this.#fields[at + AGGREGATE] = aggregate;
    this.#fields[at + ASSIGNMENT] = assignment;
    this.#fields[at + PLAIN_ASSIGNMENT] = plainAssignment;
    this.#fields[at + ROWS_START] = this.#fields[at + ROWS_END] = 0;
    this.#fields[at + FIRST_FOLDED] = -1;
    return group;
  }

  clear(): void {
    this.#count = 0;
  }

  addRow(group: number): void {
    this.#fields[group * FIELDS + ROWS_END]!++;
  }

  /** Once the rows of each group are counted: sets where each range starts; returns where the last one ends. */
  layOut(): number {
    let end = 0;
    for (let at = 0; at < this.#count * FIELDS; at += FIELDS) {
      const rowCount = this.#fields[at + ROWS_END]!;
      this.#fields[at + ROWS_START] = this.#fields[at + ROWS_END] = end;
      end += rowCount;
    }
    return end;
  }

  /** The next place in the group's range. */
  nextPlace(group: number): number {
    return this.#fields[group * FIELDS + ROWS_END]!++;
  }

  /** A copy without spare room. */
  copy(): FoldGroups {
    return new FoldGroups(this.#fields.slice(0, this.#count * FIELDS));
  }
}
