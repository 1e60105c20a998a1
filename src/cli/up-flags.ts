/** The command line of `flotilla up`: from words to a plan, with one clear line for each mistake. */
import { parseArgs } from 'node:util';
import { UsageError, wholeNumber } from '../base/flag-words.ts';

export interface UpPlan {
  readonly help: boolean;
  readonly machines: number;
  readonly clusters: number;
  readonly seed: number;
  readonly churn: string;
  readonly cycleInterval: string;
  readonly listen: string;
  readonly metricsAddr: string;
  /** Of the provider's operations, as `flotilla provider --latency` takes it. */
  readonly latency: string;
  readonly isCalm: boolean;
  readonly isPlain: boolean;
  /** End after so many seconds; 0 = at a signal. */
  readonly seconds: number;
  /** Passed on to `flotilla shard` as they are. */
  readonly shardFlags: readonly string[];
}

const MACHINES_PER_CLUSTER = 250;
const MACHINES_MAX = 2_000_000;

export const UP_HELP = `Usage: flotilla up [options] [-- options of flotilla shard]

Runs a shard, a simulated provider and simulated clusters on this machine, to look at, until Ctrl-C.

  --machines N             in the provider's fleet (10000)
  --clusters N             that share them (one for every 250 machines)
  --seed N                 the same seed, the same fleet and the same demand (1)
  --churn SHARE            of a cluster's demand that changes every ten seconds (1%)
  --latency MEAN[/P99]     of creating, binding, draining and deleting a machine (2s/8s)
  --calm                   no bursts, no interruptions, no moving prices
  --cycle-interval TIME    of the shard (5s)
  --listen HOST:PORT       of the shard, for more operators (127.0.0.1:7780, or a free port if that is taken)
  --metrics-addr HOST:PORT of the dashboard and the metrics (127.0.0.1:8780, or a free port if that is taken)
  --seconds N              end after so long (at Ctrl-C)
  --plain                  lines instead of a live view
  --help                   print this and stop
  -- FLAGS                 what follows is passed on to flotilla shard

Examples:
  flotilla up
  flotilla up --machines 500000 --clusters 2000
  flotilla up --seconds 60 --plain -- --log-level debug --audit-log audit.jsonl

Exit code: 0 ended by a signal or --seconds, 1 a part of it ended by itself, 2 wrong usage.
`;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  machines: { type: 'string', default: '10000' },
  clusters: { type: 'string' },
  seed: { type: 'string', default: '1' },
  churn: { type: 'string', default: '1%' },
  latency: { type: 'string', default: '2s/8s' },
  calm: { type: 'boolean', default: false },
  'cycle-interval': { type: 'string', default: '5s' },
  listen: { type: 'string', default: '' },
  'metrics-addr': { type: 'string', default: '' },
  seconds: { type: 'string', default: '0' },
  plain: { type: 'boolean', default: false },
} as const;

export function parseUpFlags(argv: readonly string[]): UpPlan {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const { values } = parsed(own);
  const machines = wholeNumber('machines', values.machines, 1, MACHINES_MAX);
  const clusters =
    values.clusters === undefined
      ? Math.max(1, Math.round(machines / MACHINES_PER_CLUSTER))
      : wholeNumber('clusters', values.clusters, 1, machines);
  return {
    help: values.help,
    machines,
    clusters,
    seed: wholeNumber('seed', values.seed, 0),
    churn: values.churn,
    cycleInterval: values['cycle-interval'],
    listen: values.listen,
    metricsAddr: values['metrics-addr'],
    latency: values.latency,
    isCalm: values.calm,
    isPlain: values.plain,
    seconds: wholeNumber('seconds', values.seconds, 0, 86_400),
    shardFlags: end < 0 ? [] : argv.slice(end + 1),
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message.split('\n')[0]!.replace(/\.$/, ''));
  }
}
