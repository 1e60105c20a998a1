/** Parses the command line of `flotilla up`. Each usage error is one line. */
import { parseArgs } from 'node:util';
import { UsageError, wholeNumber } from '../base/flag-words.ts';
import { PROCESSES_MAX } from './processes.ts';
import { sizeUp, type UpSizing } from './up-sizing.ts';

export const UP_PROVIDERS = ['simulated', 'processes'] as const;
export type UpProvider = (typeof UP_PROVIDERS)[number];

export interface UpPlan {
  readonly help: boolean;
  readonly provider: UpProvider;
  readonly machines: number;
  readonly clusters: number;
  readonly seed: number;
  readonly churn: string;
  readonly cycleInterval: string;
  readonly listen: string;
  readonly metricsAddr: string;
  /** What depends on the number of machines, unless a flag says otherwise. */
  readonly sizing: UpSizing;
  readonly isCalm: boolean;
  readonly isPlain: boolean;
  /** Two replicas and an etcd. */
  readonly hasStandby: boolean;
  /** Stop after this many seconds; 0 = run until a signal. */
  readonly seconds: number;
  /** Passed to `flotilla shard` unchanged. */
  readonly shardFlags: readonly string[];
}

const MACHINES_PER_CLUSTER = 250;
/** Processes are real: two clusters with a dozen of them show everything. */
const SIZES = {
  simulated: { machines: 10_000, machinesMax: 2_000_000, machinesPerCluster: MACHINES_PER_CLUSTER },
  processes: { machines: 12, machinesMax: PROCESSES_MAX, machinesPerCluster: 6 },
} as const satisfies Record<UpProvider, object>;

export const UP_HELP = `Usage: flotilla up [options] [-- options of flotilla shard]

Runs a demo on this machine until Ctrl-C: a shard, a simulated provider and simulated clusters.

  --provider KIND          simulated, or processes: machines are shells on this host that run their bootstrap blobs as
                           scripts, and the output shows them come and go (default simulated)
  --machines N             number of machines in the provider's fleet (default 10000; 12 processes)
  --clusters N             number of clusters that share the machines (default one for every 250 machines; 6 processes)
  --seed N                 random seed; the same seed gives the same fleet and the same demand (default 1)
  --churn SHARE            share of each cluster's demand that changes every ten seconds (default 1%)
  --latency MEAN[/P99]     time that the provider takes to create, bind, drain or delete a machine
                           (default 2s/8s; shorter for more than 125,000 machines: 500ms/2s for 500,000)
  --calm                   no bursts of demand, no interruptions, no price changes
  --cycle-interval TIME    time between two cycles of the shard (default 5s)
  --listen HOST:PORT       address on which operators connect (default 127.0.0.1:7780, or an unused port)
  --metrics-addr HOST:PORT address of the dashboard and the metrics (default 127.0.0.1:8780, or an unused port)
  --standby                two replicas of the shard and an etcd, if there is one on this machine: k kills the active
                           replica, the other one takes over, and the page follows it
  --seconds N              stop after this many seconds (default 0: run until Ctrl-C)
  --plain                  print progress lines instead of a live view
  --help                   print this help and exit
  -- FLAGS                 pass all following flags to flotilla shard

Large fleets bind more machines at a time: from 50,000 machines on the shard lists with --incremental-reconcile, and above
128,000 it has a larger --execute-concurrency (1024 for 500,000). Both may be given after --.

Examples:
  flotilla up
  flotilla up --machines 500000 --clusters 2000
  flotilla up --provider processes
  flotilla up --standby --machines 5000
  flotilla up --seconds 60 --plain -- --log-level debug --audit-log audit.jsonl

Exit code: 0 stopped by a signal or --seconds, 1 a process failed, 2 invalid usage or a process could not start.
`;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  provider: { type: 'string', default: 'simulated' },
  machines: { type: 'string' },
  clusters: { type: 'string' },
  seed: { type: 'string', default: '1' },
  churn: { type: 'string', default: '1%' },
  latency: { type: 'string' },
  calm: { type: 'boolean', default: false },
  'cycle-interval': { type: 'string', default: '5s' },
  listen: { type: 'string', default: '' },
  'metrics-addr': { type: 'string', default: '' },
  seconds: { type: 'string', default: '0' },
  plain: { type: 'boolean', default: false },
  standby: { type: 'boolean', default: false },
} as const;

export function parseUpFlags(argv: readonly string[]): UpPlan {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const { values } = parsed(own);
  const provider = UP_PROVIDERS.find((kind) => kind === values.provider);
  if (provider === undefined)
    throw new UsageError(`--provider must be ${UP_PROVIDERS.join(' or ')}, not "${values.provider}"`);
  const size = SIZES[provider];
  const machines = wholeNumber('machines', values.machines ?? size.machines, 1, size.machinesMax);
  const clusters =
    values.clusters === undefined
      ? Math.max(1, Math.round(machines / size.machinesPerCluster))
      : wholeNumber('clusters', values.clusters, 1, machines);
  const sizing = sizeUp(machines);
  return {
    help: values.help,
    provider,
    machines,
    clusters,
    seed: wholeNumber('seed', values.seed, 0),
    churn: values.churn,
    cycleInterval: values['cycle-interval'],
    listen: values.listen,
    metricsAddr: values['metrics-addr'],
    sizing: { ...sizing, latency: values.latency ?? sizing.latency },
    isCalm: values.calm,
    isPlain: values.plain,
    hasStandby: values.standby,
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
