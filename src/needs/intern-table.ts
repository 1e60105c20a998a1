/**
 * Interned, counted objects with small dense refs: for the few thousand distinct objects (profiles,
 * requirement sets) that hundreds of thousands of rows point at. Ref 0 is none. A ref is reused after its last
 * release, so every holder of a ref must count it.
 */
import { assert, fail } from '../base/assert.ts';

export class InternTable<Value> {
  readonly #refByKey = new Map<string, number>();
  readonly #keys: string[] = [''];
  readonly #values: (Value | undefined)[] = [undefined];
  readonly #counts: number[] = [0];
  readonly #freeRefs: number[] = [];
  #version = 0;

  /** Distinct values held. */
  get count(): number {
    return this.#refByKey.size;
  }

  /** Every ref is below this. */
  get refLimit(): number {
    return this.#values.length;
  }

  /** Grows whenever a value is added or dropped: while the version is the same, every ref means the same value. */
  get version(): number {
    return this.#version;
  }

  /** The keys by ref, a line each; empty for a free ref. Keys have no line breaks. */
  keyLines(): string {
    return this.#keys.join('\n');
  }

  /** The ref of a key with one more reference, 0 if it is not held. */
  retainKey(key: string): number {
    const ref = this.#refByKey.get(key);
    if (ref === undefined) return 0;
    this.#counts[ref]!++;
    return ref;
  }

  /** Adds a value under a key that is not held, with one reference. If `make` throws, nothing changes. */
  add(key: string, make: (ref: number) => Value): number {
    assert(!this.#refByKey.has(key), `${key} is held already`);
    const ref = this.#freeRefs.at(-1) ?? this.#values.length;
    const value = make(ref);
    this.#freeRefs.pop();
    this.#refByKey.set(key, ref);
    this.#keys[ref] = key;
    this.#values[ref] = value;
    this.#counts[ref] = 1;
    this.#version++;
    return ref;
  }

  get(ref: number): Value {
    const value = this.#values[ref];
    if (value === undefined) fail(`ref ${ref} is not in use`);
    return value;
  }

  isHeld(ref: number): boolean {
    return this.#values[ref] !== undefined;
  }

  retain(ref: number): void {
    if (ref === 0) return;
    if (!this.isHeld(ref)) fail(`ref ${ref} is not in use`);
    this.#counts[ref]!++;
  }

  /** Releases one reference. Returns the value if it was the last: the caller then releases what the value holds. */
  release(ref: number): Value | undefined {
    if (ref === 0) return undefined;
    if (!this.isHeld(ref)) fail(`ref ${ref} is not in use`);
    if (--this.#counts[ref]! > 0) return undefined;
    const value = this.#values[ref];
    this.#refByKey.delete(this.#keys[ref]!);
    this.#keys[ref] = '';
    this.#values[ref] = undefined;
    this.#freeRefs.push(ref);
    this.#version++;
    return value;
  }

  referenceCount(ref: number): number {
    return this.isHeld(ref) ? this.#counts[ref]! : 0;
  }
}
