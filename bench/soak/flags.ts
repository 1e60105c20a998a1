/** The command line of `npm run soak`: from words to a plan, with one clear line for each mistake. */
import { parseArgs } from 'node:util';
import { durationMs, rate, share, UsageError, wholeNumber } from '../../src/base/flag-words.ts';

export interface SoakPlan {
  readonly machines: number;
  readonly clusters: number;
  /** As `flotilla operators --churn` takes it. */
  readonly churn: string;
  /** As `flotilla provider --latency` takes it. */
  readonly latency: string;
  /** Every listing is of everything; otherwise of what changed, as a fleet of this size is run. */
  readonly fullListings: boolean;
  /** Of the shard. */
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
/** Caches, pools and the heap take their size in the first minutes; that is no drift. */
const WARM_UP_SHARE = 0.25;
const WARM_UP_SECONDS_MAX = 300;

export const SOAK_HELP = `npm run soak: the real processes for a long time, to see whether anything grows

  --minutes M              how long, from the moment all clusters are connected (20)
  --machines N             in the provider's fleet (500000)
  --clusters N             that share them (one for every 250 machines)
  --churn SHARE            of a cluster's demand that changes every ten seconds (1%)
  --latency MEAN[/P99]     of creating, binding, draining and deleting a machine (500ms/2s)
  --full-listings          every ten seconds all machines are listed, 450 MB, and not what changed: more than two cores can
                           do beside everything else
  --execute-concurrency N  actions of the shard at a time (1024). Reclaims leave in ordinary cycles, and the queue holds twice
                           as many: with 256 they are 51 a second, less than such churn gives back, and the fleet fills up
  --warm-up DURATION       that is drawn but not judged (a quarter of the time, at most 5m)
  --sample-every DURATION  (5s)
  --seed N                 (1)
  --out DIR                where soak-samples.jsonl, soak.generated.json, soak.md and the plots go (a temporary folder)

Judged after the warm-up, last quarter against first, by medians: memory of the shard (at most 5 % more), queues, waiting
reads, file descriptors, threads. Exit codes: 0 nothing grew, 1 something did or the time was too short, 2 the command line
is wrong. SIGINT ends it early, in order; what was sampled until then is judged.
\`npm run soak -- --out bench/results && npm run bench -- --report\` publishes it in docs/results.md.
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

/** Null: only help was asked for. */
export function parseSoakFlags(argv: readonly string[]): SoakPlan | null {
  const values = read(argv);
  if (values.help) return null;
  const machines = wholeNumber('machines', values.machines, 1, MACHINES_MAX);
  const minutes = rate('minutes', values.minutes);
  if (minutes <= 0 || minutes > MINUTES_MAX) {
    throw new UsageError(`--minutes is more than 0 and at most ${MINUTES_MAX}, not "${values.minutes}"`);
  }
  const usualWarmUp = Math.min(WARM_UP_SECONDS_MAX, minutes * 60 * WARM_UP_SHARE);
  const warmUp = values['warm-up'];
  const sampleEveryMs = durationMs('sample-every', values['sample-every']);
  if (sampleEveryMs < 100) throw new UsageError('--sample-every is at least 100ms');
  share('churn', values.churn); // refused here, not by a child
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
