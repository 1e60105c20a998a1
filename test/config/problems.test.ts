/** Each problem is one line: the key, its source, what is wrong, and what to write instead. */
import { describe, expect, it } from 'vitest';
import { loadShardConfig } from '../../src/config/shard-config.ts';
import { fileOf, linesOf, load } from './load.ts';

describe('an error on the command line', () => {
  for (const [argv, line] of [
    [
      ['--cycle-interval', '10'],
      '--cycle-interval (command line): "10" is not a duration. Write it like 50ms, 10s or 1m30s.',
    ],
    [
      ['--cycle-interval=10ms'],
      '--cycle-interval (command line): 10ms is below the minimum, 50ms. Choose 50ms to 1h.',
    ],
    [
      ['--execute-concurrency', '0'],
      '--execute-concurrency (command line): 0 is below the minimum, 1. Choose 1 to 16384.',
    ],
    [
      ['--max-machines', '1e6'],
      '--max-machines (command line): "1e6" is not a whole number. Write it like 0, 8 or 1000.',
    ],
    [
      ['--max-list-bytes', '4GiB'],
      '--max-list-bytes (command line): 4GiB is above the maximum, 2GiB. Choose 1MiB to 2GiB.',
    ],
    [
      ['--reclaim-cap-fraction', '5'],
      '--reclaim-cap-fraction (command line): 5 is above the maximum, 1. Choose 0 to 1.',
    ],
    [
      ['--reclaim-cap-fraction', '5%'],
      '--reclaim-cap-fraction (command line): "5%" is not a fraction. Write it like 0.05, 0.5 or 1, or write unlimited or none.',
    ],
    [['--dry-run=yes'], '--dry-run (command line): "yes" is neither true nor false. Write true or false.'],
    [
      ['--dry-run', 'false'],
      '"false" (command line): unexpected argument. Write --dry-run=true or --dry-run=false.',
    ],
    [
      ['--log-level', 'loud'],
      '--log-level (command line): "loud" is not a valid choice. Write one of debug, info, warn, error.',
    ],
    [
      ['--directory', 'http://10.0.0.1:2379'],
      '--directory (command line): "http://10.0.0.1:2379" is not a directory. Write etcd://HOST:PORT with each member of the etcd once, such as etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379.',
    ],
    [
      ['--lease', '3s'],
      '--lease (--lease): it has no effect without a directory. Set --directory etcd://HOST:PORT, or remove it.',
    ],
    [
      ['--directory', 'etcd://a:2379', '--directory-tls-ca', 'ca.pem'],
      '--directory-tls-ca (--directory-tls-ca): --directory-tls-cert and --directory-tls-key are missing. Set all three TLS files, or none.',
    ],
    [
      ['--directory', 'etcd://a:2379', '--listen', ':7780', '--insecure'],
      '--directory (--directory): other replicas cannot dial 0.0.0.0:7780, the address of --listen. Set --advertise-addr HOST:PORT to the address at which they reach this process.',
    ],
    [['--id', 'a', '--id', 'b'], '--id (command line): given twice. Set it once.'],
    [['--id'], '--id (command line): the value is missing. Write --id VALUE.'],
    [['--id', '--dry-run'], '--id (command line): the value is missing. Write --id VALUE.'],
    [
      ['--id='],
      '--id (command line): "" is not a shard id. Write 1 to 253 letters, digits, dots, dashes or underscores, such as shard-0.',
    ],
    [
      ['--cycle-intervall', '5s'],
      '--cycle-intervall (command line): unknown flag. Did you mean --cycle-interval? --help lists all settings.',
    ],
    [['--frobnicate'], '--frobnicate (command line): unknown flag. Remove it; --help lists all settings.'],
    [['start'], '"start" (command line): unexpected argument. Write --NAME VALUE or --NAME=VALUE.'],
    [
      ['--listen', 'localhost'],
      '--listen (command line): "localhost" is not an address to listen on. Write HOST:PORT, such as 127.0.0.1:7780 or [::1]:7780.',
    ],
    [
      ['--listen', '127.0.0.1:70000'],
      '--listen (command line): "127.0.0.1:70000" is not an address to listen on. Write HOST:PORT, such as 127.0.0.1:7780 or [::1]:7780.',
    ],
    [
      ['--coordinator-addr', 'there'],
      '--coordinator-addr (command line): "there" is not an address. Write HOST:PORT, such as 10.0.0.7:7790.',
    ],
    [
      ['--provider-addr', 'B!=h:1'],
      '--provider-addr (command line): "B!" is not a provider name. Write NAME=HOST:PORT with a name of 1 to 63 characters from a-z, 0-9, dot, dash and underscore.',
    ],
    [['--data-dir='], '--data-dir (command line): the path is empty. Write a file system path.'],
    [
      ['--config', '/no/such/file.yaml'],
      '--config (command line): /no/such/file.yaml cannot be read (ENOENT). Name an existing file that the shard can read.',
    ],
  ] as const) {
    it(`is reported for ${argv.join(' ')}`, () => expect(linesOf(() => load({ argv }))).toEqual([line]));
  }

  it('does not hide the next error', () => {
    const argv = ['--id', '', '--cycle-interval', 'x', '--nothing', 'y', '--log-level=loud'];
    const environment = { FLOTILLA_WORKERS: '0' };
    expect(linesOf(() => load({ argv, environment }))).toHaveLength(5);
  });

  it('takes one line even if the value has several', () => {
    const lines = linesOf(() => load({ argv: ['--log-level', 'a\nb\u001b[31m'] }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('\u001b');
  });
});

describe('an error in the environment', () => {
  it('is reported with the name of the variable', () => {
    expect(linesOf(() => load({ environment: { FLOTILLA_WORKERS: 'many' } }))).toEqual([
      'FLOTILLA_WORKERS (environment): "many" is not a whole number. Write it like 0, 8 or 1000.',
    ]);
  });

  it('may be a misspelt variable', () => {
    expect(linesOf(() => load({ environment: { FLOTILLA_CYCLE_INTERVALL: '5s' } }))).toEqual([
      'FLOTILLA_CYCLE_INTERVALL (environment): unknown setting. Did you mean FLOTILLA_CYCLE_INTERVAL? --help lists all settings.',
    ]);
  });

  it('is not a variable that Kubernetes sets for a service named flotilla, nor one of the tests', () => {
    const environment = {
      FLOTILLA_SERVICE_HOST: '10.0.0.1',
      FLOTILLA_SERVICE_PORT_GRPC: '7780',
      FLOTILLA_PORT: 'tcp://10.0.0.1:7780',
      FLOTILLA_PORT_7780_TCP_ADDR: '10.0.0.1',
      FLOTILLA_SHARD_0_SERVICE_HOST: '10.0.0.2',
      FLOTILLA_PROPERTY_SEED: '7',
      PATH: '/bin',
    };
    expect(load({ environment }).config.id).toBe('shard-0');
  });
});

describe('an error in a file', () => {
  for (const [text, line, rest] of [
    [
      'id: a\ncycle-interval: soon\n',
      2,
      'cycle-interval (FILE:2): "soon" is not a duration. Write it like 50ms, 10s or 1m30s.',
    ],
    ['idd: a\n', 1, 'idd (FILE:1): unknown setting. Did you mean id? --help lists all settings.'],
    [
      'cycleInterval: 1s\n',
      1,
      'cycleInterval (FILE:1): unknown setting. Did you mean cycle-interval? --help lists all settings.',
    ],
    ['id: a\nid: b\n', 2, 'id (FILE:2): already set at FILE:1. Set it once.'],
    ['id:\n', 1, 'id (FILE:1): the value is missing. Add a value or remove the line.'],
    ['id: [a]\n', 1, 'id (FILE:1): takes a single value. Write id: VALUE.'],
    [
      'provider-optional: {a: b}\n',
      1,
      'provider-optional (FILE:1): takes a list of strings. Write a list of strings: [a, b].',
    ],
    [
      'provider-optional: [[a]]\n',
      1,
      'provider-optional (FILE:1): the list contains something other than strings. Write a list of strings: [a, b].',
    ],
    ['dry-run: on\n', 1, 'dry-run (FILE:1): "on" is neither true nor false. Write true or false.'],
    [
      '- id\n',
      0,
      '--config (FILE): the file is not a mapping of settings. Write lines such as cycle-interval: 10s.',
    ],
    ['config: other.yaml\n', 1, 'config (FILE:1): unknown setting. Remove it; --help lists all settings.'],
  ] as const) {
    it(`is reported for ${JSON.stringify(text)} with line ${line}`, () => {
      const path = fileOf(text);
      const lines = linesOf(() => load({ argv: ['--config', path] }));
      expect(lines).toEqual([rest.replaceAll('FILE', path)]);
    });
  }

  it('is reported for invalid YAML', () => {
    const path = fileOf('id: "a\n');
    const [line] = linesOf(() => load({ argv: ['--config', path] }));
    expect(line).toContain('invalid YAML');
    expect(line).toContain(`${path}:`);
  });

  it('is reported even if a flag overrides the value', () => {
    const path = fileOf('cycle-interval: soon\n');
    expect(linesOf(() => load({ argv: ['--config', path, '--cycle-interval', '1s'] }))).toHaveLength(1);
  });

  it('may be a file that is too large', () => {
    const [line] = linesOf(() => load({ argv: ['--config', fileOf('#'.repeat(2_000_000))] }));
    expect(line).toContain('larger than');
  });
});

describe('settings that contradict each other', () => {
  for (const [argv, start] of [
    [
      ['--listen', '0.0.0.0:7780'],
      '--listen (--listen): 0.0.0.0:7780 is not a loopback address, and TLS is not configured.',
    ],
    [['--listen', '[::]:7780'], '--listen (--listen): [::]:7780 is not a loopback address'],
    [
      ['--metrics-addr', '10.0.0.1:8780'],
      '--metrics-addr (--metrics-addr): 10.0.0.1:8780 is not a loopback address',
    ],
    [
      ['--max-history-bytes', '64KiB'],
      '--max-history-bytes (--max-history-bytes): 65536 bytes hold less than a minute of events.',
    ],
    [['--tls-cert', 'c.pem'], '--tls-cert (--tls-cert): --tls-key and --tls-ca are missing.'],
    [['--tls-cert', 'c.pem', '--tls-ca', 'a.pem'], '--tls-cert (--tls-cert): --tls-key is missing.'],
    [
      ['--tls-denied', 'denied'],
      '--tls-denied (--tls-denied): without TLS, connections have no identity that could be denied.',
    ],
    [
      ['--metrics-addr', '127.0.0.1:7780'],
      '--metrics-addr (--metrics-addr): 127.0.0.1:7780 is already used by --listen.',
    ],
    [
      ['--health-addr', '127.0.0.1:7780'],
      '--health-addr (--health-addr): 127.0.0.1:7780 is already used by --listen.',
    ],
    [
      ['--health-addr', '127.0.0.1:8780'],
      '--health-addr (--health-addr): 127.0.0.1:8780 is already used by --metrics-addr.',
    ],
    [['--provider-addr', 'rack-a=h:1'], '--provider-addr (--provider-addr): two providers are named rack-a.'],
    [
      ['--provider-addr', 'b=10.0.0.7:7790'],
      '--provider-addr (--provider-addr): two providers have the address 10.0.0.7:7790',
    ],
    [
      ['--provider-optional', 'b'],
      '--provider-optional (--provider-optional): no provider is named b. Choose one of rack-a.',
    ],
    [
      ['--provider-id-prefix', 'b=x-'],
      '--provider-id-prefix (--provider-id-prefix): no provider is named b. Choose one of rack-a.',
    ],
    [
      ['--provider-id-prefix', 'rack-a='],
      '--provider-id-prefix (command line): "rack-a=" is not an id prefix of a provider. Write NAME=PREFIX',
    ],
    [
      [
        ...['--provider-addr', 'b=h:1', '--provider-id-prefix', 'rack-a=ra-'],
        ...['--provider-id-prefix', 'b=ra-b-'],
      ],
      '--provider-id-prefix (--provider-id-prefix): ids can begin with both ra- of rack-a and ra-b- of b. Choose prefixes',
    ],
  ] as const) {
    const rule = start.includes('loopback') ? 'I4: ' : '';
    it(`${rule}are refused for ${argv.join(' ')}`, () => {
      const lines = linesOf(() => load({ argv }));
      expect(lines).toHaveLength(1);
      expect(lines[0]!.slice(0, start.length)).toBe(start);
    });
  }

  for (const argv of [
    ['--listen', '0.0.0.0:7780', '--insecure'],
    ['--listen', '0.0.0.0:7780', '--tls-cert=c', '--tls-key=k', '--tls-ca=a'],
    ['--listen', '[::1]:7780', '--metrics-addr', 'localhost:1'],
    ['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'],
    ['--health-addr', '0.0.0.0:8781'],
  ]) {
    it(`I4: are accepted for ${argv.join(' ')}`, () => expect(load({ argv }).asked).toBe('start'));
  }

  it('suggest flotilla up when no provider is configured', () => {
    const lines = linesOf(() => loadShardConfig({ argv: [], environment: {} }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('flotilla up');
    expect(loadShardConfig({ argv: ['--print-config'], environment: {} }).asked).toBe('print-config');
  });
});
