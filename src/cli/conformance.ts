/**
 * `flotilla conformance`: runs the provider conformance suite against an address. The exit code is the verdict (0 conforms,
 * 1 a check failed, 2 no verdict), so that the CI of a provider needs only this command.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import { areaOf } from '../conformance/check.ts';
import { reportJson } from '../conformance/report-json.ts';
import { reportJunit } from '../conformance/report-junit.ts';
import { resultText, summaryText, totalsOf } from '../conformance/report-text.ts';
import { type Report, runConformance } from '../conformance/run.ts';
import {
  DEFAULT_CALL_TIMEOUT_MS,
  DEFAULT_TRANSITION_TIMEOUT_MS,
  type Settings,
  STYLES,
  type Style,
} from '../conformance/settings.ts';
import { CHECKS, CLOSING_CHECKS } from '../conformance/suite.ts';

const HELP = `Usage: flotilla conformance --target HOST:PORT [options]

Tests whether a capacity provider fulfils the contract of bigfleet.v1alpha1.CapacityProvider.
The suite uses unassigned SPECULATIVE and IDLE machines and returns each to the state in which it found it.
Run it only while no shard uses the provider.

  --target HOST:PORT    address of the provider (gRPC without TLS)
  --only NAME           run only this area (fencing) or check (fencing/stale-epoch); may be repeated
  --timeout TIME        maximum wait for a transition, such as 500ms, 30s or 10m (default 60s)
  --call-timeout TIME   deadline of each call (default 30s)
  --style STYLE         auto, sync (every ack shows the terminal state) or async (default auto)
  --shard-id ID         shard id that the suite calls with (default: a new random id)
  --allow-delete        also delete IDLE machines that the suite found, and create them again
  --json FILE           also write the report as JSON
  --junit FILE          also write the report as JUnit XML
  --list                print every check with the rule that it tests, and exit
  --help                print this help and exit

Examples:
  flotilla conformance --target 127.0.0.1:7790
  flotilla conformance --target 127.0.0.1:7790 --only fencing --junit report.xml

Exit code: 0 every check passed or was skipped, 1 a check failed, 2 invalid usage, provider not reachable, or stopped.
`;

class UsageError extends ShardError {
  readonly code = 'conformance_usage';
  readonly next = 'refuse-to-start';
}

interface Command {
  readonly settings: Settings;
  readonly jsonPath: string | undefined;
  readonly junitPath: string | undefined;
}

export interface Output {
  out(text: string): unknown;
  error(text: string): unknown;
}

const PROCESS_OUTPUT: Output = {
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
};

const EXIT_CONFORMS = 0;
const EXIT_FAILED = 1;
const EXIT_NOT_RUN = 2;

export async function run(argv: readonly string[], output: Output = PROCESS_OUTPUT): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // gRPC would log failures that this command reports itself
  try {
    const command = parseCommand(argv);
    if (typeof command === 'string') {
      output.out(command);
      return EXIT_CONFORMS;
    }
    const report = await runStoppable(command.settings, output);
    output.out(`\n${summaryText(report)}\n`);
    if (command.jsonPath !== undefined) writeReport(command.jsonPath, reportJson(report));
    if (command.junitPath !== undefined) writeReport(command.junitPath, reportJunit(report));
    if (totalsOf(report.results).failed > 0) return EXIT_FAILED;
    return report.isComplete ? EXIT_CONFORMS : EXIT_NOT_RUN;
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    output.error(`flotilla conformance: ${error.message}\n`);
    return EXIT_NOT_RUN;
  }
}

/** The first Ctrl-C stops the checks and returns the machines to their states; a second one ends the process. */
async function runStoppable(settings: Settings, output: Output): Promise<Report> {
  const stopping = new AbortController();
  const stop = () => {
    output.error(
      'Stopping: returning machines to their states. Press Ctrl-C again to leave them as they are.\n',
    );
    stopping.abort();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    return await runConformance(settings, {
      signal: stopping.signal,
      onResult: (result) => output.out(`${resultText(result)}\n`),
    });
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

/** The command to run, or a text to print. */
function parseCommand(argv: readonly string[]): Command | string {
  const values = parseFlags(argv);
  if (values.help) return HELP;
  if (values.list) return listText();
  if (values.target === undefined) throw new UsageError('--target HOST:PORT is missing. See --help.');
  if (!/^.+:\d{1,5}$/.test(values.target)) {
    throw new UsageError(`--target is "${values.target}", but must be HOST:PORT, such as 127.0.0.1:7700.`);
  }
  const nowMs = Date.now();
  return {
    settings: {
      target: values.target,
      transitionTimeoutMs: durationMs('--timeout', values.timeout) ?? DEFAULT_TRANSITION_TIMEOUT_MS,
      callTimeoutMs: durationMs('--call-timeout', values['call-timeout']) ?? DEFAULT_CALL_TIMEOUT_MS,
      style: parseStyle(values.style ?? 'auto'),
      shardId: parseShardId(values['shard-id']) ?? `conformance-${randomBytes(6).toString('hex')}`,
      epoch: nowMs, // greater than in every earlier run
      allowDelete: values['allow-delete'] ?? false,
      only: parseOnly(values.only ?? []),
    },
    jsonPath: values.json,
    junitPath: values.junit,
  };
}

function parseFlags(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      options: {
        target: { type: 'string' },
        only: { type: 'string', multiple: true },
        timeout: { type: 'string' },
        'call-timeout': { type: 'string' },
        style: { type: 'string' },
        'shard-id': { type: 'string' },
        'allow-delete': { type: 'boolean' },
        json: { type: 'string' },
        junit: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    return values;
  } catch (error) {
    const [firstLine] = (error as Error).message.split('\n');
    throw new UsageError(`${firstLine} See --help.`);
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };
/** A longer wait for one transition is surely a mistake. */
const DURATION_MS_MAX = 3_600_000;

function durationMs(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  const parsedMs = Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  if (parsedMs > 0 && parsedMs <= DURATION_MS_MAX) return parsedMs;
  throw new UsageError(`${flag} is "${text}", but must be a time up to 60m, such as 500ms, 30s or 10m.`);
}

function parseStyle(text: string): Style {
  const style = STYLES.find((known) => known === text);
  if (style === undefined) throw new UsageError(`--style is "${text}", but must be ${STYLES.join(', ')}.`);
  return style;
}

/** With an empty shard id every call of the suite would go without a fencing token. */
function parseShardId(text: string | undefined): string | undefined {
  if (text === '') throw new UsageError('--shard-id is empty. Omit it to use a new random id.');
  return text;
}

function parseOnly(names: readonly string[]): readonly string[] {
  const checks = [...CHECKS, ...CLOSING_CHECKS];
  for (const name of names) {
    if (checks.some((check) => check.id === name || areaOf(check) === name)) continue;
    throw new UsageError(`--only "${name}" is neither a check nor an area. --list shows them all.`);
  }
  return names;
}

function listText(): string {
  return [...CHECKS, ...CLOSING_CHECKS].map((check) => `${check.id}\n    ${check.contract}\n`).join('');
}

function writeReport(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new UsageError(`Cannot write the report to ${path}: ${(error as Error).message}.`);
  }
}
