/** `flotilla profile`: summarises CPU profiles on the terminal, by part of the program and by function. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { ShardError } from '../base/errors.ts';
import { EXIT_OK, exitCodeOf } from './exit.ts';
import { type Output, processOutput, tableText } from './inspect/terminal.ts';
import { type ProfileSummary, parseProfile, summarise } from './profile/cpu-profile.ts';
import { Places } from './profile/places.ts';

const HELP = `Usage: flotilla profile FILE… [options]

Summarises CPU profiles: which parts of the program and which functions took the time. node --cpu-prof writes one
profile per thread when the process ends. In a file's name the number after the process id is the thread; 0 is the main
thread.

  --top N           number of functions to show (default 25)
  --total           sort functions by total time, including the functions that they call, instead of self time
  --json            print JSON
  --help            print this help and exit

Examples:
  node --cpu-prof --cpu-prof-dir=profiles dist/src/cli/main.js shard --provider-addr 127.0.0.1:7790
  flotilla profile profiles/*.cpuprofile

Exit code: 0 shown, 1 a file cannot be read or is not a profile, 2 invalid usage.
`;

const TOP_MAX = 100_000;

interface Asked {
  readonly files: readonly string[];
  readonly top: number;
  readonly isByTotal: boolean;
  readonly isJson: boolean;
}

class UsageError extends ShardError {
  readonly code = 'usage';
  readonly next = 'refuse-to-start';
}

class UnreadableError extends ShardError {
  readonly code = 'unreadable';
  readonly next = 'reject-input';
}

/** Resolves with the exit code. */
export function run(argv: readonly string[], output: Output = processOutput()): Promise<number> {
  return exitCodeOf('profile', async () => {
    const asked = parse(argv);
    if (asked === 'help') {
      output.out(HELP);
      return EXIT_OK;
    }
    const places = new Places();
    const read = asked.files.map((file) => ({
      file,
      summary: summarise(parseProfile(file, readText(file))),
    }));
    if (asked.isJson)
      output.out(`${JSON.stringify(read.map((one) => asJson(one.file, one.summary, places, asked)))}\n`);
    else output.out(read.map((one) => asText(one.file, one.summary, places, asked, output)).join('\n'));
    return EXIT_OK;
  });
}

function parse(argv: readonly string[]): Asked | 'help' {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        top: { type: 'string', default: '25' },
        total: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    const top = /^\d{1,9}$/.test(values.top) ? Number(values.top) : 0;
    if (top < 1 || top > TOP_MAX)
      throw new Error(`--top is "${values.top}", but must be a whole number from 1 to ${TOP_MAX}.`);
    if (positionals.length === 0) throw new Error('No profile is given.');
    return { files: positionals, top, isByTotal: values.total, isJson: values.json };
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split('\n')[0]} See --help.`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UnreadableError(`Cannot read ${file}: ${(error as Error).message}.`);
  }
}

function partsOf({ functions }: ProfileSummary, places: Places): [string, number][] {
  const msByPart = new Map<string, number>();
  for (const one of functions) {
    const { part } = places.of(one);
    msByPart.set(part, (msByPart.get(part) ?? 0) + one.selfMs);
  }
  return [...msByPart].sort(([, a], [, b]) => b - a);
}

function topOf({ functions }: ProfileSummary, { top, isByTotal }: Asked) {
  const ordered = isByTotal ? functions.toSorted((a, b) => b.totalMs - a.totalMs) : functions;
  return ordered.slice(0, top);
}

function asJson(file: string, summary: ProfileSummary, places: Places, asked: Asked): object {
  const { durationMs, busyMs, sampleCount } = summary;
  return {
    file,
    durationMs,
    busyMs,
    sampleCount,
    selfMsByPart: Object.fromEntries(partsOf(summary, places)),
    functions: topOf(summary, asked).map((one) => ({
      name: one.name,
      place: places.of(one).text,
      selfMs: one.selfMs,
      totalMs: one.totalMs,
    })),
  };
}

function asText(file: string, summary: ProfileSummary, places: Places, asked: Asked, output: Output): string {
  const { durationMs, busyMs, sampleCount } = summary;
  const share = (ms: number, of: number) => `${((100 * ms) / Math.max(of, Number.MIN_VALUE)).toFixed(1)} %`;
  const thread = /^CPU\.\d+\.\d+\.\d+\.(\d+)\.\d+\.cpuprofile$/.exec(basename(file))?.[1];
  const name = thread === undefined ? '' : thread === '0' ? ' (main thread)' : ` (thread ${thread})`;
  const busy = `busy for ${(busyMs / 1000).toFixed(2)} s of ${(durationMs / 1000).toFixed(2)} s`;
  const parts = partsOf(summary, places).filter(([, ms]) => ms >= busyMs / 200);
  const functions = topOf(summary, asked).filter(({ selfMs, totalMs }) => selfMs > 0 || totalMs > 0);
  return [
    `${file}${name}: ${busy} (${share(busyMs, durationMs)}), ${sampleCount.toLocaleString('en-US')} samples\n\n`,
    tableText(
      output,
      [{ name: 'ms', align: 'right' }, { name: 'of busy', align: 'right' }, { name: 'part' }],
      parts.map(([part, ms]) => [ms.toFixed(0), share(ms, busyMs), part]),
    ),
    '\n',
    tableText(
      output,
      [
        { name: 'self ms', align: 'right' },
        { name: 'of busy', align: 'right' },
        { name: 'total ms', align: 'right' },
        { name: 'function' },
        { name: 'at' },
      ],
      functions.map((one) => [
        one.selfMs.toFixed(1),
        share(asked.isByTotal ? one.totalMs : one.selfMs, busyMs),
        one.totalMs.toFixed(1),
        one.name === '' ? '(anonymous)' : one.name,
        places.of(one).text,
      ]),
    ),
  ].join('');
}
