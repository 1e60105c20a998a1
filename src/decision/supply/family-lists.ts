/**
 * The bound machines of one cluster, as lists in keep order: a lane for each family that it has machines of. A fleet of
 * 500,000 machines has 110,000 lanes, so they are words, not objects.
 *
 *   by lane     family, configured, configuring   u32 × 3   the latter two as list ids; 0 = none
 *   by family   lane + 1                          u32       0 = none
 */
const WORDS = 3;
const CONFIGURED = 1;
const CONFIGURING = 2;
const FAMILY_LISTS_AT_START = 16;

export class FamilyLists {
  count = 0;
  #words = new Uint32Array(0);
  #familyListOf = new Uint32Array(0);

  family(familyList: number): number {
    return this.#words[familyList * WORDS]!;
  }

  configured(familyList: number): number {
    return this.#words[familyList * WORDS + CONFIGURED]!;
  }

  configuring(familyList: number): number {
    return this.#words[familyList * WORDS + CONFIGURING]!;
  }

  setConfigured(familyList: number, list: number): void {
    this.#words[familyList * WORDS + CONFIGURED] = list;
  }

  setConfiguring(familyList: number, list: number): void {
    this.#words[familyList * WORDS + CONFIGURING] = list;
  }

  /** The lane of a family, made if there is none yet. */
  of(family: number): number {
    const known = this.#familyListOf[family];
    if (known !== undefined && known !== 0) return known - 1;
    const familyList = this.count++;
    if (familyList * WORDS === this.#words.length) this.#widen();
    if (family >= this.#familyListOf.length) {
      const wider = new Uint32Array(Math.max(family + 1, 2 * this.#familyListOf.length));
      wider.set(this.#familyListOf);
      this.#familyListOf = wider;
    }
    this.#words[familyList * WORDS] = family;
    this.#words[familyList * WORDS + CONFIGURED] = this.#words[familyList * WORDS + CONFIGURING] = 0;
    this.#familyListOf[family] = familyList + 1;
    return familyList;
  }

  clear(): void {
    this.count = 0;
    this.#familyListOf.fill(0);
  }

  #widen(): void {
    const wider = new Uint32Array(Math.max(2 * this.#words.length, FAMILY_LISTS_AT_START * WORDS));
    wider.set(this.#words);
    this.#words = wider;
  }
}
