/**
 * The family lists of one cluster: its bound machines in keep order, by family. A fleet of 500,000 machines has 110,000
 * family lists, so they are numbers in an array, not objects.
 *
 *   by family list   family                    u32
 *                    configured, configuring   u32   list ids (keep-lists.ts); 0 = none
 *   by family        family list + 1           u32   0 = none
 */
const FIELDS = 3;
const CONFIGURED = 1;
const CONFIGURING = 2;
const FAMILY_LISTS_AT_START = 16;

export class FamilyLists {
  count = 0;
  #fields = new Uint32Array(0);
  #familyListOf = new Uint32Array(0);

  family(familyList: number): number {
    return this.#fields[familyList * FIELDS]!;
  }

  configured(familyList: number): number {
    return this.#fields[familyList * FIELDS + CONFIGURED]!;
  }

  configuring(familyList: number): number {
    return this.#fields[familyList * FIELDS + CONFIGURING]!;
  }

  setConfigured(familyList: number, list: number): void {
    this.#fields[familyList * FIELDS + CONFIGURED] = list;
  }

  setConfiguring(familyList: number, list: number): void {
    this.#fields[familyList * FIELDS + CONFIGURING] = list;
  }

  /** The family list of a family; -1 = there is none. */
  find(family: number): number {
    return family < this.#familyListOf.length ? this.#familyListOf[family]! - 1 : -1;
  }

  /** The family list of a family; created if there is none. */
  of(family: number): number {
    const known = this.#familyListOf[family];
    if (known !== undefined && known !== 0) return known - 1;
    const familyList = this.count++;
    if (familyList * FIELDS === this.#fields.length) this.#widen();
    if (family >= this.#familyListOf.length) {
      const wider = new Uint32Array(Math.max(family + 1, 2 * this.#familyListOf.length));
      wider.set(this.#familyListOf);
      this.#familyListOf = wider;
    }
    this.#fields[familyList * FIELDS] = family;
    this.#fields[familyList * FIELDS + CONFIGURED] = this.#fields[familyList * FIELDS + CONFIGURING] = 0;
    this.#familyListOf[family] = familyList + 1;
    return familyList;
  }

  clear(): void {
    this.count = 0;
    this.#familyListOf.fill(0);
  }

  #widen(): void {
    const wider = new Uint32Array(Math.max(2 * this.#fields.length, FAMILY_LISTS_AT_START * FIELDS));
    wider.set(this.#fields);
    this.#fields = wider;
  }
}
