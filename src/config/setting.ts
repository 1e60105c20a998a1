/**
 * A setting: one declaration gives the flag, the environment variable, the key in a config file, the type, the check,
 * the help text and the row in docs/configuration.md, so these cannot disagree.
 */
import { ShardError } from '../base/errors.ts';

/** Facts about the host that a default may depend on. */
export interface MachineFacts {
  readonly coreCount: number;
}

export interface Setting<Value> {
  /** The type's name in the documentation: duration, count, list of NAME … */
  readonly type: string;
  /** Stands for the value in help texts; empty for a switch. */
  readonly placeholder: string;
  readonly help: string;
  /** Without dashes; derived from the field's name unless given. */
  readonly flag?: string;
  readonly isReloadable: boolean;
  readonly isRepeatable: boolean;
  /** Whether an item of its list in a file may be a mapping: then this key gives the item's name. */
  readonly mappingKey?: string;
  /** Whether its value in a file may be a mapping: it is read as `key=value; key=value`. */
  readonly isMapping?: true;
  /** Whether the flag without a value means true. */
  readonly isSwitch: boolean;
  /** As the documentation shows it; the same on every host. */
  readonly defaultText: string;
  /** Bounds or choices, as documentation shows them. */
  readonly allowedText: string;
  defaultValue(machine: MachineFacts): Value;
  /** One text, or several for a list. Throws InvalidValueError. */
  parse(texts: readonly string[]): Value;
  /** Gives texts that `parse` reads back as an equal value. */
  format(value: Value): readonly string[];
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The typed values of a table of settings. */
export type ValuesOf<Table extends Settings> = {
  readonly [Field in keyof Table]: Table[Field] extends Setting<infer Value> ? Value : never;
};

/** A setting refuses a value: `what` is wrong with it, and what to write instead (`remedy`). */
export class InvalidValueError extends ShardError {
  readonly code = 'invalid_setting_value';
  readonly next = 'refuse-to-start';
  readonly what: string;
  readonly remedy: string;

  constructor(what: string, remedy: string) {
    super(`${what}. ${remedy}.`);
    this.what = what;
    this.remedy = remedy;
  }
}

/** `cycleIntervalMs` → `cycle-interval`: users write the unit with the value (`10s`), so the flag omits it. */
export function flagOf(field: string, setting: { readonly flag?: string }): string {
  if (setting.flag !== undefined) return setting.flag;
  return field.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export const ENVIRONMENT_PREFIX = 'FLOTILLA_';

export function environmentNameOf(flag: string): string {
  return ENVIRONMENT_PREFIX + flag.toUpperCase().replaceAll('-', '_');
}
