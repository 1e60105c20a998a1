/**
 * `flotilla conformance`: runs the provider conformance suite against an address. The exit code is the
 * verdict (0 conforms, 1 a check failed, 2 no verdict), so that a provider's CI needs no more
 * than the command.
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

Checks whether a capacity provider keeps the contract of bigfleet.v1alpha1.CapacityProvider.
Uses free SPECULATIVE and IDLE machines and puts them back. Run it while no shard uses the provider.

  --target HOST:PORT    the provider, gRPC without TLS
  --only NAME           an area (fencing) or a check (fencing/stale-epoch); may be repeated
  --timeout TIME        longest wait for a transition to end (default 60s; 500ms, 30s, 10m)
  --call-timeout TIME   deadline of each call (default 30s)
  --style STYLE         auto, sync (every ack shows the terminal state) or async (default auto)
  --shard-id ID         the suite's own shard id (default: a new one)
  --allow-delete        may also delete IDLE machines that it found; they are created again
  --json FILE           also write the report as JSON
  --junit FILE          also write the report as JUnit XML
  --list                print all checks with the sentence that each one tests, and stop
  --help                print this and stop

Examples:
  flotilla conformance --target 127.0.0.1:7790
  flotilla conformance --target 127.0.0.1:7790 --only fencing --junit report.xml

Exit code: 0 every check passed or was skipped, 1 a check failed, 2 wrong usage, no provider there, or stopped.
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
  setLogVerbosity(logVerbosity.NONE); // what goes wrong is said once, by us
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

/** The first Ctrl-C ends the checks but puts the machines back; a second one ends the process. */
async function runStoppable(settings: Settings, output: Output): Promise<Report> {
  const stopping = new AbortController();
  const stop = () => {
    output.error('Stopping: putting the machines back. Once more to leave them as they are.\n');
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

/** A command to run, or a text to print. */
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
      epoch: nowMs, // greater than in any run before
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
/** What timers can wait for without wrapping round: 24 days. An hour is plenty. */
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

/** An empty shard id would turn every token of the suite into none. */
function parseShardId(text: string | undefined): string | undefined {
  if (text === '') throw new UsageError('--shard-id is empty. Leave it out to have a new one.');
  return text;
}

function parseOnly(names: readonly string[]): readonly string[] {
  const checks = [...CHECKS, ...CLOSING_CHECKS];
  for (const name of names) {
    if (checks.some((check) => check.id === name || areaOf(check) === name)) continue;
    throw new UsageError(`--only "${name}" is neither a check nor an area. See --list.`);
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
    throw new UsageError(`The report cannot be written to ${path}: ${(error as Error).message}.`);
  }
}
