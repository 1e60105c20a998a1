/**
 * Every setting of `flotilla shard`, declared once. The field's name gives the flag (`cycleIntervalMs` →
 * `--cycle-interval`), the environment variable (`FLOTILLA_CYCLE_INTERVAL`) and the key in a config file
 * (`cycle-interval`). What belongs together is one group, in the order in which help and documentation show it.
 */
import {
  readDialAddress,
  readHostName,
  readListenAddress,
  readNonEmptyPath,
  readOptionalListenAddress,
  readPath,
  readProviderAddress,
  readProviderName,
  readShardId,
  writeProviderAddress,
} from './addresses.ts';
import { bytes, choice, count, decimal, duration, fraction, list, onOff, text } from './kinds.ts';
import type { Settings } from './setting.ts';

const asWritten = (value: string) => value;

const filePath = (options: { help: string }) =>
  text({
    ...options,
    type: 'path',
    placeholder: 'FILE',
    default: '',
    read: readPath,
    write: asWritten,
  });

const LISTENING = {
  listen: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '127.0.0.1:7780',
    read: readListenAddress,
    write: (address) => address.text,
    help: 'Where operators connect (gRPC). Port 0 takes a free one.',
  }),
  metricsAddr: text({
    type: 'address or 0',
    placeholder: 'HOST:PORT',
    default: '127.0.0.1:8780',
    read: readOptionalListenAddress,
    write: (address) => address?.text ?? '0',
    help: 'Where metrics, health and the dashboard are served (HTTP). 0 turns it off.',
  }),
  metricsHost: list({
    type: 'list of host names',
    placeholder: 'HOST',
    read: readHostName,
    write: asWritten,
    help: 'Another host name by which the HTTP server may be called. Addresses, localhost and the name that it listens on always may.',
  }),
  insecure: onOff({
    default: false,
    help: 'Allow plaintext beyond loopback: gRPC when no TLS files are given, and HTTP, which has no TLS.',
  }),
  tlsCert: filePath({ help: 'Certificate for mutual TLS, PEM. All three TLS files or none.' }),
  tlsKey: filePath({ help: 'Private key for mutual TLS, PEM.' }),
  tlsCa: filePath({ help: 'CA that all parties trust, PEM.' }),
  keepaliveTimeoutMs: duration({
    default: '30s',
    min: '1s',
    max: '1h',
    help: 'An operator that is silent for this long, pings included, is gone.',
  }),
} as const satisfies Settings;

const IDENTITY = {
  id: text({
    type: 'shard id',
    placeholder: 'ID',
    default: 'shard-0',
    read: readShardId,
    write: asWritten,
    help: 'Name of this shard. With its epoch it fences off an older process of the same name.',
  }),
  dataDir: text({
    type: 'path',
    placeholder: 'DIR',
    default: './data',
    read: readNonEmptyPath,
    write: asWritten,
    help: 'Holds the epoch and the lock. One process at a time.',
  }),
  minEpoch: count({
    default: 0,
    max: 999_999_999_999_999,
    help: 'The epoch is at least this: the remedy for a damaged epoch file.',
  }),
} as const satisfies Settings;

const PROVIDERS = {
  providers: list({
    flag: 'provider-addr',
    type: 'list of [NAME=]HOST:PORT',
    placeholder: '[NAME=]HOST:PORT',
    read: readProviderAddress,
    write: writeProviderAddress,
    help: 'A capacity provider. At least one; without a name it is called host-port.',
  }),
  optionalProviders: list({
    flag: 'provider-optional',
    type: 'list of names',
    read: readProviderName,
    write: asWritten,
    help: 'A provider whose first listing need not be waited for before actions begin.',
  }),
  incrementalReconcile: onOff({
    default: false,
    help: 'Ask providers for what changed since the last listing instead of for everything.',
  }),
  fullListEvery: count({
    default: 360,
    max: 1_000_000,
    placeholder: 'CYCLES',
    help: 'With --incremental-reconcile: a full listing every so many cycles. 0: never.',
  }),
  maxListBytes: bytes({
    default: '1GiB',
    min: '1MiB',
    max: '2GiB',
    help: 'A listing larger than this is refused. 500,000 bound machines are about 400 MB.',
  }),
  maxMachines: count({
    default: 1_048_576,
    min: 8,
    max: 4_194_304,
    help: 'Machines that fit; fixed at start. Rows that are not used cost no memory.',
  }),
} as const satisfies Settings;

const COORDINATOR = {
  coordinatorAddr: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '',
    read: readDialAddress,
    write: asWritten,
    help: 'Coordinator to report to. Empty: none, and nothing else changes.',
  }),
  advertiseAddr: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '',
    read: readDialAddress,
    write: asWritten,
    help: 'Address of this shard as others reach it, for the coordinator. Empty: the one it listens on.',
  }),
  coordinatorHeartbeatIntervalMs: duration({
    default: '10s',
    min: '100ms',
    max: '1h',
    help: 'Time between two reports.',
  }),
} as const satisfies Settings;

