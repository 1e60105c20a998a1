/**
 * Decodes one row of a roll-up from wire bytes to the object that src/needs validates. Only rows with a new digest are
 * decoded: all of them after a restart, a handful otherwise.
 */
import type { Requirement, Spread } from '../needs/requirements.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { FrameReader } from './frame-reader.ts';
import { ROW_REQUIREMENTS_MAX, ROW_SPREADS_MAX } from './limits.ts';
import { TextReader } from './text-reader.ts';

type Quantities = Record<string, string>;

export class RowDecoder {
  readonly #reader = new FrameReader();
  readonly #texts = new TextReader();

  open(bytes: Uint8Array): void {
    this.#reader.open(bytes);
  }

  /** Drops the reference to the bytes. */
  close(): void {
    this.#reader.close();
  }

  /** Throws a MalformedFrameError. Does not validate numbers. */
  decode(start: number, end: number): RollupRow {
    const reader = this.#reader;
    reader.at = start;
    const requirements: Requirement[] = [];
    const spread: Spread[] = [];
    const aggregate: Quantities = {};
    const minUnit: Quantities = {};
    let priority = 0;
    let interruptionBucket = 0;
    let reclamationBucket = 0;
    let group = '';
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) {
        if (requirements.length === ROW_REQUIREMENTS_MAX)
          reader.fail(reader.at, `a requirement beyond the ${ROW_REQUIREMENTS_MAX} of a row`);
        requirements.push(this.#requirement(reader.lengthEnd(end)));
      } else if (tag === 0x12) this.#entry(aggregate, reader.lengthEnd(end));
      else if (tag === 0x18) priority = reader.int32(end);
      else if (tag === 0x2a) {
        if (spread.length === ROW_SPREADS_MAX)
          reader.fail(reader.at, `a spread constraint beyond the ${ROW_SPREADS_MAX} of a row`);
        spread.push(this.#spread(reader.lengthEnd(end)));
      } else if (tag === 0x30) interruptionBucket = reader.int32(end);
      else if (tag === 0x38) reclamationBucket = reader.int32(end);
      else if (tag === 0x42) this.#entry(minUnit, reader.lengthEnd(end));
      else if (tag === 0x4a) group = this.#once(end);
      else reader.skip(tag, end);
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
      wireBytes: end - start,
    };
  }

  #requirement(end: number): Requirement {
    const reader = this.#reader;
    let key = '';
    let operator = 0;
    const values: string[] = [];
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) key = this.#common(end);
      else if (tag === 0x10) operator = reader.int32(end);
      else if (tag === 0x1a) values.push(this.#common(end));
      else reader.skip(tag, end);
    }
    return { key, operator, values };
  }

  #spread(end: number): Spread {
    const reader = this.#reader;
    let topologyKey = '';
    let maxSkew = 0;
    let whenUnsatisfiable = 0;
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) topologyKey = this.#common(end);
      else if (tag === 0x10) maxSkew = reader.int32(end);
      else if (tag === 0x18) whenUnsatisfiable = reader.int32(end);
      else reader.skip(tag, end);
    }
    return { topologyKey, maxSkew, whenUnsatisfiable };
  }

  #entry(into: Quantities, end: number): void {
    const reader = this.#reader;
    let key = '';
    let value = '';
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) key = this.#common(end);
      else if (tag === 0x12) value = this.#common(end);
      else reader.skip(tag, end);
    }
    if (key !== '__proto__') into[key] = value;
    // A plain assignment would set the prototype.
    else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #common(end: number): string {
    const reader = this.#reader;
    const textEnd = reader.lengthEnd(end);
    const text = this.#texts.common(reader, reader.at, textEnd);
    reader.at = textEnd;
    return text;
  }

  #once(end: number): string {
    const reader = this.#reader;
    const textEnd = reader.lengthEnd(end);
    const text = this.#texts.once(reader, reader.at, textEnd);
    reader.at = textEnd;
    return text;
  }
}
