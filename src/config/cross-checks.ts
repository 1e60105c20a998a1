/** What settings have to be together. Each check names the setting to change, and what to change it to. */
import { isLoopback, type ListenAddress } from './addresses.ts';
import type { Problem } from './problems.ts';
import type { ValuesOf } from './setting.ts';
import type { SHARD_SETTINGS } from './shard-settings.ts';

type Values = ValuesOf<typeof SHARD_SETTINGS>;
type Origins = Readonly<Record<keyof Values, string>>;

export interface TlsPaths {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
  readonly caPath: string;
}

/** Null unless all three are given; the check below refuses one or two. */
export function tlsOf({ tlsCert, tlsKey, tlsCa }: Values): TlsPaths | null {
  if (!tlsCert || !tlsKey || !tlsCa) return null;
  return Object.freeze({ certificatePath: tlsCert, privateKeyPath: tlsKey, caPath: tlsCa });
}

export function crossCheck(values: Values, origins: Origins): Problem[] {
  return [
    ...checkTls(values, origins),
    ...checkExposure(values, origins),
    ...checkPorts(values, origins),
    ...checkProviders(values, origins),
  ];
}

function checkTls(values: Values, origins: Origins): Problem[] {
  const files = [
    ['--tls-cert', values.tlsCert, origins.tlsCert],
    ['--tls-key', values.tlsKey, origins.tlsKey],
    ['--tls-ca', values.tlsCa, origins.tlsCa],
  ] as const;
  const given = files.filter(([, path]) => path !== '');
  if (given.length === 0 || given.length === files.length) return [];
  const missing = files.filter(([, path]) => path === '').map(([flag]) => flag);
  const what = `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing beside it`;
  return [{ key: given[0]![0], origin: given[0]![2], what, remedy: 'Give all three TLS files, or none' }];
}

/** I4: nothing in plaintext leaves this machine unless somebody said so. */
function checkExposure(values: Values, origins: Origins): Problem[] {
  if (values.insecure) return [];
  const problems: Problem[] = [];
  if (!isLoopback(values.listen) && tlsOf(values) === null) {
    problems.push({
      key: '--listen',
      origin: origins.listen,
      what: `${values.listen.text} is beyond loopback, and there is no TLS`,
      remedy:
        'Give --tls-cert, --tls-key and --tls-ca, listen on 127.0.0.1, or allow plaintext with --insecure',
    });
  }
  if (values.metricsAddr !== null && !isLoopback(values.metricsAddr)) {
    problems.push({
      key: '--metrics-addr',
      origin: origins.metricsAddr,
      what: `${values.metricsAddr.text} is beyond loopback, and HTTP here has no TLS`,
      remedy: 'Listen on 127.0.0.1, or allow plaintext with --insecure (gRPC keeps its TLS)',
    });
  }
  return problems;
}

function checkPorts({ listen, metricsAddr }: Values, origins: Origins): Problem[] {
  const isSame = (one: ListenAddress, other: ListenAddress) =>
    one.host === other.host && one.port === other.port && one.port !== 0;
  if (metricsAddr === null || !isSame(listen, metricsAddr)) return [];
  const what = `${metricsAddr.text} is taken by --listen`;
  return [
    {
      key: '--metrics-addr',
      origin: origins.metricsAddr,
      what,
      remedy: 'Choose another port, or 0 for none',
    },
  ];
}

/** Needed to start, but not to print the settings. */
export function checkThereIsAProvider({ providers }: Values, origins: Origins): Problem[] {
  if (providers.length > 0) return [];
  const what = 'there is no provider, so there would be no machines';
  const remedy = 'Give --provider-addr HOST:PORT, or run flotilla up for a whole fleet on this machine';
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
        remedy: 'Name them differently',
      });
    } else if (earlier.some((other) => other.address === address)) {
      const what = `two providers have the address ${address}, and its machines would appear twice`;
      problems.push({ key, origin, what, remedy: 'Give each address once' });
    }
  });
  for (const name of optionalProviders) {
    if (providers.some((provider) => provider.name === name)) continue;
    const names = providers.map((provider) => provider.name).join(', ');
    problems.push({
      key: '--provider-optional',
      origin: origins.optionalProviders,
      what: `there is no provider ${name}`,
      remedy: names === '' ? 'Give its --provider-addr too' : `Choose from ${names}`,
    });
  }
  return problems;
}
