/** The kinds of settings. Each turns a short declaration into a complete Setting with its check and its texts. */
import { InvalidValueError, type MachineFacts, type Setting } from './setting.ts';
import { formatBytes, formatDurationMs, parseBytes, parseDurationMs } from './units.ts';

interface Common {
  readonly help: string;
  readonly flag?: string;
  readonly reload?: true;
  readonly placeholder?: string;
}

/** The longest wait of a timer: 2^31 − 1 ms is 24.8 days. */
const DURATION_MAX = '24d';

interface Scalar<Value> extends Common {
  readonly type: string;
  readonly allowedText?: string;
  readonly parseText: (text: string) => Value;
  readonly formatValue: (value: Value) => string;
  readonly isSwitch?: true;
  readonly isMapping?: true;
}

function scalar<Value>(
  kind: Scalar<Value>,
  defaultText: string,
  defaultValue?: (machine: MachineFacts) => Value,
): Setting<Value> {
  const { help, flag, type } = kind;
  return {
    type,
    placeholder: kind.placeholder ?? '',
    help,
    ...(flag === undefined ? {} : { flag }),
    isReloadable: kind.reload === true,
    isRepeatable: false,
    isSwitch: kind.isSwitch === true,
    ...(kind.isMapping === true ? { isMapping: true } : {}),
    defaultText,
    allowedText: kind.allowedText ?? '',
    defaultValue: defaultValue ?? (() => kind.parseText(defaultText)),
    parse: (texts) => kind.parseText(texts[0]!),
    format: (value) => [kind.formatValue(value)],
  };
}

/** Parses a number between two bounds, both included. */
function bounded(
  example: string,
  noun: string,
  parse: (text: string) => number | null,
  format: (value: number) => string,
  min: number,
  max: number,
): (text: string) => number {
  return (text) => {
    const value = parse(text);
    if (value === null)
      throw new InvalidValueError(`${JSON.stringify(text)} is not ${noun}`, `Write it like ${example}`);
    if (value < min || value > max) {
      const [side, bound] = value < min ? ['below the minimum', min] : ['above the maximum', max];
      throw new InvalidValueError(
        `${text} is ${side}, ${format(bound)}`,
        `Choose ${format(min)} to ${format(max)}`,
      );
    }
    return value;
  };
}

export function duration(
  options: Common & { readonly default: string; readonly min?: string; readonly max?: string },
): Setting<number> {
  const { min = '0s', max = DURATION_MAX } = options;
  const parseText = bounded(
    '50ms, 10s or 1m30s',
    'a duration',
    parseDurationMs,
    formatDurationMs,
    parseDurationMs(min)!,
    parseDurationMs(max)!,
  );
  const allowedText = `${min} to ${max}`;
  return scalar(
    {
      placeholder: 'DURATION',
      ...options,
      type: 'duration',
      allowedText,
      parseText,
      formatValue: formatDurationMs,
    },
    options.default,
  );
}

export function bytes(
  options: Common & { readonly default: string; readonly min: string; readonly max: string },
): Setting<number> {
  const { min, max } = options;
  const parseText = bounded(
    '64MiB or 1GiB',
    'a size',
    parseBytes,
    formatBytes,
    parseBytes(min)!,
    parseBytes(max)!,
  );
  const allowedText = `${min} to ${max}`;
  return scalar(
    { placeholder: 'BYTES', ...options, type: 'bytes', allowedText, parseText, formatValue: formatBytes },
    options.default,
  );
}

const parseWhole = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : null);

/** A whole number. A default that depends on the host is a function, with a text for the documentation. */
export function count(
  options: Common & {
    readonly default: number | { readonly text: string; readonly of: (machine: MachineFacts) => number };
    readonly min?: number;
    readonly max: number;
  },
): Setting<number> {
  const { min = 0, max, default: byDefault } = options;
  const parseText = bounded('0, 8 or 1000', 'a whole number', parseWhole, String, min, max);
  const kind = {
    placeholder: 'N',
    ...options,
    type: 'count',
    allowedText: `${min} to ${max}`,
    parseText,
    formatValue: String,
  };
  return typeof byDefault === 'number'
    ? scalar(kind, String(byDefault))
    : scalar(kind, byDefault.text, byDefault.of);
}

