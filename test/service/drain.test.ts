/** The drill "drain a broken machine" on real processes: one command does it, one command undoes it (H5, H6, H7, H8). */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { Processes, ProviderTruth, until } from './processes.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const FAST = ['--cycle-interval', '200ms', '--workers', '1', '--reclaim-cap-fraction', '1'];
const PATIENCE_MS = 120_000;

function flotilla(...words: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...words], { timeout: PATIENCE_MS }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr }),
    );
  });
}

const NEED: RollupRow = {
  requirements: [],
  aggregate: { cpu: '16' },
  minUnit: { cpu: '1' },
  priority: 1_000,
  spread: [],
  interruptionBucket: 1,
  reclamationBucket: 1,
  group: '',
};

const processes = new Processes();
const closers: (() => void | Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await processes.end();
});

it('H5, H6, H8: drains a machine after its replacement, keeps it out of use over a restart, uncordons it, and retires its cluster', {
  timeout: 600_000,
}, async () => {
  const provider = await processes.provider('--machines', '40', '--configured', '0', '--idle', '1');
  const truth = new ProviderTruth(provider.address);
  closers.push(() => truth.close());
  const dataDir = processes.folder();
  const flags = [...FAST, '--data-dir', dataDir];
  const at = ['--data-dir', dataDir, '--why', 'disk errors', '--who', 'ann'];
  let shard = await processes.shard(provider.address, ...flags);
  const bound = async () =>
    (await truth.machines()).filter(({ cluster }) => cluster === 'east').map(({ id }) => id);
  const connect = async () => {
    const operator = new SimulatedOperator({ address: shard.address, clusterId: 'east' });
    closers.push(() => operator.close());
    await operator.connect();
    operator.setDemand([NEED]);
    return operator;
  };
  let operator = await connect();
  const machines = await until('machines are bound', bound, (ids) => ids.length > 0, PATIENCE_MS);
  const broken = machines[0]!;

  const asked = await flotilla('drain', ...machines, 'nothing', ...at);
  expect(asked).toMatchObject({ code: 1, out: expect.stringContaining('knows no machine "nothing"') });
  const drained = await flotilla('drain', broken, ...at);
  expect(drained).toMatchObject({ code: 0, out: expect.stringContaining(`drain of machine ${broken}`) });
  expect(drained.out).toContain(`flotilla uncordon ${broken} --why TEXT`);
  const without = (ids: readonly string[]) => !ids.includes(broken) && ids.length >= machines.length;
  const after = await until('it is replaced and drained', bound, without, PATIENCE_MS);
  const explained = await flotilla('explain', 'machine', broken, '--api', shard.http);
  expect(explained.out).toMatch(/Cordoned for .*, by ann, because “disk errors” \(control c1\)/);

  // The process dies; the next one knows the drain, and does not bind the machine again.
  await operator.close();
  shard.program.child.kill('SIGKILL');
  await shard.program.exited;
  shard = await processes.shard(provider.address, ...flags);
  operator = await connect();
  const zone = (await truth.machines()).find(({ id }) => id === after[0])!.zone;
  const cordon = () => flotilla('cordon', '--zone', zone, ...at);
  const many = await until('the machines are listed', cordon, ({ code }) => code === 2, PATIENCE_MS);
  expect(many.out).toContain('Give --yes');
  expect(await bound()).not.toContain(broken);

  const released = await flotilla('release', broken, ...at);
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining('Release: 1 machine') });
  expect(await flotilla('uncordon', broken, ...at)).toMatchObject({ code: 0 });
  expect((await flotilla('controls', '--data-dir', dataDir)).out).toBe('No control is in force.\n');

  const connected = await flotilla('retire-cluster', 'east', '--yes', ...at);
  expect(connected).toMatchObject({ code: 1, out: expect.stringContaining('is connected') });
  await operator.close();
  await until(
    'the cluster is retired',
    () => flotilla('retire-cluster', 'east', '--yes', ...at),
    ({ code }) => code === 0,
    PATIENCE_MS,
  );
  await until('its machines are given up', bound, (ids) => ids.length === 0, PATIENCE_MS);
  await until(
    'the control has ended',
    () => flotilla('controls', '--data-dir', dataDir),
    ({ out }) => out === 'No control is in force.\n',
    PATIENCE_MS,
  );
});
