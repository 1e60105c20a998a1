/**
 * What a setting is. One declaration gives the flag, the environment variable, the key in a config file, the type,
 * the check, the help text and the row in docs/configuration.md, so that none of them can disagree with another.
 */
import { ShardError } from '../base/errors.ts';

/** Facts about the machine that a default may depend on. */
export interface MachineFacts {
  readonly coreCount: number;
}

export interface Setting<Value> {
  /** As the documentation calls it: duration, count, list of NAME … */
  readonly type: string;
  /** What stands for the value in help texts; empty for a switch. */
  readonly placeholder: string;
  readonly help: string;
  /** Without dashes; derived from the field's name unless given. */
  readonly flag?: string;
  readonly isReloadable: boolean;
  readonly isRepeatable: boolean;
  /** Whether the flag may stand alone, meaning true. */
  readonly isSwitch: boolean;
  /** As documentation shows it; the same on every machine. */
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

/** A value that a setting refuses: `what` is wrong, and what to write instead. */
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

/** `cycleIntervalMs` → `cycle-interval`: the unit is in the value that people write, so the flag does not repeat it. */
export function flagOf(field: string, setting: { readonly flag?: string }): string {
  if (setting.flag !== undefined) return setting.flag;
  return field.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export const ENVIRONMENT_PREFIX = 'FLOTILLA_';

export function environmentNameOf(flag: string): string {
  return ENVIRONMENT_PREFIX + flag.toUpperCase().replaceAll('-', '_');
}
