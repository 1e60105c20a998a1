/**
 * One row of a roll-up, from wire bytes to what src/needs checks. Only rows with a new digest come here: all of them after
 * a restart, a handful otherwise.
 */
import type { Requirement, Spread } from '../needs/requirements.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { TextReader } from './text-reader.ts';
import { WireCursor } from './wire-cursor.ts';

type Quantities = Record<string, string>;

export class RowDecoder {
  readonly #cursor = new WireCursor();
  readonly #texts = new TextReader();

  open(bytes: Uint8Array): void {
    this.#cursor.open(bytes);
  }

  /** Lets go of the bytes. */
  close(): void {
    this.#cursor.close();
  }

  /** Throws a MalformedFrameError; numbers are not checked here. */
  decode(start: number, end: number): RollupRow {
    const cursor = this.#cursor;
    cursor.at = start;
    const requirements: Requirement[] = [];
    const spread: Spread[] = [];
    const aggregate: Quantities = {};
    const minUnit: Quantities = {};
    let priority = 0;
    let interruptionBucket = 0;
    let reclamationBucket = 0;
    let group = '';
    while (cursor.at < end) {
      const tag = cursor.tag(end);
      if (tag === 0x0a) requirements.push(this.#requirement(cursor.lengthEnd(end)));
      else if (tag === 0x12) this.#entry(aggregate, cursor.lengthEnd(end));
      else if (tag === 0x18) priority = cursor.int32(end);
      else if (tag === 0x2a) spread.push(this.#spread(cursor.lengthEnd(end)));
      else if (tag === 0x30) interruptionBucket = cursor.int32(end);
      else if (tag === 0x38) reclamationBucket = cursor.int32(end);
      else if (tag === 0x42) this.#entry(minUnit, cursor.lengthEnd(end));
      else if (tag === 0x4a) group = this.#once(end);
      else cursor.skip(tag, end);
    }
    return {
      requirements,
      aggregate,
      minUnit,
      priority,
      spread,
      interruptionBucket,
      reclamationBucket,
      group,
    };
  }

  #requirement(end: number): Requirement {
    const cursor = this.#cursor;
    let key = '';
    let operator = 0;
    const values: string[] = [];
    while (cursor.at < end) {
      const tag = cursor.tag(end);
      if (tag === 0x0a) key = this.#common(end);
      else if (tag === 0x10) operator = cursor.int32(end);
      else if (tag === 0x1a) values.push(this.#common(end));
      else cursor.skip(tag, end);
    }
    return { key, operator, values };
  }

  #spread(end: number): Spread {
    const cursor = this.#cursor;
    let topologyKey = '';
    let maxSkew = 0;
    let whenUnsatisfiable = 0;
    while (cursor.at < end) {
      const tag = cursor.tag(end);
      if (tag === 0x0a) topologyKey = this.#common(end);
      else if (tag === 0x10) maxSkew = cursor.int32(end);
      else if (tag === 0x18) whenUnsatisfiable = cursor.int32(end);
      else cursor.skip(tag, end);
    }
    return { topologyKey, maxSkew, whenUnsatisfiable };
  }

  #entry(into: Quantities, end: number): void {
    const cursor = this.#cursor;
    let key = '';
    let value = '';
    while (cursor.at < end) {
      const tag = cursor.tag(end);
      if (tag === 0x0a) key = this.#common(end);
      else if (tag === 0x12) value = this.#common(end);
      else cursor.skip(tag, end);
    }
    if (key !== '__proto__') into[key] = value;
    // Assigned plainly, this one name would set nothing.
    else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #common(end: number): string {
    const cursor = this.#cursor;
    const textEnd = cursor.lengthEnd(end);
    const text = this.#texts.common(cursor, cursor.at, textEnd);
    cursor.at = textEnd;
    return text;
  }

  #once(end: number): string {
    const cursor = this.#cursor;
    const textEnd = cursor.lengthEnd(end);
    const text = this.#texts.once(cursor, cursor.at, textEnd);
    cursor.at = textEnd;
    return text;
  }
}
