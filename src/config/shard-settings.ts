/**
 * Every setting of `flotilla shard`, declared once. The field's name gives the flag (`cycleIntervalMs` →
 * `--cycle-interval`), the environment variable (`FLOTILLA_CYCLE_INTERVAL`) and the key in a config file
 * (`cycle-interval`). Settings are grouped by subject, in the order in which help and documentation show them.
 */
import {
  readDialAddress,
  readDirectory,
  readFleetName,
  readHostName,
  readListenAddress,
  readNonEmptyPath,
  readOptionalListenAddress,
  readPath,
  readProviderAddress,
  readProviderIdPrefix,
  readProviderName,
  readReplicaName,
  readShardId,
  readTeam,
  readUnsetListenAddress,
  writeDirectory,
  writeProviderAddress,
  writeProviderIdPrefix,
  writeTeam,
} from './addresses.ts';
import { BUDGET_KEY, readBudget, writeBudget } from './budgets.ts';
import { readCapFraction } from './cap-fraction.ts';
import { readCeilings, writeCeilings } from './ceilings.ts';
import { CONTROL_KEY, readControlEntry, writeControlEntry } from './controls.ts';
import { bytes, choice, count, decimal, duration, fraction, list, onOff, text } from './kinds.ts';
import type { Settings } from './setting.ts';
import { readTenant, TENANT_KEY, writeTenant } from './tenants.ts';

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
    help: 'Address on which operators connect (gRPC). Port 0 picks an unused port.',
  }),
  metricsAddr: text({
    type: 'address or 0',
    placeholder: 'HOST:PORT',
    default: '127.0.0.1:8780',
    read: readOptionalListenAddress,
    write: (address) => address?.text ?? '0',
    help: 'Address of metrics, health checks, API and dashboard (HTTP). 0 turns them off.',
  }),
  healthAddr: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '',
    read: readUnsetListenAddress,
    write: (address) => address?.text ?? '',
    help: 'Second address for /healthz and /readyz and nothing else (HTTP). Empty: only --metrics-addr answers them.',
  }),
  metricsHost: list({
    type: 'list of host names',
    placeholder: 'HOST',
    read: readHostName,
    write: asWritten,
    help: 'Additional Host header that HTTP requests may carry. IP addresses, localhost and the name in --metrics-addr are always accepted.',
  }),
  insecure: onOff({
    default: false,
    help: 'Allow plaintext on addresses other than loopback: gRPC without TLS files, and HTTP, which never has TLS.',
  }),
  tlsCert: filePath({
    help: "This shard's certificate for mutual TLS, PEM. Set all three TLS files or none.",
  }),
  tlsKey: filePath({ help: 'Private key of the certificate, PEM.' }),
  tlsCa: filePath({ help: 'CA certificate that signs operators, providers and the coordinator, PEM.' }),
  adminOverTls: onOff({
    default: false,
    help: 'Serve admins (flotilla pause and others) on --listen, for client certificates with the identity bigfleet://admin. Needs the TLS files. The socket in --data-dir serves them in any case.',
  }),
  tlsDenied: filePath({
    help: 'File of identities (bigfleet://cluster/<id>) and certificates (sha256:<hex>) that must not connect, one on a line. Needs the TLS files.',
  }),
  maxConnectionAgeMs: duration({
    default: '1h',
    min: '10s',
    max: '24d',
    help: 'The shard ends a connection of an operator after this time, 20 % more or less, so that it reconnects; it first waits for bootstrap blobs. With TLS it dials providers and the coordinator again as often.',
  }),
  keepaliveTimeoutMs: duration({
    default: '30s',
    min: '1s',
    max: '1h',
    help: "The shard closes an operator's session after this long without a message or a ping.",
  }),
} as const satisfies Settings;

