/**
 * The fold groups of one cluster as words: the Same needs that fold into one plain need when each fits one machine (A1). A
 * fleet of 500,000 machines has 126,000 groups; as objects they were a fifth of the live heap.
 *
 *   by group   profile       without its Same requirements
 *              aggregate     vector ref
 *              assignment         of the fold
 *              plainAssignmentof the same with the empty group (how the reference assigns)
 *              rowsStart     its rows, in order N4: a stretch of the cluster's `groupRows`
 *              rowsEnd
 *              firstFolded   the first row that folds; -1 = none
 */
const WORDS = 7;
const AGGREGATE = 1;
const ASSIGNMENT = 2;
const PLAIN_ASSIGNMENT = 3;
const ROWS_START = 4;
const ROWS_END = 5;
const FIRST_FOLDED = 6;
const GROUPS_AT_START = 64;
const NOTHING = new Int32Array(0);

export class FoldGroups {
  #words: Int32Array;
  #count = 0;

  constructor(words: Int32Array = NOTHING) {
    this.#words = words;
    this.#count = words.length / WORDS;
  }

  get count(): number {
    return this.#count;
  }

  profile(group: number): number {
    return this.#words[group * WORDS]!;
  }

  aggregate(group: number): number {
    return this.#words[group * WORDS + AGGREGATE]!;
  }

  assignment(group: number): number {
    return this.#words[group * WORDS + ASSIGNMENT]!;
  }

  plainAssignment(group: number): number {
    return this.#words[group * WORDS + PLAIN_ASSIGNMENT]!;
  }

  rowsStart(group: number): number {
    return this.#words[group * WORDS + ROWS_START]!;
  }

  rowsEnd(group: number): number {
    return this.#words[group * WORDS + ROWS_END]!;
  }

  firstFolded(group: number): number {
    return this.#words[group * WORDS + FIRST_FOLDED]!;
  }

  setFirstFolded(group: number, row: number): void {
    this.#words[group * WORDS + FIRST_FOLDED] = row;
  }

  /** One more group, without rows; its index. */
  add(profile: number, aggregate: number, assignment: number, plainAssignment: number): number {
    const group = this.#count++;
    const at = group * WORDS;
    if (at === this.#words.length) {
      const wider = new Int32Array(Math.max(2 * at, GROUPS_AT_START * WORDS));
      wider.set(this.#words);
      this.#words = wider;
    }
    this.#words[at] = profile;
    this.#words[at + AGGREGATE] = aggregate;
    this.#words[at + ASSIGNMENT] = assignment;
    this.#words[at + PLAIN_ASSIGNMENT] = plainAssignment;
    this.#words[at + ROWS_START] = this.#words[at + ROWS_END] = 0;
    this.#words[at + FIRST_FOLDED] = -1;
    return group;
  }

  clear(): void {
    this.#count = 0;
  }

  addRow(group: number): void {
    this.#words[group * WORDS + ROWS_END]!++;
  }

  /** After the rows of each were counted: where the stretch of each begins; returns where the last one ends. */
  layOut(): number {
    let end = 0;
    for (let at = 0; at < this.#count * WORDS; at += WORDS) {
      const rowCount = this.#words[at + ROWS_END]!;
      this.#words[at + ROWS_START] = this.#words[at + ROWS_END] = end;
      end += rowCount;
    }
    return end;
  }

  /** The next place in its stretch. */
  nextPlace(group: number): number {
    return this.#words[group * WORDS + ROWS_END]!++;
  }

  /** A copy that takes no more room than it needs. */
  copy(): FoldGroups {
    return new FoldGroups(this.#words.slice(0, this.#count * WORDS));
  }
}
