/** `npm run sim` and `npm run sim:soak`: runs histories by seed, and replays one of them. */
import { parseArgs } from 'node:util';
import { type CampaignTotals, type Failure, profileOf, runCampaign } from './campaign.ts';
import { type Held, runDrift } from './drift.ts';
import { type HistoryOptions, type PlacementKind, runHistory } from './history.ts';
import { runNeighbours } from './neighbours.ts';
import { PROFILE_NAMES, type ProfileName } from './profiles.ts';
import { runReplicaHistory } from './replica-history.ts';

const HELP = `Usage: npm run sim -- [options]
       npm run sim -- drift [--cycles N] [--seed S] [--json]
       npm run sim -- replicas [--seed S] [--histories N | --minutes M] [--cycles N] [--trace]

Runs the real shard in a simulated world with virtual time. A history is one world, drawn from its seed, with
accidents and then calm. The simulator checks the shard's rules at every step and prints each violation with
the command that replays it.

  --seed S         seed of the first history; the following ones use S+1, S+2 … (default: 1; with --minutes:
                   from the clock)
  --histories N    number of histories (default: 20; with --minutes: as many as fit)
  --minutes M      run for M minutes and print a line of progress every ten seconds
  --cycles N       cycles with accidents in each history (default: 40)
  --profile P      ${PROFILE_NAMES.join(', ')} (default: in turn, by seed)
  --placement P    cheapest or value: how needs acquire machines (default: every seventh history by value, by seed)
  --hostile        run histories only beside a hostile tenant, each again without it: the actions on all others'
                   machines must be the same (default: every fourth history, by seed)
  --only N,N,…     replay history --seed with only these of its accidents; '' for none
  --trace          replay history --seed and print every step
  --brief          end at the first violation and do not search for fewer accidents that cause it
  --json           also print the counts as JSON at the end
  --help           print this help and exit

\`drift\` is a soak: labels, capacities, prices, types, zones, racks, clusters, groups and resource names change in every
cycle (default: 2,000 cycles). At the end the shard must hold what it held before: the same number of entries in
every table, and at most 10 % more memory.

\`replicas\` runs two replicas of a shard over a directory in memory: lost answers, leases that end early, broken watches,
compaction, restored backups, pauses, kills and handovers.

Exit code: 0 without violations, 1 with violations, 2 for wrong usage.
`;

