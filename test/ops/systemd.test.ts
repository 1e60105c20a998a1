/** The systemd unit: flags and variables exist, the stop timeout is long enough, and systemd accepts it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROCESS_SETTINGS } from '../../src/cli/process-settings.ts';
import { environmentNameOf, flagOf, type Setting } from '../../src/config/setting.ts';
import { SHARD_SETTINGS } from '../../src/config/shard-settings.ts';

const OPS = join(import.meta.dirname, '../../docs/ops');
const UNIT = readFileSync(join(OPS, 'flotilla-shard.service'), 'utf8');
const TLS = readFileSync(join(OPS, 'flotilla-shard-tls.conf'), 'utf8');
const REPLICA = readFileSync(join(OPS, 'flotilla-shard-replica.conf'), 'utf8');
/** CLOSE_MS_MAX of src/cli/shard.ts. */
const CLOSE_SECONDS = 5;
/** SETTLE_MS_MAX of src/cli/shard-service.ts. */
const SETTLE_SECONDS = 2;

const valuesOf = (key: string, text = UNIT) =>
  [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe('docs/ops/flotilla-shard.service', () => {
  it('starts the shard with known flags and variables', () => {
    expect(valuesOf('ExecStart')[0]).toMatch(
      /^\/usr\/bin\/node \/opt\/flotilla\/dist\/src\/cli\/main\.js shard --config \S+$/,
    );
    const fields = Object.entries(SHARD_SETTINGS) as [string, Setting<unknown>][];
    const known = fields.map(([field, setting]) => environmentNameOf(flagOf(field, setting)));
    const variables = [UNIT, TLS, REPLICA].flatMap((text) => valuesOf('Environment', text));
    const given = variables.map((value) => value.replace(/^"/, '').split('=')[0]!);
    expect(given.filter((name) => name.startsWith('FLOTILLA_'))).toHaveLength(10);
    const others = ['NODE_ENV', ...Object.keys(PROCESS_SETTINGS)]; // Node's and glibc's
    expect(given.filter((name) => !others.includes(name) && !known.includes(name))).toEqual([]);
  });

  it('sets the same process settings as flotilla up', () => {
    const given = valuesOf('Environment').map((value) => value.replace(/^"(.*)"$/, '$1'));
    for (const [name, value] of Object.entries(PROCESS_SETTINGS)) expect(given).toContain(`${name}=${value}`);
  });

  it('has a stop timeout above the shutdown grace', () => {
    const graceMs = SHARD_SETTINGS.shutdownGraceMs.defaultValue({ coreCount: 1 });
    const stopSeconds = (text: string) => Number(/^(\d+)s$/.exec(valuesOf('TimeoutStopSec', text)[0]!)?.[1]);
    expect(stopSeconds(UNIT)).toBeGreaterThan(graceMs / 1000 + CLOSE_SECONDS);
    expect(stopSeconds(REPLICA)).toBeGreaterThan(graceMs / 1000 + SETTLE_SECONDS + CLOSE_SECONDS);
  });

  it('allows V8 to compile and the data directory to be locked with a socket', () => {
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual(['no']);
    expect(valuesOf('RestrictAddressFamilies')[0]!.split(' ')).toContain('AF_UNIX');
  });

  it('passes the TLS files that it names', () => {
    for (const text of [TLS, REPLICA]) {
      const credentials = valuesOf('LoadCredential', text).map((value) => value.split(':')[0]);
      const used = valuesOf('Environment', text).flatMap((value) => /=%d\/(.+)$/.exec(value)?.[1] ?? []);
      expect(used).toEqual(credentials);
      expect(used).toHaveLength(3);
    }
  });

  // Only where systemd is installed.
  if (spawnSync('systemd-analyze', ['--version']).status === 0) {
    it('is accepted by systemd, alone, with TLS and as a replica', () => {
      const folder = mkdtempSync(join(tmpdir(), 'flotilla-unit-'));
      try {
        const unit = join(folder, 'flotilla-shard.service');
        writeFileSync(unit, UNIT.replace('/usr/bin/node', process.execPath));
        const verify = () =>
          execFileSync('systemd-analyze', ['verify', unit], { encoding: 'utf8', stdio: 'pipe' });
        expect(verify()).toBe('');
        mkdirSync(`${unit}.d`);
        for (const name of ['flotilla-shard-tls.conf', 'flotilla-shard-replica.conf']) {
          cpSync(join(OPS, name), join(`${unit}.d`, name));
          expect(existsSync(join(`${unit}.d`, name))).toBe(true);
          expect(verify()).toBe('');
        }
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
