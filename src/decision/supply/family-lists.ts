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
const LANES_AT_START = 16;

export class Lanes {
  count = 0;
  #words = new Uint32Array(0);
  #laneOf = new Uint32Array(0);

  family(lane: number): number {
    return this.#words[lane * WORDS]!;
  }

  configured(lane: number): number {
    return this.#words[lane * WORDS + CONFIGURED]!;
  }

  configuring(lane: number): number {
    return this.#words[lane * WORDS + CONFIGURING]!;
  }

  setConfigured(lane: number, list: number): void {
    this.#words[lane * WORDS + CONFIGURED] = list;
  }

  setConfiguring(lane: number, list: number): void {
    this.#words[lane * WORDS + CONFIGURING] = list;
  }

  /** The lane of a family, made if there is none yet. */
  of(family: number): number {
    const known = this.#laneOf[family];
    if (known !== undefined && known !== 0) return known - 1;
    const lane = this.count++;
    if (lane * WORDS === this.#words.length) this.#widen();
    if (family >= this.#laneOf.length) {
      const wider = new Uint32Array(Math.max(family + 1, 2 * this.#laneOf.length));
      wider.set(this.#laneOf);
      this.#laneOf = wider;
    }
    this.#words[lane * WORDS] = family;
    this.#words[lane * WORDS + CONFIGURED] = this.#words[lane * WORDS + CONFIGURING] = 0;
    this.#laneOf[family] = lane + 1;
    return lane;
  }

  clear(): void {
    this.count = 0;
    this.#laneOf.fill(0);
  }

  #widen(): void {
    const wider = new Uint32Array(Math.max(2 * this.#words.length, LANES_AT_START * WORDS));
    wider.set(this.#words);
    this.#words = wider;
  }
}