const IDENTITY = {
  id: text({
    type: 'shard id',
    placeholder: 'ID',
    default: 'shard-0',
    read: readShardId,
    write: asWritten,
    help: 'Name of this shard. Providers refuse calls from an older process with the same name.',
  }),
  dataDir: text({
    type: 'path',
    placeholder: 'DIR',
    default: './data',
    read: readNonEmptyPath,
    write: asWritten,
    help: 'Directory for the epoch, the lock file and the histories of events and spending. Only one process at a time can use it, so each replica has its own.',
  }),
  minEpoch: count({
    default: 0,
    max: 999_999_999_999_999,
    help: 'Lower bound of the epoch that the shard starts with. Use it after an epoch file was lost or damaged.',
  }),
} as const satisfies Settings;

const PROVIDERS = {
  providers: list({
    flag: 'provider-addr',
    type: 'list of [NAME=]HOST:PORT',
    placeholder: '[NAME=]HOST:PORT',
    read: readProviderAddress,
    write: writeProviderAddress,
    help: 'A capacity provider; at least one is required. Without NAME it is called HOST-PORT.',
  }),
  optionalProviders: list({
    flag: 'provider-optional',
    type: 'list of names',
    read: readProviderName,
    write: asWritten,
    help: 'Name of a provider whose first listing the shard does not wait for before it acts.',
  }),
  providerIdPrefixes: list({
    flag: 'provider-id-prefix',
    type: 'list of NAME=PREFIX',
    placeholder: 'NAME=PREFIX',
    read: readProviderIdPrefix,
    write: writeProviderIdPrefix,
    help: 'Machine ids that begin with PREFIX belong to provider NAME: the shard accepts them from no other provider, and no other ids from this one.',
  }),
  unassignedBindings: choice(['keep', 'ignore'], {
    default: 'keep',
    help: 'Bindings that no shard assigned (without shard_metadata): keep counts them for needs; ignore counts none and never reclaims or preempts them.',
  }),
  incrementalReconcile: onOff({
    default: false,
    help: 'Ask providers only for machines that changed since the last listing.',
  }),
  fullListEvery: count({
    reload: true,
    default: 360,
    max: 1_000_000,
    placeholder: 'CYCLES',
    help: 'With --incremental-reconcile: number of cycles between two full listings. 0: no further full listings.',
  }),
  relistAfterLossMs: duration({
    reload: true,
    flag: 'relist-after-loss',
    default: '1m',
    max: '24h',
    help: 'With --incremental-reconcile: after a lost connection the next listing of the provider is full, at most once in this time. 0: never because of a lost connection.',
  }),
  removalHoldMs: duration({
    reload: true,
    default: '1m',
    max: '24h',
    help: 'A full listing that lacks at least 10 machines and more than 10 % of those known removes none until listings have agreed for this long (at least three).',
  }),
  vanishingHoldMs: duration({
    reload: true,
    default: '10m',
    max: '24h',
    help: 'A full listing that is empty or lacks more than half of the known machines removes none until listings have agreed for this long (at least three), or flotilla confirm-removal confirms it.',
  }),
  foreignDrainHoldMs: duration({
    flag: 'foreign-drain-hold',
    default: '10m',
    max: '24h',
    help: 'After a machine was seen Draining without a call of the shard, the shard neither binds nor releases it for this long once it is Idle. 0: it may at once.',
  }),
  maxListBytes: bytes({
    default: '1GiB',
    min: '1MiB',
    max: '2GiB',
    help: 'Maximum size of one listing; the shard refuses a larger one. 500,000 bound machines take about 400 MB.',
  }),
  maxMachines: count({
    default: 1_048_576,
    min: 8,
    max: 4_194_304,
    help: 'Maximum number of machines, reserved at start. Unused rows take no memory.',
  }),
  tenantTableShare: fraction({
    default: 0.25,
    help: 'Maximum share of each shared table (fingerprints, groups, vectors, needs) for one cluster; the shard refuses a larger roll-up. 1,024 rows always fit.',
  }),
  providerTableReserve: fraction({
    default: 0.5,
    help:
      'Part of each table of machines (slots, ids, hosts, shapes, texts) that is reserved for providers, in equal parts. ' +
      'With four providers and 0.5, each always finds an eighth, and one alone may use five eighths.',
  }),
} as const satisfies Settings;