const PROGRESS_MS = 10_000;
const TRACE_LINES = 40;
const DRIFT_CYCLES = 2_000;
const DRIFT_MACHINES = 24;
/** A history beside a hostile tenant costs three times as much. With a number that is prime to five, every profile has them. */
const HOSTILE_EVERY = 4;

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      histories: { type: 'string' },
      minutes: { type: 'string' },
      cycles: { type: 'string' },
      profile: { type: 'string' },
      placement: { type: 'string' },
      hostile: { type: 'boolean', default: false },
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
  const [command] = positionals;
  if (command !== undefined && (!['drift', 'replicas'].includes(command) || positionals.length > 1)) {
    process.stderr.write(`There is no command ${JSON.stringify(positionals.join(' '))}.\n${HELP}`);
    return 2;
  }
  if (command === 'drift')
    return soakDrift(Number(values.seed ?? 1), Number(values.cycles ?? DRIFT_CYCLES), values.json);
  if (command === 'replicas') {
    const { seed = '1', cycles = '30', trace, minutes } = values;
    const histories = Number(values.histories ?? (minutes === undefined ? 20 : Number.MAX_SAFE_INTEGER));
    const forMs = minutes === undefined ? Number.POSITIVE_INFINITY : Number(minutes) * 60_000;
    return replicas({
      seed: Number(seed),
      histories: trace ? 1 : histories,
      cycles: Number(cycles),
      untilMs: performance.now() + forMs,
      isTraced: trace,
    });
  }
  const isSoak = values.minutes !== undefined;
  const seed = Number(values.seed ?? (isSoak ? Date.now() % 1_000_000_000 : 1));
  const cycles = Number(values.cycles ?? 40);
  const profile = (values.profile ?? null) as ProfileName | null;
  if (profile !== null && !PROFILE_NAMES.includes(profile)) {
    process.stderr.write(
      `--profile is ${JSON.stringify(profile)}, but must be one of ${PROFILE_NAMES.join(', ')}.\n${HELP}`,
    );
    return 2;
  }
  const placement = (values.placement ?? null) as PlacementKind | null;
  if (placement !== null && placement !== 'cheapest' && placement !== 'value') {
    process.stderr.write(
      `--placement is ${JSON.stringify(placement)}, but must be cheapest or value.\n${HELP}`,
    );
    return 2;
  }
  if (values.trace || values.only !== undefined) {
    const only = values.only?.split(',').filter(Boolean).map(Number);
    const placed = placement === null ? {} : { placement };
    const history = { seed, cycles, profile: profileOf(seed, profile), ...placed };
    return replay(
      { ...history, ...(only === undefined ? {} : { only }) },
      values.hostile ? runNeighbours : runHistory,
      values.trace,
    );
  }
  const beganMs = performance.now();
  let printedMs = beganMs;
  const totals = await runCampaign({
    firstSeed: seed,
    historiesMax: Number(values.histories ?? (isSoak ? Number.MAX_SAFE_INTEGER : 20)),
    untilMs: isSoak ? beganMs + Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY,
    cycles,
    profile,
    placement,
    hostileEvery: values.hostile ? 1 : HOSTILE_EVERY,
    isBrief: values.brief,
    nowMs: () => performance.now(),
    onFailure: (failure) => print(textOf(failure, cycles, placement)),
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
  history: HistoryOptions,
  run: (options: HistoryOptions) => Promise<unknown>,
  isTraced: boolean,
): Promise<number> {
  const trace = isTraced ? (line: string) => print(`${line}\n`) : () => {};
  try {
    print(`${JSON.stringify(await run({ ...history, trace }), null, 2)}\n`);
    return 0;
  } catch (error) {
    print(`violation: ${(error as Error).stack}\n`);
    return 1;
  }
}

interface ReplicaCampaign {
  readonly seed: number;
  readonly histories: number;
  readonly cycles: number;
  readonly untilMs: number;
  readonly isTraced: boolean;
}

/** Ends at the first violation. */
async function replicas({ seed, histories, cycles, untilMs, isTraced }: ReplicaCampaign): Promise<number> {
  const sums: Record<string, number> = { takeovers: 0, bindings: 0, removals: 0, accidents: 0 };
  let done = 0;
  let printedMs = performance.now();
  const line = () =>
    `from seed ${seed}: ${done} histories of two replicas, ${JSON.stringify(sums)}, 0 violations, ` +
    `${Math.round(process.cpuUsage().user / 1e6)} CPU seconds\n`;
  for (let number = seed; done < histories && performance.now() < untilMs; number++) {
    const lines: string[] = [];
    const trace = (line: string) =>
      isTraced ? print(`${line}\n`) : lines.push(line) > TRACE_LINES && lines.shift();
    try {
      const { accidents, ...counts } = await runReplicaHistory({ seed: number, cycles, trace });
      for (const [name, count] of Object.entries(counts)) sums[name]! += count;
      for (const count of Object.values(accidents)) sums.accidents! += count;
      done++;
      if (performance.now() - printedMs > PROGRESS_MS) {
        printedMs = performance.now();
        process.stderr.write(line());
      }
    } catch (error) {
      print(`\n=== seed ${number}, profile replicas: ${(error as Error).stack}\n${lines.join('\n')}\n`);
      print(`Replay: npm run sim -- replicas --seed ${number} --cycles ${cycles} --trace\n`);
      return 1;
    }
  }
  print(line());
  return 0;
}

async function soakDrift(seed: number, cycles: number, isJson: boolean): Promise<number> {
  const result = await runDrift({ seed, cycles, machines: DRIFT_MACHINES });
  const { warm, last, bindings, checks, faults } = result;
  if (isJson) print(`${JSON.stringify(result, null, 2)}\n`);
  for (const fault of faults) print(`${fault}\n`);
  const mebibytes = ({ heapBytes, bufferBytes }: Held) => ((heapBytes + bufferBytes) / 2 ** 20).toFixed(1);
  print(
    `seed ${seed}: ${cycles} cycles with drift, ${bindings} bindings, ${checks} checks from scratch; ` +
      `${mebibytes(warm)} MiB before, ${mebibytes(last)} MiB after; ${faults.length} faults\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

function lineOf(totals: CampaignTotals, beganMs: number): string {
  const { histories, cycles, actions, accidents, processes, hostileHistories, comparedActions, violations } =
    totals;
  const wallSeconds = (performance.now() - beganMs) / 1000;
  const { user, system } = process.cpuUsage();
  const perSecond = Math.round(cycles / ((user + system) / 1e6));
  return (
    `${histories} histories, ${cycles} cycles, ${actions} actions, ${accidents} accidents, ${processes} processes, ` +
    `${comparedActions} actions the same beside a hostile tenant in ${hostileHistories} histories, in ` +
    `${wallSeconds.toFixed(0)} s (${perSecond} cycles per CPU second), ${violations} ${violations === 1 ? 'violation' : 'violations'}`
  );
}

function textOf(
  { seed, profile, isHostile, error, lines, accidentsAll, accidentsLeft }: Failure,
  cycles: number,
  placement: PlacementKind | null,
): string {
  const placed = placement === null ? '' : ` --placement ${placement}`;
  const left = accidentsLeft === null ? '' : ` --only '${accidentsLeft.join(',')}'`;
  const beside = isHostile ? ' --hostile' : '';
  const fewer =
    accidentsLeft === null
      ? ''
      : `${accidentsLeft.length} of ${accidentsAll} accidents suffice to cause it. `;
  return (
    `\n=== seed ${seed}, profile ${profile}: ${error.stack ?? error.message}\n${lines.join('\n')}\n` +
    `${fewer}Replay: npm run sim -- --seed ${seed} --cycles ${cycles} --profile ${profile}${placed}${beside}${left} --trace\n\n`
  );
}

function print(text: string): void {
  process.stdout.write(text);
}

process.exitCode = await main(process.argv.slice(2));