const parseDecimal = (text: string) =>
  /^(?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d{1,2})?$/i.test(text) ? Number(text) : null;

export function fraction(options: Common & { readonly default: number }): Setting<number> {
  return decimal({ placeholder: 'FRACTION', ...options, max: 1, type: 'fraction' });
}

export function decimal(
  options: Common & { readonly default: number; readonly max: number; readonly type?: string },
): Setting<number> {
  const { type = 'number', max } = options;
  const noun = type === 'fraction' ? 'a fraction' : 'a number';
  const parseText = bounded('0.05, 0.5 or 1', noun, parseDecimal, String, 0, max);
  const allowedText = `0 to ${max}`;
  return scalar(
    { placeholder: 'NUMBER', ...options, type, allowedText, parseText, formatValue: String },
    String(options.default),
  );
}

/** `--name`, `--name=true`, `--name=false`. */
export function onOff(options: Common & { readonly default: boolean }): Setting<boolean> {
  const parseText = (text: string) => {
    if (text === 'true' || text === 'false') return text === 'true';
    throw new InvalidValueError(`${JSON.stringify(text)} is neither true nor false`, 'Write true or false');
  };
  return scalar(
    { ...options, type: 'boolean', parseText, formatValue: String, isSwitch: true },
    String(options.default),
  );
}

export function choice<const Name extends string>(
  names: readonly Name[],
  options: Common & { readonly default: NoInfer<Name> },
): Setting<Name> {
  const allowedText = names.join(', ');
  const parseText = (text: string) => {
    const found = names.find((name) => name === text);
    if (found === undefined) {
      throw new InvalidValueError(
        `${JSON.stringify(text)} is not a valid choice`,
        `Write one of ${allowedText}`,
      );
    }
    return found;
  };
  return scalar(
    {
      placeholder: names.join('|'),
      ...options,
      type: 'choice',
      allowedText,
      parseText,
      formatValue: (name) => name,
    },
    options.default,
  );
}

/** A text with its own parser: an address, a name, a path. */
export function text<Value = string>(
  options: Common & {
    readonly default: string;
    readonly type: string;
    readonly read: (text: string) => Value;
    readonly write: (value: Value) => string;
    readonly isMapping?: true;
  },
): Setting<Value> {
  return scalar({ ...options, parseText: options.read, formatValue: options.write }, options.default);
}

/** A fleet with more providers than this belongs on several shards. */
const LIST_LENGTH_MAX = 256;

/** A repeated flag, a comma-separated variable, or a sequence in the file. */
export function list<Value = string>(
  options: Common & {
    readonly type: string;
    readonly mappingKey?: string;
    readonly read: (text: string) => Value;
    readonly write: (value: Value) => string;
  },
): Setting<readonly Value[]> {
  const { help, flag, type, read, write, mappingKey } = options;
  return {
    type,
    placeholder: options.placeholder ?? 'NAME',
    help,
    ...(flag === undefined ? {} : { flag }),
    isReloadable: options.reload === true,
    isRepeatable: true,
    ...(mappingKey === undefined ? {} : { mappingKey }),
    isSwitch: false,
    defaultText: '',
    allowedText: `at most ${LIST_LENGTH_MAX}`,
    defaultValue: () => [],
    parse: (texts) => {
      if (texts.length <= LIST_LENGTH_MAX) return texts.map(read);
      const what = `${texts.length} values exceed the maximum of ${LIST_LENGTH_MAX}`;
      throw new InvalidValueError(what, 'Remove some');
    },
    format: (values) => values.map(write),
  };
}
