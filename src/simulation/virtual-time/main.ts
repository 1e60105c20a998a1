/** `npm run sim` and `npm run sim:soak`: runs histories by seed, and replays one of them. */
import { parseArgs } from 'node:util';
import { type CampaignTotals, type Failure, profileOf, runCampaign } from './campaign.ts';
import { runHistory } from './history.ts';
import { PROFILE_NAMES, type ProfileName } from './profiles.ts';

const HELP = `Usage: npm run sim -- [options]

Runs the real shard in a simulated world with virtual time. A history is one world, drawn from its seed, with
accidents and then calm. The simulator checks the shard's rules at every step and prints each violation with
the command that replays it.

  --seed S         seed of the first history; the following ones use S+1, S+2 … (default: 1; with --minutes:
                   from the clock)
  --histories N    number of histories (default: 20; with --minutes: as many as fit)
  --minutes M      run for M minutes and print a line of progress every ten seconds
  --cycles N       cycles with accidents in each history (default: 40)
  --profile P      ${PROFILE_NAMES.join(', ')} (default: in turn, by seed)
  --only N,N,…     replay history --seed with only these of its accidents; '' for none
  --trace          replay history --seed and print every step
  --brief          end at the first violation and do not search for fewer accidents that cause it
  --json           also print the counts as JSON at the end
  --help           print this help and exit

Exit code: 0 without violations, 1 with violations, 2 for wrong usage.
`;

const PROGRESS_MS = 10_000;

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      seed: { type: 'string' },
      histories: { type: 'string' },
      minutes: { type: 'string' },
      cycles: { type: 'string', default: '40' },
      profile: { type: 'string' },
      only: { type: 'string' },
      trace: { type: 'boolean', default: false },
      brief: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const isSoak = values.minutes !== undefined;
  const seed = Number(values.seed ?? (isSoak ? Date.now() % 1_000_000_000 : 1));
  const cycles = Number(values.cycles);
  const profile = (values.profile ?? null) as ProfileName | null;
  if (profile !== null && !PROFILE_NAMES.includes(profile)) {
    process.stderr.write(
      `--profile is ${JSON.stringify(profile)}, but must be one of ${PROFILE_NAMES.join(', ')}.\n${HELP}`,
    );
    return 2;
  }
  if (values.trace || values.only !== undefined) {
    const only = values.only?.split(',').filter(Boolean).map(Number);
    return replay(seed, cycles, profileOf(seed, profile), only, values.trace);
  }
  const beganMs = performance.now();
  let printedMs = beganMs;
  const totals = await runCampaign({
    firstSeed: seed,
    historiesMax: Number(values.histories ?? (isSoak ? Number.MAX_SAFE_INTEGER : 20)),
    untilMs: isSoak ? beganMs + Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY,
    cycles,
    profile,
    isBrief: values.brief,
    nowMs: () => performance.now(),
    onFailure: (failure) => print(textOf(failure, cycles)),
    onProgress: (soFar) => {
      if (performance.now() - printedMs < PROGRESS_MS) return;
      printedMs = performance.now();
      print(`… ${lineOf(soFar, beganMs)}\n`);
    },
  });
  if (values.json) print(`${JSON.stringify(totals, null, 2)}\n`);
  print(`from seed ${seed}: ${lineOf(totals, beganMs)}\n`);
  return totals.violations === 0 ? 0 : 1;
}

async function replay(
  seed: number,
  cycles: number,
  profile: ProfileName,
  only: readonly number[] | undefined,
  isTraced: boolean,
): Promise<number> {
  const trace = isTraced ? (line: string) => print(`${line}\n`) : () => {};
  try {
    const result = await runHistory({
      seed,
      cycles,
      profile,
      trace,
      ...(only === undefined ? {} : { only }),
    });
    print(`${JSON.stringify(result, null, 2)}\n`);
    return 0;
  } catch (error) {
    print(`violation: ${(error as Error).stack}\n`);
    return 1;
  }
}

function lineOf(totals: CampaignTotals, beganMs: number): string {
  const { histories, cycles, actions, accidents, processes, violations } = totals;
  const wallSeconds = (performance.now() - beganMs) / 1000;
  const { user, system } = process.cpuUsage();
  const perSecond = Math.round(cycles / ((user + system) / 1e6));
  return (
    `${histories} histories, ${cycles} cycles, ${actions} actions, ${accidents} accidents, ${processes} processes in ` +
    `${wallSeconds.toFixed(0)} s (${perSecond} cycles per CPU second), ${violations} ${violations === 1 ? 'violation' : 'violations'}`
  );
}

function textOf(
  { seed, profile, error, lines, accidentsAll, accidentsLeft }: Failure,
  cycles: number,
): string {
  const left = accidentsLeft === null ? '' : ` --only '${accidentsLeft.join(',')}'`;
  const fewer =
    accidentsLeft === null
      ? ''
      : `${accidentsLeft.length} of ${accidentsAll} accidents suffice to cause it. `;
  return (
    `\n=== seed ${seed}, profile ${profile}: ${error.stack ?? error.message}\n${lines.join('\n')}\n` +
    `${fewer}Replay: npm run sim -- --seed ${seed} --cycles ${cycles} --profile ${profile}${left} --trace\n\n`
  );
}

function print(text: string): void {
  process.stdout.write(text);
}

process.exitCode = await main(process.argv.slice(2));
