/**
 * The label keys that held requirement sets and spreads name, counted. A from-scratch check asks before each copy whether
 * any need uses a label that machines have each their own value of; a scan of all profiles would cost it milliseconds.
 */
import { assert } from '../base/assert.ts';
import type { Requirement, Spread } from './requirements.ts';

export class LabelUses {
  /** Uses by key, never 0. */
  readonly #counts = new Map<string, number>();

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  addRequirements(requirements: readonly Requirement[]): void {
    for (const { key } of requirements) this.#add(key);
  }

  removeRequirements(requirements: readonly Requirement[]): void {
    for (const { key } of requirements) this.#remove(key);
  }

  addSpread(spread: readonly Spread[]): void {
    for (const { topologyKey } of spread) this.#add(topologyKey);
  }

  removeSpread(spread: readonly Spread[]): void {
    for (const { topologyKey } of spread) this.#remove(topologyKey);
  }

  #add(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #remove(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    assert(count > 0, `label key ${key} has no use left to remove`);
    if (count === 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
  }
}