const COORDINATOR = {
  coordinatorAddr: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '',
    read: readDialAddress,
    write: asWritten,
    help: 'Coordinator that the shard reports to. Empty: no coordinator; decisions are the same without one.',
  }),
  advertiseAddr: text({
    type: 'address',
    placeholder: 'HOST:PORT',
    default: '',
    read: readDialAddress,
    write: asWritten,
    help: 'Address of this process that the coordinator hands out and that other replicas dial. Empty: the address of --listen.',
  }),
  coordinatorHeartbeatIntervalMs: duration({
    default: '10s',
    min: '100ms',
    max: '1h',
    help: 'Time between two reports to the coordinator.',
  }),
} as const satisfies Settings;

const REPLICAS = {
  directory: text({
    type: 'directory',
    placeholder: 'etcd://HOST:PORT,…',
    default: '',
    read: readDirectory,
    write: writeDirectory,
    help: 'The etcd through which the replicas of this shard agree on which of them is active. Empty: the shard has no other replicas.',
  }),
  directoryTlsCert: filePath({
    help: "This process's certificate for the directory, PEM. Set all three files of the directory or none.",
  }),
  directoryTlsKey: filePath({ help: 'Private key of that certificate, PEM.' }),
  directoryTlsCa: filePath({ help: 'CA certificate that signs the members of the directory, PEM.' }),
  fleet: text({
    type: 'name',
    placeholder: 'NAME',
    default: 'default',
    read: readFleetName,
    write: asWritten,
    help: 'Name of the fleet in the directory. Fleets with different names can share an etcd.',
  }),
  replica: text({
    type: 'name',
    placeholder: 'NAME',
    default: '',
    read: readReplicaName,
    write: asWritten,
    help: 'Name of this replica, for people; each needs its own. Empty: host name and port of --listen, such as host-7780.',
  }),
  leaseMs: duration({
    default: '6s',
    min: '2s',
    max: '1m',
    help: 'A replica that does not renew its lease for this long is replaced. Removals stop one second earlier.',
  }),
  standby: choice(['warm', 'cold'], {
    default: 'warm',
    help: 'What a replica does while another one is active. warm: it lists the providers, so that it can take over within seconds; cold: it does not.',
  }),
} as const satisfies Settings;

const DECIDING = {
  cycleIntervalMs: duration({
    default: '10s',
    min: '50ms',
    max: '1h',
    help: 'Time between two ordinary cycles. A change, such as a new roll-up, starts a cycle earlier.',
  }),
  idleHoldOnDemandMs: duration({
    reload: true,
    default: '10m',
    help: 'After this long in Idle the shard releases an on-demand machine.',
  }),
  idleHoldSpotMs: duration({
    reload: true,
    default: '1m',
    help: 'After this long in Idle the shard releases a spot machine.',
  }),
  availableCapacityIntervalMs: duration({
    default: '5s',
    min: '100ms',
    max: '1h',
    help: 'Minimum time between two available-capacity hints for the same cluster and profile.',
  }),
  placement: choice(['cheapest', 'value'], {
    default: 'cheapest',
    help: 'How needs acquire machines: cheapest machine first, Idle before offers; or by what they get for their money (rules E1 to E4).',
  }),
  placementOfferMargin: fraction({
    default: 0.2,
    help: 'With --placement value: share that an offer must save, before it is taken instead of an Idle machine.',
  }),
  preemptionWeightGap: decimal({
    default: 1,
    max: 1e9,
    help: 'Choice of victims: weight of the priority gap between the need and the victim.',
  }),
  preemptionWeightDrain: decimal({
    default: 0.1,
    max: 1e9,
    help: 'Choice of victims: weight of 1 / expected drain time in seconds.',
  }),
  preemptionWeightInterruption: decimal({
    default: 0.1,
    max: 1e9,
    help: 'Choice of victims: weight of 1 / interruption penalty in USD.',
  }),
  preemptionWeightReclamation: decimal({
    default: 0.1,
    max: 1e9,
    help: 'Choice of victims: weight of 1 / reclamation penalty in USD.',
  }),
  teams: list({
    flag: 'team',
    type: 'list of NAME=PATTERN',
    placeholder: 'NAME=PATTERN',
    read: readTeam,
    write: writeTeam,
    help: 'Clusters whose id matches PATTERN (* stands for any characters) belong to team NAME in the history of spending. The first that matches counts.',
  }),
  spendingHistory: onOff({
    default: true,
    help: 'Keep what machines cost in the data directory: minutes for a day, hours for 90 days, at most 256 MiB.',
  }),
  fromScratchCheckEvery: count({
    reload: true,
    default: 360,
    max: 1_000_000,
    placeholder: 'CYCLES',
    help: 'Number of cycles between two self-checks, in which a thread repeats the decision from scratch and compares. 0: no self-checks.',
  }),
} as const satisfies Settings;