const DECIDING = {
  cycleIntervalMs: duration({
    default: '10s',
    min: '50ms',
    max: '1h',
    help: 'Longest wait between two cycles.',
  }),
  idleHoldOnDemandMs: duration({
    default: '10m',
    help: 'An on-demand machine that is idle for longer is released.',
  }),
  idleHoldSpotMs: duration({ default: '1m', help: 'A spot machine that is idle for longer is released.' }),
  availableCapacityIntervalMs: duration({
    default: '5s',
    min: '100ms',
    max: '1h',
    help: 'Least time between two hints of available capacity for one cluster and profile.',
  }),
  preemptionWeightGap: decimal({ default: 1, max: 1e9, help: 'Weight of the gap in priority to a victim.' }),
  preemptionWeightDrain: decimal({ default: 0.1, max: 1e9, help: 'Weight of a short drain.' }),
  preemptionWeightInterruption: decimal({
    default: 0.1,
    max: 1e9,
    help: 'Weight of a low interruption penalty.',
  }),
  preemptionWeightReclamation: decimal({
    default: 0.1,
    max: 1e9,
    help: 'Weight of a low reclamation penalty.',
  }),
  fromScratchCheckEvery: count({
    default: 360,
    max: 1_000_000,
    placeholder: 'CYCLES',
    help: 'Every so many cycles the decision is made again from nothing, on a copy, and compared. 0: never.',
  }),
} as const satisfies Settings;

const RAILS = {
  actuationPaused: onOff({
    default: false,
    reload: true,
    help: 'Kill switch: decide, count and audit, but execute nothing.',
  }),
  dryRun: onOff({
    default: false,
    reload: true,
    help: 'Decide, count and audit, but execute nothing; the kill switch wins if both are set.',
  }),
  maxActionsPerCycle: count({
    default: 0,
    max: 10_000_000,
    reload: true,
    help: 'Actions beyond this wait for the next cycle. 0: no limit.',
  }),
  reclaimCapFraction: fraction({
    default: 0.05,
    reload: true,
    help: 'Share of a cluster that is reclaimed in one cycle at the most, but at least one machine. 0: no cap.',
  }),
  emptyRollupGuard: onOff({
    default: true,
    reload: true,
    help: 'Hold a roll-up that drops nine tenths of its rows until three in a row agree.',
  }),
} as const satisfies Settings;

const EXECUTING = {
  executeConcurrency: count({
    default: 256,
    min: 1,
    max: 16_384,
    help: 'Actions under way at a time. The queue holds twice as many.',
  }),
  executeTimeoutMs: duration({
    default: '30s',
    min: '100ms',
    max: '1h',
    help: 'Deadline of one call to a provider.',
  }),
  bootstrapTimeoutMs: duration({
    default: '30s',
    min: '100ms',
    max: '1h',
    help: "Longest wait for an operator's bootstrap blob.",
  }),
  stuckAfterMs: duration({
    default: '15m',
    min: '1s',
    help: 'A machine that is on its way for longer is reported as stuck and counts for nobody.',
  }),
  localBootstrap: onOff({
    default: false,
    help: 'Use a fixed blob and ask no operator for one: for tests without operators.',
  }),
  workers: count({
    default: {
      text: 'available cores − 1, at least 1',
      of: ({ coreCount }) => Math.min(Math.max(coreCount - 1, 1), 256),
    },
    min: 1,
    max: 256,
    placeholder: 'THREADS',
    help: 'Threads that call providers.',
  }),
  shutdownGraceMs: duration({
    default: '10s',
    max: '1h',
    help: 'At the end: longest wait for actions that are under way.',
  }),
} as const satisfies Settings;

const REPORTING = {
  auditLog: filePath({ help: 'One JSON line per action is added to this file. Opened anew on SIGHUP.' }),
  logLevel: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    reload: true,
    help: 'Least level that is logged.',
  }),
  logFormat: choice(['json', 'pretty'], {
    default: 'json',
    help: 'One JSON object per line, or text for people.',
  }),
} as const satisfies Settings;

export const SHARD_SETTING_GROUPS = [
  { title: 'Listening', settings: LISTENING },
  { title: 'Identity', settings: IDENTITY },
  { title: 'Providers and the fleet', settings: PROVIDERS },
  { title: 'Deciding', settings: DECIDING },
  { title: 'Rails', settings: RAILS },
  { title: 'Executing', settings: EXECUTING },
  { title: 'Coordinator', settings: COORDINATOR },
  { title: 'Reporting', settings: REPORTING },
] as const satisfies readonly { readonly title: string; readonly settings: Settings }[];

export const SHARD_SETTINGS = {
  ...LISTENING,
  ...IDENTITY,
  ...PROVIDERS,
  ...DECIDING,
  ...RAILS,
  ...EXECUTING,
  ...COORDINATOR,
  ...REPORTING,
} as const satisfies Settings;
