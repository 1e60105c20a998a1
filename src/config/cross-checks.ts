/** Checks of settings against each other. Each problem names the setting to change and what to change it to. */
import { isLoopback, isUnspecified, type ListenAddress } from './addresses.ts';
import type { Problem } from './problems.ts';
import type { ValuesOf } from './setting.ts';
import { SHARD_SETTINGS } from './shard-settings.ts';

type Values = ValuesOf<typeof SHARD_SETTINGS>;
type Origins = Readonly<Record<keyof Values, string>>;

export interface TlsPaths {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
  readonly caPath: string;
}

/** Null unless all three are given; the check below refuses one or two. */
export function tlsOf({
  tlsCert,
  tlsKey,
  tlsCa,
}: Pick<Values, 'tlsCert' | 'tlsKey' | 'tlsCa'>): TlsPaths | null {
  if (!tlsCert || !tlsKey || !tlsCa) return null;
  return Object.freeze({ certificatePath: tlsCert, privateKeyPath: tlsKey, caPath: tlsCa });
}

/** The files for the directory. Null unless all three are given. */
export function directoryTlsOf({
  directoryTlsCert,
  directoryTlsKey,
  directoryTlsCa,
}: Values): TlsPaths | null {
  return tlsOf({ tlsCert: directoryTlsCert, tlsKey: directoryTlsKey, tlsCa: directoryTlsCa });
}

export function crossCheck(values: Values, origins: Origins): Problem[] {
  return [
    ...checkTls(values, origins),
    ...checkReplicas(values, origins),
    ...checkExposure(values, origins),
    ...checkPorts(values, origins),
    ...checkProviders(values, origins),
    ...checkIdPrefixes(values, origins),
    ...checkHistory(values, origins),
    ...checkBudgets(values, origins),
  ];
}

/** The history is kept by whole files of 1/64 of its size, and a block of events may have 64 KiB. */
const HISTORY_BYTES_MIN = 1_048_576;

function checkHistory({ maxHistoryBytes }: Values, { maxHistoryBytes: origin }: Origins): Problem[] {
  if (maxHistoryBytes === 0 || maxHistoryBytes >= HISTORY_BYTES_MIN) return [];
  const what = `${maxHistoryBytes} bytes hold less than a minute of events`;
  return [{ key: '--max-history-bytes', origin, what, remedy: 'Set 1MiB or more, or 0 for no history' }];
}

/** H9: what a budget has used is stored by its name. */
function checkBudgets({ disruptionBudgets }: Values, { disruptionBudgets: origin }: Origins): Problem[] {
  const names = disruptionBudgets.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return [];
  const remedy = 'Give each budget its own name';
  return [{ key: '--disruption-budgets', origin, what: `two budgets are named ${twice}`, remedy }];
}

function checkTls(values: Values, origins: Origins): Problem[] {
  const files = [
    ['--tls-cert', values.tlsCert, origins.tlsCert],
    ['--tls-key', values.tlsKey, origins.tlsKey],
    ['--tls-ca', values.tlsCa, origins.tlsCa],
  ] as const;
  const given = files.filter(([, path]) => path !== '');
  if (given.length === 0 && values.tlsDenied !== '') {
    const what = 'without TLS, connections have no identity that could be denied';
    const remedy = 'Set --tls-cert, --tls-key and --tls-ca, or remove it';
    return [{ key: '--tls-denied', origin: origins.tlsDenied, what, remedy }];
  }
  if (given.length === 0 && values.adminOverTls) {
    const what = 'without TLS, an admin has no identity';
    const remedy = 'Set --tls-cert, --tls-key and --tls-ca, or remove it';
    return [{ key: '--admin-over-tls', origin: origins.adminOverTls, what, remedy }];
  }
  return checkAllOrNone(files);
}

function checkAllOrNone(
  files: readonly (readonly [flag: string, path: string, origin: string])[],
): Problem[] {
  const given = files.filter(([, path]) => path !== '');
  if (given.length === 0 || given.length === files.length) return [];
  const missing = files.filter(([, path]) => path === '').map(([flag]) => flag);
  const what = `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`;
  return [{ key: given[0]![0], origin: given[0]![2], what, remedy: 'Set all three TLS files, or none' }];
}

/** Settings that mean something only for a shard with other replicas. */
const OF_REPLICAS = [
  ['--directory-tls-cert', 'directoryTlsCert'],
  ['--directory-tls-key', 'directoryTlsKey'],
  ['--directory-tls-ca', 'directoryTlsCa'],
  ['--fleet', 'fleet'],
  ['--replica', 'replica'],
  ['--lease', 'leaseMs'],
  ['--standby', 'standby'],
] as const;

function isDefault(values: Values, field: (typeof OF_REPLICAS)[number][1]): boolean {
  return values[field] === SHARD_SETTINGS[field].defaultValue({ coreCount: 1 });
}

function checkReplicas(values: Values, origins: Origins): Problem[] {
  if (values.directory === null) {
    // Values and not origins: a printed config has all settings.
    return OF_REPLICAS.filter(([, field]) => !isDefault(values, field)).map(([key, field]) => ({
      key,
      origin: origins[field],
      what: 'it has no effect without a directory',
      remedy: 'Set --directory etcd://HOST:PORT, or remove it',
    }));
  }
  const problems = checkAllOrNone([
    ['--directory-tls-cert', values.directoryTlsCert, origins.directoryTlsCert],
    ['--directory-tls-key', values.directoryTlsKey, origins.directoryTlsKey],
    ['--directory-tls-ca', values.directoryTlsCa, origins.directoryTlsCa],
  ]);
  if (isUnspecified(values.listen) && values.advertiseAddr === '') {
    problems.push({
      key: '--directory',
      origin: origins.directory,
      what: `other replicas cannot dial ${values.listen.text}, the address of --listen`,
      remedy: 'Set --advertise-addr HOST:PORT to the address at which they reach this process',
    });
  }
  return problems;
}

