/** Parses the flags of `flotilla operators`. Each mistake gives a one-line error. */
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
  /** The command ends with an error if no session is open after this long. */
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

Runs simulated clusters that ask a shard for machines. Each cluster has its own session.

  --shard HOST:PORT            address on which the shard accepts sessions (127.0.0.1:7780); of several replicas
                               ipv4:IP:PORT,IP:PORT
  --connections N              connections that the clusters share; 0 gives each cluster its own (0). Flotilla
                               accepts 64 clusters on one connection
  --insecure                   allow an address beyond loopback without TLS
  --tls-cert, --tls-key, --tls-ca FILE   mutual TLS: all three or none; {cluster} in a path is the cluster's id

The clusters
  --clusters N                 number of clusters: cluster-0000, cluster-0001, … (10)
  --machines N                 machines of the whole fleet (${MACHINES_PER_CLUSTER} per cluster); the clusters ask for 97 % of them
  --machines-per-cluster N     machines per cluster, instead of --machines
  --catalogue NAME             ${Object.keys(CATALOGUES).join(' or ')} (realistic)
  --seed N                     the same seed gives the same demand (1). A provider with the same --machines,
                               --clusters, --catalogue and --seed has exactly the machines that the clusters ask for
  --ramp DURATION              time over which the clusters connect (5s)

Demand
  --rollup-interval DURATION   time between two roll-ups of a cluster, plus or minus a tenth (10s)
  --churn SHARE                share of the rows that each roll-up replaces, adds or removes, such as 1% (0)
  --burst SHARE                share of the machines of one type that a burst asks for at the highest priority (0);
                               above 3% the shard must preempt
  --burst-every, --burst-length DURATION     time between two bursts, and length of one (3m, 1m)
  --shrink SHARE               share of the clusters that withdraw every second need for a while (0)
  --shrink-every, --shrink-length DURATION   time between two such periods, and length of one (5m, 2m)

Bootstrap blobs
  --bootstrap-delay TIME       time until an operator answers a request: 200ms, or 100ms-2s for a random time (0ms)
  --bootstrap-errors SHARE     share of the requests that operators answer with an error (0)
  --bootstrap-silence SHARE    share of the requests that operators never answer (0)
  --bootstrap-bytes N          size of a blob (4096)

Output
  --duration DURATION          end after this long (never); a signal ends the command at any time
  --report-every DURATION      time between two lines of progress (10s)
  --give-up DURATION           end with an error if no session is open after this long (1m)
  --json                       print one JSON object per line: connected, progress …, summary
  --help                       print this help and exit

The first line is "connected N clusters to HOST:PORT", printed when all sessions are open.

Examples:
  flotilla operators --clusters 40 --churn 1%
  flotilla operators --clusters 2000 --machines 500000 --churn 1% --burst 5% --bootstrap-delay 50ms-500ms
  flotilla operators --shard shard.example:7780 --clusters 1 --tls-cert {cluster}.pem --tls-key {cluster}.key --tls-ca ca.pem

Exit code: 0 after a signal or --duration, 1 if no session could be opened, 2 for wrong usage.
`;

/** The shard's own limit. */
const CLUSTERS_MAX = 65_534;

export function parseOperatorsFlags(argv: readonly string[]): OperatorsFlags {
  const flags = read(argv);
  const catalogue = CATALOGUES[flags.catalogue];
  if (catalogue === undefined) {
    throw new UsageError(
      `--catalogue must be ${Object.keys(CATALOGUES).join(' or ')}, not "${flags.catalogue}"`,
    );
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
    // Node names the unknown option first and then explains quoting; the first sentence is enough.
    throw new UsageError((error as Error).message.split('. ')[0]!);
  }
}

type Flags = ReturnType<typeof read>;

function sizeOf(flags: Flags): Pick<FleetSettings, 'clusterCount' | 'machineCount'> {
  const clusterCount = wholeNumber('clusters', flags.clusters, 1, CLUSTERS_MAX);
  const perCluster = flags['machines-per-cluster'];
  if (perCluster !== undefined && flags.machines !== undefined) {
    throw new UsageError('--machines and --machines-per-cluster exclude each other: give one of them');
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
    throw new UsageError('--tls-cert, --tls-key and --tls-ca are needed together: give all three or none');
  }
  return { certificatePath, privateKeyPath, caPath };
}

/** How gRPC writes several addresses: the first that answers is used. */
const SEVERAL = 'ipv4:';
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/;

function checkShard(address: string, mayBeRemote: boolean): void {
  const members = address.startsWith(SEVERAL) ? address.slice(SEVERAL.length).split(',') : [address];
  if (!members.every((member) => /^[^\s/,]+:\d{1,5}$/.test(member)))
    throw new UsageError(
      `--shard is HOST:PORT, or ipv4:IP:PORT,IP:PORT for several replicas, not "${address}"`,
    );
  if (members.every((member) => LOOPBACK.test(member)) || mayBeRemote) return;
  throw new UsageError(
    `--shard ${address} is beyond loopback: give the three TLS files, or --insecure for plaintext`,
  );
}
