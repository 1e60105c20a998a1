/**
 * Reads the three sources of settings into one form: for each flag, the texts that were given and where. This module
 * checks names only. An error is recorded as a problem, and reading goes on.
 */
import type { Problem } from './problems.ts';
import { nearest } from './problems.ts';
import { ENVIRONMENT_PREFIX, environmentNameOf } from './setting.ts';

export interface Given {
  /** As its source spells it, for messages. */
  readonly key: string;
  /** `command line`, `environment` or `file:line`. */
  readonly origin: string;
  readonly texts: readonly string[];
}

/** By the flag's name without dashes. */
export type GivenByFlag = Map<string, Given>;

/** The part of a setting that the readers need. */
export interface FlagShape {
  readonly isRepeatable: boolean;
  readonly isSwitch: boolean;
  readonly mappingKey?: string;
  readonly isMapping?: true;
}

export type FlagShapes = ReadonlyMap<string, FlagShape>;

const COMMAND_LINE = 'command line';

/** `--flag value`, `--flag=value`, and for switches `--flag` alone. Positional arguments are errors. */
export function readFlags(argv: readonly string[], shapes: FlagShapes, problems: Problem[]): GivenByFlag {
  const found: GivenByFlag = new Map();
  const complain = (key: string, what: string, remedy: string) =>
    problems.push({ key, origin: COMMAND_LINE, what, remedy });
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!;
    if (!word.startsWith('--') || word === '--') {
      const before = argv[index - 1]?.slice(2) ?? '';
      const remedy = shapes.get(before)?.isSwitch
        ? `Write --${before}=true or --${before}=false`
        : 'Write --NAME VALUE or --NAME=VALUE';
      complain(JSON.stringify(word), 'unexpected argument', remedy);
      continue;
    }
    const equals = word.indexOf('=');
    const flag = word.slice(2, equals < 0 ? undefined : equals);
    const key = `--${flag}`;
    const shape = shapes.get(flag);
    if (shape === undefined) {
      complain(
        key,
        'unknown flag',
        suggestion(flag, [...shapes.keys()], (name) => `--${name}`),
      );
      // Skip its value, so that one typo is one problem.
      if (equals < 0 && argv[index + 1]?.startsWith('--') === false) index++;
      continue;
    }
    let value: string;
    if (equals >= 0) value = word.slice(equals + 1);
    else if (shape.isSwitch) value = 'true';
    else if (argv[index + 1] === undefined || argv[index + 1]!.startsWith('--')) {
      complain(key, 'the value is missing', `Write ${key} VALUE`);
      continue;
    } else value = argv[++index]!;
    const earlier = found.get(flag);
    if (earlier !== undefined && !shape.isRepeatable) complain(key, 'given twice', 'Set it once');
    else found.set(flag, { key, origin: COMMAND_LINE, texts: [...(earlier?.texts ?? []), value] });
  }
  return found;
}

/** Variables that Kubernetes sets in every container for a service named flotilla…: ignored. */
const SERVICE_LINK =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
/** Variables of this project's tests and benchmarks, inherited by the programs that they start: ignored. */
const OF_TESTS = /^FLOTILLA_(?:PROPERTY_SEED|SEED|HISTORIES|RUNS|BENCH_\w+|TEST_\w+)$/;

/** An unknown FLOTILLA_ variable is an error, since it is probably misspelt. Lists are separated by commas. */
export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  shapes: FlagShapes,
  problems: Problem[],
): GivenByFlag {
  const flagByName = new Map([...shapes.keys()].map((flag) => [environmentNameOf(flag), flag]));
  const found: GivenByFlag = new Map();
  for (const [key, value] of Object.entries(environment)) {
    if (!key.startsWith(ENVIRONMENT_PREFIX) || value === undefined) continue;
    const flag = flagByName.get(key);
    if (flag === undefined) {
      if (SERVICE_LINK.test(key) || OF_TESTS.test(key)) continue;
      const remedy = suggestion(key, [...flagByName.keys()], (name) => name);
      problems.push({ key, origin: 'environment', what: 'unknown setting', remedy });
      continue;
    }
    const texts = shapes.get(flag)!.isRepeatable ? splitList(value) : [value];
    found.set(flag, { key, origin: 'environment', texts });
  }
  return found;
}

function splitList(text: string): string[] {
  return text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
}

export function suggestion(name: string, known: readonly string[], spell: (name: string) => string): string {
  const meant = nearest(name, known);
  return meant === null
    ? 'Remove it; --help lists all settings'
    : `Did you mean ${spell(meant)}? --help lists all settings`;
}