const RAILS = {
  actuationPaused: onOff({
    default: false,
    reload: true,
    help: 'Kill switch: the shard decides, counts and audits, but executes no action.',
  }),
  dryRun: onOff({
    default: false,
    reload: true,
    help: 'The shard decides, counts and audits, but executes no action. With --actuation-paused too, actions count as paused.',
  }),
  maxActionsPerCycle: count({
    default: 0,
    max: 10_000_000,
    reload: true,
    help: 'Maximum number of actions per cycle; the next cycle decides the rest again. 0: no limit.',
  }),
  reclaimCapFraction: text({
    type: 'fraction, unlimited or none',
    placeholder: 'FRACTION',
    default: '0.05',
    reload: true,
    read: readCapFraction,
    write: String,
    help: 'Maximum fraction of a cluster reclaimed per cycle (at least one machine). unlimited: no limit. none: the shard reclaims nothing. 0 also means no limit, with a warning.',
  }),
  preemptionCapFraction: fraction({
    default: 0.2,
    reload: true,
    help: "Maximum fraction of a cluster's machines that needs of higher priority take per cycle interval (at least one machine; a gang takes its machines at once). 0: no limit.",
  }),
  burnFraction: fraction({
    default: 0.1,
    reload: true,
    help: 'Maximum fraction of the matching free machines that failed bootstraps of one cluster break per hour, and of its own machines that failed drains break (at least three machines). Then its failed needs get no more. 0: no limit.',
  }),
  emptyRollupGuard: onOff({
    default: true,
    reload: true,
    help: 'Quarantine a roll-up that drops more than 90% of its rows until three roll-ups in a row agree.',
  }),
  tenants: list({
    reload: true,
    type: 'list of limits per cluster',
    placeholder: 'LIMITS',
    mappingKey: TENANT_KEY,
    read: readTenant,
    write: writeTenant,
    help: 'Limits on the clusters that an id or pattern names (team-a-*; max-machines=100): max-priority, max-machines, max-resources.NAME, max-dollars-per-hour, max-offering-share, min-non-spot-share. The first entry that matches a cluster counts. Clusters keep what they have.',
  }),
  ceilings: text({
    reload: true,
    type: 'dollars per hour by name',
    placeholder: 'CEILINGS',
    default: '',
    isMapping: true,
    read: readCeilings,
    write: writeCeilings,
    help: 'The most that the fleet may cost per hour (usd-per-hour=5000; spot-usd-per-hour=800): usd-per-hour, and bare-metal-, reserved-, on-demand- or spot-usd-per-hour. The shard creates no machine beyond a ceiling, and takes none away because of one.',
  }),
  disruptionBudgets: list({
    reload: true,
    flag: 'disruption-budgets',
    type: 'list of budgets',
    placeholder: 'BUDGET',
    mappingKey: BUDGET_KEY,
    read: readBudget,
    write: writeBudget,
    help: 'How many machines of a place the shard reclaims, and when (nights; cluster=prod-eu-1; max=5%; window=1h; at-a-time=3; open=0 22 * * 1-5; for=6h; time-zone=Europe/Berlin): at most max (machines, or a share) in any window, at-a-time at the same time, and only for this long after open, a cron pattern. The place: cluster, provider, zone, instance-type, capacity-type. flotilla budgets shows what is used.',
  }),
  controls: list({
    reload: true,
    type: 'list of pauses',
    placeholder: 'PAUSE',
    mappingKey: CONTROL_KEY,
    read: readControlEntry,
    write: writeControlEntry,
    help: 'What the shard must not do, and where (reclaim preempt; cluster=prod-eu-1; why=migration): create, bind, reclaim, preempt, release or all; cluster, provider, zone, instance-type, capacity-type; why; who and until if you like. For a few hours use flotilla pause.',
  }),
} as const satisfies Settings;

