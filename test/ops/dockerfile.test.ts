/**
 * Checks the image without a container engine: compares its instructions with the repository, and assembles its last stage
 * in a folder to see that a shard runs with production packages only.
 */
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { PROCESS_SETTINGS } from '../../src/cli/process-settings.ts';
import { environmentNameOf, flagOf, type Setting } from '../../src/config/setting.ts';
import { SHARD_SETTINGS } from '../../src/config/shard-settings.ts';
import { Processes, until } from '../service/processes.ts';
import { copiesOf, instructionOf, stagesOf } from './dockerfile.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const stages = stagesOf(read('docs/ops/Dockerfile'));
const [build, packages, image] = stages as [(typeof stages)[0], (typeof stages)[0], (typeof stages)[0]];

describe('docs/ops/Dockerfile', () => {
  it('copies only files that exist and are in the build context', () => {
    const sent = read('docs/ops/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(sent[0]).toBe('*');
    const fromRepository = stages
      .flatMap(copiesOf)
      .filter(({ from }) => from === '')
      .flatMap(({ sources }) => sources);
    expect(fromRepository.length).toBeGreaterThan(5);
    expect(fromRepository.filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
    expect(new Set(sent.slice(1))).toEqual(new Set(fromRepository.map((source) => `!${source}`)));
    const ofStages = stages.flatMap(copiesOf).filter(({ from }) => from !== '');
    for (const { from } of ofStages) expect(stages.map(({ name }) => name)).toContain(from);
  });

  it('compiles what the build compiles, without benchmarks, examples and tests', () => {
    const included = ['tsconfig.build.json', 'tsconfig.client.json'].flatMap(
      (file) => (JSON.parse(read(file)) as { include: string[] }).include,
    );
    const copied = copiesOf(build).flatMap(({ sources }) => sources);
    const missing = included.filter((path) => !copied.includes(path.split('/')[0]!));
    expect(missing).toEqual(['bench', 'docs', 'test/fuzz/budget']);
  });

  it('installs from the lock file, without install scripts and development packages', () => {
    for (const stage of [build, packages]) {
      const install = stage.instructions.find(({ text }) => text.startsWith('npm ci'));
      expect(install?.text).toContain('--ignore-scripts');
    }
    expect(instructionOf(packages, 'RUN')).toContain('--omit=dev');
  });

  it('runs as a numeric user that is not root, with its data in a volume', () => {
    expect(JSON.parse(instructionOf(image, 'ENTRYPOINT'))).toEqual(['node', '/app/dist/src/cli/main.js']);
    expect(JSON.parse(instructionOf(image, 'CMD'))).toEqual(['shard']);
    expect(instructionOf(image, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const [uid] = instructionOf(image, 'USER').split(':');
    const folder = instructionOf(image, 'VOLUME');
    expect(instructionOf(image, 'RUN')).toContain(`-o ${uid} -g ${uid} -m 0700 ${folder}`);
    expect(instructionOf(image, 'ENV').split(' ')).toContain(`FLOTILLA_DATA_DIR=${folder}`);
  });

  it('sets the same process settings as flotilla up', () => {
    const given = instructionOf(image, 'ENV').replaceAll('"', '');
    for (const [name, value] of Object.entries(PROCESS_SETTINGS)) expect(given).toContain(`${name}=${value}`);
  });

  it('sets and exposes only known settings', () => {
    const fields = Object.entries(SHARD_SETTINGS) as [string, Setting<unknown>][];
    const names = fields.map(([field, setting]) => environmentNameOf(flagOf(field, setting)));
    const given = [...instructionOf(image, 'ENV').matchAll(/(FLOTILLA_\w+)=/g)].map(([, name]) => name);
    expect(given.filter((name) => !names.includes(name!))).toEqual([]);
    const { listen, metricsAddr } = SHARD_SETTINGS;
    const ports = [listen, metricsAddr].map(
      (setting) => (setting.defaultValue({ coreCount: 1 }) as { port: number }).port,
    );
    const health = /FLOTILLA_HEALTH_ADDR=(127\.0\.0\.1:(\d+))/.exec(instructionOf(image, 'ENV'))!;
    expect(instructionOf(image, 'EXPOSE').split(' ').map(Number)).toEqual([...ports, Number(health[2])]);
    expect(instructionOf(image, 'HEALTHCHECK')).toContain(`${health[1]}/healthz`);
  });
});

describe('the content of the image', () => {
  let processes = new Processes();
  afterEach(async () => {
    await processes.end();
    processes = new Processes();
  });

  it('runs a shard without development packages', { timeout: 300_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-image-'));
    try {
      for (const source of copiesOf(packages).flatMap(({ sources }) => sources))
        cpSync(join(ROOT, source), join(folder, source));
      const [, ...words] = instructionOf(packages, 'RUN').split(' ');
      await promisify(execFile)('npm', [...words, '--prefer-offline', '--no-audit'], { cwd: folder });
      for (const compiled of ['src', 'workers'])
        cpSync(join(ROOT, 'dist', compiled), join(folder, 'dist', compiled), { recursive: true });
      expect(existsSync(join(folder, 'node_modules/piscina'))).toBe(true);
      expect(existsSync(join(folder, 'node_modules/vitest'))).toBe(false);

      const provider = await processes.provider('--machines', '60');
      const child = spawn(process.execPath, [
        join(folder, 'dist/src/cli/main.js'),
        ...['shard', '--provider-addr', provider.address, '--listen', '127.0.0.1:0'],
        ...['--metrics-addr', '127.0.0.1:0', '--data-dir', join(folder, 'data')],
      ]);
      const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
      try {
        const lines: string[] = [];
        createInterface(child.stdout).on('line', (line) => lines.push(line));
        createInterface(child.stderr).on('line', (line) => lines.push(line));
        const http = await until(
          'its first line',
          () => /http (http:\S+)$/m.exec(lines.join('\n'))?.[1] ?? lines.join('\n'),
          (seen) => seen.startsWith('http'),
        );
        await until(
          'all machines are known',
          async () => (await fetch(`${http}api/v1/overview`)).json() as Promise<{ machines: number }>,
          ({ machines }) => machines === 60,
        );
        expect((await fetch(http)).status).toBe(200);
        expect((await fetch(`${http}readyz`)).status).toBe(200);
      } finally {
        child.kill('SIGTERM');
      }
      expect(await exited).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
