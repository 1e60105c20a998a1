/** The command line of `npm run soak`: parses flags into a plan, and prints one clear line for a mistake. */
import { parseArgs } from 'node:util';
import { durationMs, rate, share, UsageError, wholeNumber } from '../../src/base/flag-words.ts';

export interface SoakPlan {
  readonly machines: number;
  readonly clusters: number;
  /** As `flotilla operators --churn` takes it. */
  readonly churn: string;
  /** As `flotilla provider --latency` takes it. */
  readonly latency: string;
  /** Every listing is full; otherwise listings are incremental, as a fleet of this size is run. */
  readonly fullListings: boolean;
  /** The shard's setting. */
  readonly executeConcurrency: number;
  readonly minutes: number;
  readonly warmUpSeconds: number;
  readonly sampleEveryMs: number;
  readonly seed: number;
  /** Null: a temporary folder. */
  readonly outFolder: string | null;
}

const MACHINES_PER_CLUSTER = 250;
const MACHINES_MAX = 1_000_000;
const MINUTES_MAX = 24 * 60;
/** Caches, pools and the heap grow to their size in the first minutes; that is not drift. */
const WARM_UP_SHARE = 0.25;
const WARM_UP_SECONDS_MAX = 300;

export const SOAK_HELP = `npm run soak: runs the real programs for a long time and checks that memory and queues do not grow

  --minutes M              run time, counted from the moment when all clusters are connected (20)
  --machines N             machines in the provider's fleet (500000)
  --clusters N             clusters that share them (one for every 250 machines)
  --churn SHARE            share of a cluster's demand that changes every ten seconds (1%)
  --latency MEAN[/P99]     time to create, bind, drain or delete a machine (500ms/2s)
  --full-listings          list all machines every ten seconds (450 MB) instead of the changes; two cores cannot do that
                           beside everything else
  --execute-concurrency N  actions of the shard in flight (1024). The shard enqueues reclaims in ordinary cycles only, and its
                           queue holds twice this many: 256 allow 51 reclaims a second, fewer than this churn needs, so the
                           fleet would fill up
  --warm-up DURATION       time at the start that is plotted but not judged (a quarter of the run, at most 5m)
  --sample-every DURATION  time between two samples (5s)
  --seed N                 seed of the fleet and the churn (1)
  --out DIR                folder for soak-samples.jsonl, soak.generated.json, soak.md and the plots (a temporary folder)

After the warm-up the soak compares medians of the last quarter with the first: memory of the shard (at most 5 % more),
queues, waiting reads, file descriptors, threads. Exit codes: 0 nothing grew; 1 something grew, or the run was too short to
judge; 2 the command line is wrong. SIGINT ends the run early; the samples taken so far are judged.
\`npm run soak -- --out bench/results && npm run bench -- --report\` publishes the soak in docs/results.md.
`;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  minutes: { type: 'string', default: '20' },
  machines: { type: 'string', default: '500000' },
  clusters: { type: 'string' },
  churn: { type: 'string', default: '1%' },
  latency: { type: 'string', default: '500ms/2s' },
  'full-listings': { type: 'boolean', default: false },
  'execute-concurrency': { type: 'string', default: '1024' },
  'warm-up': { type: 'string' },
  'sample-every': { type: 'string', default: '5s' },
  seed: { type: 'string', default: '1' },
  out: { type: 'string' },
} as const;

/** Null for --help. */
export function parseSoakFlags(argv: readonly string[]): SoakPlan | null {
  const values = read(argv);
  if (values.help) return null;
  const machines = wholeNumber('machines', values.machines, 1, MACHINES_MAX);
  const minutes = rate('minutes', values.minutes);
  if (minutes <= 0 || minutes > MINUTES_MAX) {
    throw new UsageError(`--minutes must be above 0 and at most ${MINUTES_MAX}, not "${values.minutes}"`);
  }
  const usualWarmUp = Math.min(WARM_UP_SECONDS_MAX, minutes * 60 * WARM_UP_SHARE);
  const warmUp = values['warm-up'];
  const sampleEveryMs = durationMs('sample-every', values['sample-every']);
  if (sampleEveryMs < 100) throw new UsageError('--sample-every must be at least 100ms');
  share('churn', values.churn); // checked here, so that a mistake does not start programs
  return {
    machines,
    clusters:
      values.clusters === undefined
        ? Math.max(1, Math.round(machines / MACHINES_PER_CLUSTER))
        : wholeNumber('clusters', values.clusters, 1, machines),
    churn: values.churn,
    latency: values.latency,
    fullListings: values['full-listings'],
    executeConcurrency: wholeNumber('execute-concurrency', values['execute-concurrency'], 1, 65_536),
    minutes,
    warmUpSeconds: warmUp === undefined ? usualWarmUp : durationMs('warm-up', warmUp) / 1_000,
    sampleEveryMs,
    seed: wholeNumber('seed', values.seed, 0),
    outFolder: values.out ?? null,
  };
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]!.replace(/\.$/, ''));
  }
}
