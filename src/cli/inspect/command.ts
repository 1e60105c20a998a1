/** Shared by the commands that query a shard: flags, exit codes, one line per failure. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ShardError } from '../../base/errors.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../exit.ts';
import { API_DEFAULT, ApiClient } from './api-client.ts';
import { type Output, processOutput } from './terminal.ts';

export { EXIT_FAILED, EXIT_OK } from '../exit.ts';

export class UsageError extends ShardError {
  readonly code = 'usage';
  readonly next = 'refuse-to-start';
}

type Options = NonNullable<ParseArgsConfig['options']>;

const COMMON = {
  api: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies Options;

export const COMMON_HELP = `  --api URL         HTTP address of the shard (default FLOTILLA_API, or else ${API_DEFAULT})
  --json            print JSON
  --help            print this help and exit
`;

/** Parsed flags by name: texts and booleans. */
export class Flags {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly positionals: readonly string[];

  constructor(values: Readonly<Record<string, unknown>>, positionals: readonly string[]) {
    this.#values = values;
    this.positionals = positionals;
  }

  text(name: string): string | undefined {
    return this.#values[name] as string | undefined;
  }

  /** Every value of a flag that may be given several times. */
  texts(name: string): readonly string[] {
    return (this.#values[name] ?? []) as readonly string[];
  }

  has(name: string): boolean {
    return this.#values[name] === true;
  }

  integer(name: string, usual: number, max: number): number {
    const text = this.text(name);
    if (text === undefined) return usual;
    if (/^\d{1,9}$/.test(text) && Number(text) > 0 && Number(text) <= max) return Number(text);
    throw new UsageError(`--${name} is "${text}", but must be a whole number from 1 to ${max}.`);
  }
}

export interface CommandContext {
  readonly api: ApiClient;
  readonly flags: Flags;
  readonly output: Output;
  readonly isJson: boolean;
}

export interface InspectCommand {
  readonly name: string;
  readonly help: string;
  readonly options: Options;
  readonly positionals?: true;
  /** Resolves with the exit code. */
  readonly run: (context: CommandContext) => Promise<number>;
}

export async function runCommand(
  command: InspectCommand,
  argv: readonly string[],
  output: Output = processOutput(),
): Promise<number> {
  try {
    const options = { ...command.options, ...COMMON };
    const flags = parseFlags(options, command.positionals ?? false, argv);
    if (flags.has('help')) {
      output.out(command.help);
      return EXIT_OK;
    }
    const isJson = flags.has('json');
    const api = apiAt(flags.text('api') ?? process.env.FLOTILLA_API ?? API_DEFAULT, output, isJson);
    return await command.run({ api, flags, output, isJson });
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    output.error(`flotilla ${command.name}: ${error.message}\n`);
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** Throws UsageError if it is no URL. */
export function apiAt(address: string, output: Output, isJson: boolean): ApiClient {
  return new ApiClient(addressOf(address), !isJson, waitingLine(output));
}

/** Throws UsageError. */
export function parseFlags(options: Options, allowPositionals: boolean, argv: readonly string[]): Flags {
  try {
    const parsed = parseArgs({ args: [...argv], options, strict: true, allowPositionals });
    return new Flags(parsed.values, parsed.positionals);
  } catch (error) {
    const [firstLine] = (error as Error).message.split('\n');
    throw new UsageError(`${firstLine} See --help.`);
  }
}

/** A line on the terminal while the shard works on a long answer; 0 seconds: it has answered. */
function waitingLine(output: Output): ((seconds: number) => void) | null {
  if (!output.isTerminal) return null;
  let isShown = false;
  return (seconds) => {
    if (seconds > 0) output.error(`\r\x1b[2Kwaiting for the shard, ${seconds} s`);
    else if (isShown) output.error('\r\x1b[2K');
    isShown = seconds > 0;
  };
}

function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return text;
  throw new UsageError(`--api is "${text}", but must be a URL such as ${API_DEFAULT}.`);
}

/** The interval of --every (`2s`, `500ms`, `1m`); undefined without --watch. */
export function watchMs(flags: Flags): number | undefined {
  if (!flags.has('watch')) return undefined;
  const text = flags.text('every') ?? '2s';
  const [, amount, unit] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  const everyMs = Number(amount) * ({ ms: 1, s: 1_000, m: 60_000 }[unit ?? ''] ?? Number.NaN);
  if (everyMs >= 100 && everyMs <= 3_600_000) return everyMs;
  throw new UsageError(`--every is "${text}", but must be a time from 100ms to 60m, such as 2s.`);
}
