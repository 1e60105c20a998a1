/** Settings through the command itself: exit codes, output and SIGHUP. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { issue, makeAuthority } from '../tls/certificates.ts';

const MAIN = join(import.meta.dirname, '../../dist/src/cli/main.js');

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-command-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function flotilla(...argv: string[]) {
  return spawnSync(process.execPath, [MAIN, ...argv], { encoding: 'utf8', cwd: directory() });
}

describe('flotilla shard', () => {
  it('prints one line per invalid setting, starts nothing and exits with 2', () => {
    const { status, stderr, stdout } = flotilla('shard', '--cycle-interval', '10', '--listn', 'x', '--id=');
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toHaveLength(3);
    expect(stderr).toContain('--cycle-interval (command line): "10" is not a duration.');
    expect(stderr).toContain('Did you mean --listen?');
  });

  it('suggests flotilla up when no provider is configured', () => {
    const { status, stderr } = flotilla('shard');
    expect(status).toBe(2);
    expect(stderr).toContain('flotilla up');
  });

  it('prints its settings as a config file that it accepts', () => {
    const printed = flotilla('shard', '--print-config', '--provider-addr', 'a=h:1', '--dry-run');
    expect(printed.status).toBe(0);
    const path = join(directory(), 'shard.yaml');
    writeFileSync(path, printed.stdout);
    const again = flotilla('shard', '--print-config', '--config', path);
    expect(again.stdout.replaceAll(/ +#.*/g, '')).toBe(printed.stdout.replaceAll(/ +#.*/g, ''));
  });

  it('prints its help', () => {
    const { status, stdout } = flotilla('shard', '--help');
    expect(status).toBe(0);
    expect(stdout).toContain('--cycle-interval DURATION');
  });
});

/** A shard whose provider does not exist: it runs, is not ready, and handles signals. */
class RunningShard {
  readonly child: ChildProcess;
  #stdout = '';
  #stderr = '';

  constructor(folder: string, ...argv: string[]) {
    const fixed = [
      '--provider-addr',
      'none=127.0.0.1:1',
      '--listen',
      '127.0.0.1:0',
      '--metrics-addr',
      '127.0.0.1:0',
    ];
    this.child = spawn(process.execPath, [MAIN, 'shard', ...fixed, ...argv], { cwd: folder });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }

  async address(): Promise<string> {
    await expect.poll(() => this.#stdout + this.#stderr).toContain('listening on');
    return / http (\S+)\/$/m.exec(this.#stdout)![1]!;
  }

  get log(): string {
    return this.#stderr;
  }

  events(name: string): Record<string, unknown>[] {
    return this.#stderr
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === name);
  }

  async hangUp(event: string): Promise<void> {
    const before = this.events(event).length;
    this.child.kill('SIGHUP');
    await expect.poll(() => this.events(event).length).toBeGreaterThan(before);
  }
}

describe('SIGHUP', () => {
  it('applies rails and log level, logs what needs a restart, and keeps its settings when the file is invalid', async () => {
    const folder = directory();
    const path = join(folder, 'shard.yaml');
    writeFileSync(path, 'cycle-interval: 5s\n');
    const shard = new RunningShard(folder, '--config', path, '--audit-log', 'audit.log');
    const address = await shard.address();
    const paused = async () =>
      /^bigfleet_shard_actuation_paused (\d)$/m.exec(await (await fetch(`${address}/metrics`)).text())?.[1];
    expect(await paused()).toBe('0');
    expect((await fetch(`${address}/readyz`)).status).toBe(503);

    writeFileSync(path, 'cycle-interval: 7s\nactuation-paused: true\n');
    await shard.hangUp('reloaded');
    expect(await paused()).toBe('1');
    expect(shard.events('setting_reloaded')).toMatchObject([
      { flag: 'actuation-paused', from: 'false', to: 'true' },
    ]);
    expect(shard.events('setting_needs_restart')).toMatchObject([
      { flag: 'cycle-interval', from: '5s', to: '7s' },
    ]);
    await expect.poll(() => shard.events('audit_log_reopened')).toHaveLength(1);

    await shard.hangUp('reloaded');
    expect(shard.events('setting_reloaded'), 'nothing changed since').toHaveLength(1);

    writeFileSync(path, 'actuation-paused: true\ntenants: [{ cluster: team-*, max-machines: 5 }]\n');
    await shard.hangUp('reloaded');
    expect(shard.events('setting_reloaded')[1], 'T8').toMatchObject({
      flag: 'tenants',
      from: '',
      to: 'team-*; max-machines=5',
    });

    writeFileSync(path, 'actuation-paused: true\nidle-hold-spot: 5s\nvanishing-hold: 1h\n');
    await shard.hangUp('reloaded');
    expect(shard.events('rail_loosened'), 'H11').toContainEqual(
      expect.objectContaining({ flag: 'idle-hold-spot', to: '5s' }),
    );
    writeFileSync(path, 'actuation-paused: true\nlog-format: pretty\n');
    shard.child.kill('SIGHUP');
    await expect.poll(() => shard.log, { message: 'H11' }).toMatch(/INFO {2}reloaded shard=/);
    writeFileSync(path, 'actuation-paused: true\nworkers: 2\n');
    await shard.hangUp('reloaded');
    expect(shard.events('reloaded').at(-1), 'H11').toMatchObject({
      needRestart: expect.stringContaining('workers'),
    });

    writeFileSync(path, 'actuation-paused: perhaps\n');
    await shard.hangUp('reload_refused');
    expect(await paused()).toBe('1');

    const ended = new Promise((resolve) => shard.child.once('exit', resolve));
    shard.child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  it('T14: reads TLS files again, and logs and counts those that cannot be used', async () => {
    const folder = directory();
    const authority = makeAuthority();
    const leaf = issue(authority, { ip: ['127.0.0.1'], uri: ['bigfleet://shard/s-1'] });
    const files = { cert: leaf.certificate, key: leaf.privateKey, ca: authority.pem, denied: '' };
    const flags = Object.entries(files).flatMap(([name, text]) => {
      writeFileSync(join(folder, name), text);
      return [`--tls-${name}`, join(folder, name)];
    });
    const shard = new RunningShard(folder, ...flags);
    const address = await shard.address();
    const metric = async (name: string) => {
      const text = await (await fetch(`${address}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );
    };
    const expiry = await metric('flotilla_tls_expiry_timestamp_seconds{file="certificate"}');
    expect(expiry).toBeCloseTo(Date.now() / 1_000 + 86_400, -3);
    writeFileSync(join(folder, 'key'), 'no key at all');
    await shard.hangUp('tls_reload_failed');
    expect(shard.events('tls_reload_failed')).toMatchObject([
      { level: 'error', path: join(folder, 'key'), detail: expect.stringContaining('cannot be used') },
    ]);
    expect(await metric('flotilla_tls_reload_failures_total')).toBe(1);
    expect(await metric('flotilla_tls_reload_failing')).toBe(1);
    writeFileSync(join(folder, 'key'), leaf.privateKey);
    await shard.hangUp('tls_reloaded');
    expect(await metric('flotilla_tls_reload_failing')).toBe(0);
  });
});
