/** The command line of `flotilla operators`: from words to settings, with one clear line for each mistake. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { durationMs, share, UsageError, wholeNumber } from '../../base/flag-words.ts';
import type { TlsFiles } from '../../tls/files.ts';
import { CATALOGUES } from '../catalogue/catalogue.ts';
import { MACHINES_PER_CLUSTER, MACHINES_PER_CLUSTER_MAX } from '../catalogue/steady-demand.ts';
import type { Spell } from './demand-weather.ts';
import type { FleetSettings } from './operator-fleet.ts';
import { DEFAULT_BEHAVIOUR, DEFAULT_RECONNECT, type DelayMs } from './settings.ts';

export interface OperatorsFlags {
  readonly help: boolean;
  readonly fleet: FleetSettings;
  /** null: until a signal. */
  readonly durationMs: number | null;
  readonly reportEveryMs: number;
  /** Without any session after this long there is no point in going on. */
  readonly giveUpMs: number;
  readonly json: boolean;
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  shard: { type: 'string', default: '127.0.0.1:7780' },
  connections: { type: 'string', default: '0' },
  insecure: { type: 'boolean' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-ca': { type: 'string' },
  clusters: { type: 'string', default: '10' },
  machines: { type: 'string' },
  'machines-per-cluster': { type: 'string' },
  catalogue: { type: 'string', default: 'realistic' },
  seed: { type: 'string', default: '1' },
  ramp: { type: 'string', default: '5s' },
  churn: { type: 'string', default: '0' },
  burst: { type: 'string', default: '0' },
  'burst-every': { type: 'string', default: '3m' },
  'burst-length': { type: 'string', default: '1m' },
  shrink: { type: 'string', default: '0' },
  'shrink-every': { type: 'string', default: '5m' },
  'shrink-length': { type: 'string', default: '2m' },
  'rollup-interval': { type: 'string', default: '10s' },
  'bootstrap-delay': { type: 'string', default: '0ms' },
  'bootstrap-errors': { type: 'string', default: '0' },
  'bootstrap-silence': { type: 'string', default: '0' },
  'bootstrap-bytes': { type: 'string', default: '4096' },
  duration: { type: 'string' },
  'report-every': { type: 'string', default: '10s' },
  'give-up': { type: 'string', default: '1m' },
  json: { type: 'boolean' },
} as const satisfies ParseArgsConfig['options'];

export const HELP = `Usage: flotilla operators [options]

Runs simulated clusters that ask a shard for machines, each with a session of its own.

  --shard HOST:PORT            where the shard takes sessions (127.0.0.1:7780)
  --connections N              shared by all clusters; 0 gives each its own (0). Flotilla takes 64 clusters on one
  --insecure                   speak beyond loopback without TLS
  --tls-cert, --tls-key, --tls-ca FILE   mutual TLS: all three or none; {cluster} in a path is the cluster's id

The clusters
  --clusters N                 cluster-0000, cluster-0001, … (10)
  --machines N                 of the whole fleet (${MACHINES_PER_CLUSTER} for each cluster); the clusters ask for 97 % of them
  --machines-per-cluster N     the same for each cluster
  --catalogue NAME             ${Object.keys(CATALOGUES).join(' or ')} (realistic)
  --seed N                     the same seed, the same demand (1). A provider with the same --machines, --clusters,
                               --catalogue and --seed has just the machines that are asked for
  --ramp DURATION              all are connected after this long (5s)

Demand
  --rollup-interval DURATION   every cluster sends its whole demand this often, give or take a tenth (10s)
  --churn SHARE                of the rows that are replaced, added or removed with each roll-up, such as 1% (0)
  --burst SHARE                of the machines of one type, wanted beside the rest at the highest priority (0); above
                               3% somebody has to be preempted
  --burst-every, --burst-length DURATION     (3m, 1m)
  --shrink SHARE               of the clusters, that withdraw every second need for a while (0)
  --shrink-every, --shrink-length DURATION   (5m, 2m)

Bootstrap blobs
  --bootstrap-delay TIME       before a request is answered: 200ms, or 100ms-2s for any time between (0ms)
  --bootstrap-errors SHARE     answered with an error (0)
  --bootstrap-silence SHARE    never answered (0)
  --bootstrap-bytes N          of a blob (4096)

Output
  --duration DURATION          end after this long (never); a signal ends it at any time
  --report-every DURATION      between two lines of progress (10s)
  --give-up DURATION           end with an error if no session stands after this long (1m)
  --json                       one JSON object a line: connected, progress …, summary
  --help                       print this and stop

The first line is "connected N clusters to HOST:PORT", when all sessions stand.

Examples:
  flotilla operators --clusters 40 --churn 1%
  flotilla operators --clusters 2000 --machines 500000 --churn 1% --burst 5% --bootstrap-delay 50ms-500ms
  flotilla operators --shard shard.example:7780 --clusters 1 --tls-cert {cluster}.pem --tls-key {cluster}.key --tls-ca ca.pem

Exit code: 0 ended by a signal or --duration, 1 no session could be opened, 2 wrong usage.
`;

