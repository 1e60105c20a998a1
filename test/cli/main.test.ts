import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

const flotilla = (...argv: string[]) => started(MAIN, ...argv);

function started(main: string, ...argv: string[]): Promise<{ code: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...argv], (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : 0, out, error });
    });
  });
}

describe('flotilla', () => {
  it('lists every command with --help', async () => {
    const { code, out } = await flotilla('--help');
    expect(code).toBe(0);
    for (const command of ['up', 'shard', 'provider', 'operators', 'conformance', 'version'])
      expect(out).toContain(command);
  });

  it('prints usage, examples and exit codes of each command with --help, in lines of at most 125 characters', async () => {
    const { out } = await flotilla('--help');
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
    expect(commands.length).toBeGreaterThan(10);
    for (const command of commands.filter((name) => name !== 'version')) {
      const { code, out: help } = await flotilla(command, '--help');
      expect(code, command).toBe(0);
      expect(help, command).toMatch(new RegExp(`^Usage: flotilla ${command}\\b`));
      for (const word of ['--help', 'xample', 'Exit code: 0 ']) expect(help, command).toContain(word);
      expect(
        help.split('\n').filter((line) => line.length > 125),
        command,
      ).toEqual([]);
    }
  });

  it('prints its usage and exits with 2 without a command', async () => {
    const { code, error } = await flotilla();
    expect(code).toBe(2);
    expect(error).toContain('Usage: flotilla');
  });

  it('names an unknown command in one line and exits with 2', async () => {
    const { code, error } = await flotilla('shrad');
    expect(code).toBe(2);
    expect(error.trim().split('\n')).toHaveLength(1);
    expect(error).toContain('"shrad"');
  });

  it('prints the version of the package', async () => {
    const { code, out } = await flotilla('version');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('runs through a symlink, as after an installation', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-link-'));
    const link = join(folder, 'flotilla');
    symlinkSync(MAIN, link);
    const { out } = await started(link, 'version');
    rmSync(folder, { recursive: true });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('exits with 2 and one line when a command gets an unknown flag', async () => {
    for (const command of ['provider', 'operators', 'conformance']) {
      const { code, error } = await flotilla(command, '--no-such-flag');
      expect(code, command).toBe(2);
      expect(error.trim().split('\n'), command).toHaveLength(1);
    }
  });
});