/**
 * I4: without TLS the shard listens on loopback only, unless --insecure allows more. --health-addr is exempt: it tells
 * nothing but health, and a probe that needed --insecure would allow plaintext sessions too.
 */
function checkExposure(values: Values, origins: Origins): Problem[] {
  if (values.insecure) return [];
  const problems: Problem[] = [];
  if (!isLoopback(values.listen) && tlsOf(values) === null) {
    problems.push({
      key: '--listen',
      origin: origins.listen,
      what: `${values.listen.text} is not a loopback address, and TLS is not configured`,
      remedy:
        'Set --tls-cert, --tls-key and --tls-ca, listen on 127.0.0.1, or allow plaintext with --insecure',
    });
  }
  if (values.metricsAddr !== null && !isLoopback(values.metricsAddr)) {
    problems.push({
      key: '--metrics-addr',
      origin: origins.metricsAddr,
      what: `${values.metricsAddr.text} is not a loopback address, and HTTP has no TLS`,
      remedy: 'Listen on 127.0.0.1, or allow plaintext with --insecure (gRPC keeps its TLS)',
    });
  }
  return problems;
}

function checkPorts({ listen, metricsAddr, healthAddr }: Values, origins: Origins): Problem[] {
  const problems: Problem[] = [];
  if (isSame(listen, metricsAddr)) {
    problems.push({
      key: '--metrics-addr',
      origin: origins.metricsAddr,
      what: `${metricsAddr!.text} is already used by --listen`,
      remedy: 'Choose another port, or 0 to turn HTTP off',
    });
  }
  const other = isSame(listen, healthAddr)
    ? '--listen'
    : isSame(metricsAddr, healthAddr)
      ? '--metrics-addr'
      : '';
  if (other !== '') {
    problems.push({
      key: '--health-addr',
      origin: origins.healthAddr,
      what: `${healthAddr!.text} is already used by ${other}`,
      remedy: 'Choose another port, or leave --health-addr empty: --metrics-addr answers health checks too',
    });
  }
  return problems;
}

function isSame(one: ListenAddress | null, other: ListenAddress | null): boolean {
  return (
    one !== null && other !== null && one.host === other.host && one.port === other.port && one.port !== 0
  );
}

/** Apart from the other checks because --print-config works without a provider. */
export function checkThereIsAProvider({ providers }: Values, origins: Origins): Problem[] {
  if (providers.length > 0) return [];
  const what = 'no provider is configured, so the shard would have no machines';
  const remedy = 'Set --provider-addr HOST:PORT, or run flotilla up, which starts a simulated provider';
  return [{ key: '--provider-addr', origin: origins.providers, what, remedy }];
}

function checkProviders({ providers, optionalProviders }: Values, origins: Origins): Problem[] {
  const problems: Problem[] = [];
  providers.forEach(({ name, address }, index) => {
    const key = '--provider-addr';
    const origin = origins.providers;
    const earlier = providers.slice(0, index);
    if (earlier.some((other) => other.name === name)) {
      problems.push({
        key,
        origin,
        what: `two providers are named ${name}`,
        remedy: 'Give each provider its own name',
      });
    } else if (earlier.some((other) => other.address === address)) {
      const what = `two providers have the address ${address}, so each of its machines would appear twice`;
      problems.push({ key, origin, what, remedy: 'Set each address once' });
    }
  });
  for (const name of optionalProviders) {
    if (providers.some((provider) => provider.name === name)) continue;
    const names = providers.map((provider) => provider.name).join(', ');
    problems.push({
      key: '--provider-optional',
      origin: origins.optionalProviders,
      what: `no provider is named ${name}`,
      remedy: names === '' ? 'Set its --provider-addr too' : `Choose one of ${names}`,
    });
  }
  return problems;
}

/** T10: an id with two prefixes would belong to two providers, and neither could have it. */
function checkIdPrefixes({ providers, providerIdPrefixes }: Values, origins: Origins): Problem[] {
  const key = '--provider-id-prefix';
  const origin = origins.providerIdPrefixes;
  const problems: Problem[] = [];
  providerIdPrefixes.forEach(({ name, prefix }, index) => {
    if (!providers.some((provider) => provider.name === name)) {
      const names = providers.map((provider) => provider.name).join(', ');
      const remedy = names === '' ? 'Set its --provider-addr too' : `Choose one of ${names}`;
      problems.push({ key, origin, what: `no provider is named ${name}`, remedy });
    }
    const clash = providerIdPrefixes
      .slice(0, index)
      .find(
        (other) =>
          other.name !== name && (other.prefix.startsWith(prefix) || prefix.startsWith(other.prefix)),
      );
    if (clash === undefined) return;
    problems.push({
      key,
      origin,
      what: `ids can begin with both ${clash.prefix} of ${clash.name} and ${prefix} of ${name}`,
      remedy: 'Choose prefixes of which none begins with another',
    });
  });
  return problems;
}