/** As many as the shard numbers. */
const CLUSTERS_MAX = 65_534;

export function parseOperatorsFlags(argv: readonly string[]): OperatorsFlags {
  const flags = read(argv);
  const catalogue = CATALOGUES[flags.catalogue];
  if (catalogue === undefined) {
    throw new UsageError(`--catalogue is ${Object.keys(CATALOGUES).join(' or ')}, not ${flags.catalogue}`);
  }
  const tls = tlsOf(flags['tls-cert'], flags['tls-key'], flags['tls-ca']);
  checkShard(flags.shard, tls !== undefined || flags.insecure === true);
  return {
    help: flags.help === true,
    durationMs: flags.duration === undefined ? null : durationMs('duration', flags.duration),
    reportEveryMs: positiveMs('report-every', flags['report-every']),
    giveUpMs: positiveMs('give-up', flags['give-up']),
    json: flags.json === true,
    fleet: {
      address: flags.shard,
      tls,
      connectionCount: connectionCount(flags, tls),
      catalogue,
      ...sizeOf(flags),
      seed: wholeNumber('seed', flags.seed, 0),
      churnShare: share('churn', flags.churn),
      rampMs: durationMs('ramp', flags.ramp),
      weather: { burst: spell(flags, 'burst'), shrink: spell(flags, 'shrink') },
      reconnect: DEFAULT_RECONNECT,
      behaviour: {
        ...DEFAULT_BEHAVIOUR,
        rollupIntervalMs: positiveMs('rollup-interval', flags['rollup-interval']),
        bootstrapDelayMs: delay('bootstrap-delay', flags['bootstrap-delay']),
        bootstrapErrorProbability: share('bootstrap-errors', flags['bootstrap-errors']),
        bootstrapSilenceProbability: share('bootstrap-silence', flags['bootstrap-silence']),
        blobBytes: wholeNumber('bootstrap-bytes', flags['bootstrap-bytes'], 0, 1 << 20),
      },
    },
  };
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    // Node's own text says which word it does not know, then how to quote it: the first sentence is enough.
    throw new UsageError((error as Error).message.split('. ')[0]!);
  }
}

type Flags = ReturnType<typeof read>;

function sizeOf(flags: Flags): Pick<FleetSettings, 'clusterCount' | 'machineCount'> {
  const clusterCount = wholeNumber('clusters', flags.clusters, 1, CLUSTERS_MAX);
  const perCluster = flags['machines-per-cluster'];
  if (perCluster !== undefined && flags.machines !== undefined) {
    throw new UsageError('--machines and --machines-per-cluster say the same thing: give one of them');
  }
  const machineCount =
    flags.machines === undefined
      ? clusterCount *
        wholeNumber('machines-per-cluster', perCluster ?? MACHINES_PER_CLUSTER, 1, MACHINES_PER_CLUSTER_MAX)
      : wholeNumber('machines', flags.machines, 1, clusterCount * MACHINES_PER_CLUSTER_MAX);
  return { clusterCount, machineCount };
}

function connectionCount(flags: Flags, tls: TlsFiles | undefined): number {
  const count = wholeNumber('connections', flags.connections, 0, CLUSTERS_MAX);
  if (count > 0 && tls?.certificatePath.includes('{cluster}')) {
    throw new UsageError('--connections shares connections, but {cluster} gives each cluster a certificate');
  }
  return count;
}

function spell(flags: Flags, name: 'burst' | 'shrink'): Spell {
  return {
    share: share(name, flags[name]),
    everyMs: positiveMs(`${name}-every`, flags[`${name}-every`]),
    lengthMs: durationMs(`${name}-length`, flags[`${name}-length`]),
  };
}

function delay(flag: string, text: string): DelayMs {
  const [low, high] = text.split('-');
  const min = durationMs(flag, low!);
  const max = high === undefined ? min : durationMs(flag, high);
  if (max < min) throw new UsageError(`--${flag} goes from the shorter to the longer time, not "${text}"`);
  return { min, max };
}

function positiveMs(flag: string, text: string): number {
  const ms = durationMs(flag, text);
  if (ms < 1) throw new UsageError(`--${flag} is at least 1ms, not "${text}"`);
  return ms;
}

function tlsOf(certificatePath = '', privateKeyPath = '', caPath = ''): TlsFiles | undefined {
  if (certificatePath === '' && privateKeyPath === '' && caPath === '') return undefined;
  if (certificatePath === '' || privateKeyPath === '' || caPath === '') {
    throw new UsageError('--tls-cert, --tls-key and --tls-ca belong together: give all three or none');
  }
  return { certificatePath, privateKeyPath, caPath };
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/;

function checkShard(address: string, mayBeRemote: boolean): void {
  if (!/^[^\s/]+:\d{1,5}$/.test(address)) throw new UsageError(`--shard is HOST:PORT, not "${address}"`);
  if (LOOPBACK.test(address) || mayBeRemote) return;
  throw new UsageError(`--shard ${address} is beyond loopback: give TLS files, or --insecure for plaintext`);
}