const EXECUTING = {
  executeConcurrency: count({
    default: 256,
    min: 1,
    max: 16_384,
    help: 'Maximum number of actions in flight. The queue behind them holds twice as many; further bindings wait.',
  }),
  executeTimeoutMs: duration({
    reload: true,
    default: '30s',
    min: '100ms',
    max: '1h',
    help: 'Deadline of one call to a provider.',
  }),
  bootstrapTimeoutMs: duration({
    reload: true,
    default: '30s',
    min: '100ms',
    max: '1h',
    help: 'Maximum time to wait for a bootstrap blob from an operator.',
  }),
  stallAfterMs: duration({
    default: '2s',
    min: '500ms',
    max: '1h',
    help: 'After the main loop stood still for longer, the shard drops what it decided before, pings its sessions, and sends one call alone to learn whether another process took over.',
  }),
  stuckAfterMs: duration({
    reload: true,
    default: '15m',
    min: '1s',
    help: 'After this long in a transitional state a machine is reported as stuck and no longer satisfies any need.',
  }),
  localBootstrap: onOff({
    default: false,
    help: 'Use a fixed bootstrap blob instead of asking operators. For tests without operators.',
  }),
  workers: count({
    default: {
      text: 'available cores − 1, at least 1',
      of: ({ coreCount }) => Math.min(Math.max(coreCount - 1, 1), 256),
    },
    min: 1,
    max: 256,
    placeholder: 'THREADS',
    help: 'Number of threads that call providers.',
  }),
  shutdownGraceMs: duration({
    reload: true,
    default: '10s',
    max: '1h',
    help: 'Maximum time that a shutdown waits for actions in flight.',
  }),
} as const satisfies Settings;

const REPORTING = {
  auditLog: filePath({
    help: 'File that receives one JSON line per action. SIGHUP reopens it, for log rotation.',
  }),
  maxHistoryBytes: bytes({
    default: '1GiB',
    min: '0B',
    max: '1TiB',
    help: 'Maximum size of the history of events in the data directory; the oldest events go first. 1GiB holds half a day of a very busy shard, or weeks of a usual one. 0 turns the history off.',
  }),
  logLevel: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    reload: true,
    help: 'Lowest level that is logged.',
  }),
  logFormat: choice(['json', 'pretty'], {
    default: 'json',
    reload: true,
    help: 'Format of the log: one JSON object per line, or readable text.',
  }),
} as const satisfies Settings;

export const SHARD_SETTING_GROUPS = [
  { title: 'Listening', settings: LISTENING },
  { title: 'Identity', settings: IDENTITY },
  { title: 'Replicas', settings: REPLICAS },
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
  ...REPLICAS,
  ...PROVIDERS,
  ...DECIDING,
  ...RAILS,
  ...EXECUTING,
  ...COORDINATOR,
  ...REPORTING,
} as const satisfies Settings;
