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
  it('given --help, then it lists every command and exits 0', async () => {
    const { code, out } = await flotilla('--help');
    expect(code).toBe(0);
    for (const command of ['up', 'shard', 'provider', 'operators', 'conformance', 'version'])
      expect(out).toContain(command);
  });

  it('given a command and --help, then it says how to use it, with which exit codes, in lines that fit', async () => {
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

  it('given nothing, then it says how to use it and exits 2', async () => {
    const { code, error } = await flotilla();
    expect(code).toBe(2);
    expect(error).toContain('Usage: flotilla');
  });

  it('given an unknown command, then it says so in one line and exits 2', async () => {
    const { code, error } = await flotilla('shrad');
    expect(code).toBe(2);
    expect(error.trim().split('\n')).toHaveLength(1);
    expect(error).toContain('"shrad"');
  });

  it('given version, then it prints the version of the package', async () => {
    const { code, out } = await flotilla('version');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('given that it is started through a link, as an installed one is, then it runs all the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-link-'));
    const link = join(folder, 'flotilla');
    symlinkSync(MAIN, link);
    const { out } = await started(link, 'version');
    rmSync(folder, { recursive: true });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('given a command with a wrong flag, then that command answers with exit code 2', async () => {
    for (const command of ['provider', 'operators', 'conformance']) {
      const { code, error } = await flotilla(command, '--no-such-flag');
      expect(code, command).toBe(2);
      expect(error.trim().split('\n'), command).toHaveLength(1);
    }
  });
});
