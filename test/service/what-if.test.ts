/** "What if zone b disappears?", asked with one command of a real shard, which stays as it is. Real processes throughout. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { ApiMachines } from '../../src/dashboard/api/types.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import type { WhatIfAnswer } from '../../src/shard/ports/what-if.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { Processes, type ShardProgram, until } from './processes.ts';

const TIMEOUT_MS = 180_000;
const ZONES = ['eu-north-1a', 'eu-north-1b', 'eu-north-1c'];

let processes = new Processes();
const operators: SimulatedOperator[] = [];
afterEach(async () => {
  for (const operator of operators.splice(0)) await operator.close();
  await processes.end();
  processes = new Processes();
});

async function ask(shard: ShardProgram, ...words: string[]) {
  const program = processes.start('what-if', ...words, '--api', shard.http);
  const code = await program.exited;
  return { code, text: program.output.join('\n') };
}

async function machinesOf(shard: ShardProgram): Promise<string> {
  const answer = await fetch(new URL('/api/v1/machines?limit=500', shard.http));
  const { machines } = (await answer.json()) as ApiMachines;
  return machines.map(({ id, state, clusterId }) => `${id} ${state} ${clusterId}`).join('\n');
}

it('Y4: one command tells what happens without a zone, and the shard stays as it is', {
  timeout: TIMEOUT_MS,
}, async () => {
  const folder = processes.folder();
  const provider = await processes.provider('--machines', '60', '--idle', '0.4');
  const shard = await processes.shard(provider.address, '--cycle-interval', '500ms', '--data-dir', folder);
  const operator = new SimulatedOperator({ address: shard.address, clusterId: 'prod-eu-1' });
  operators.push(operator);
  await operator.connect();
  operator.setDemand(
    Array.from({ length: 20 }, (_, index) => ({
      ...{ requirements: [], aggregate: { cpu: '1' }, minUnit: { cpu: '1' }, priority: 100, spread: [] },
      ...{ interruptionBucket: 1, reclamationBucket: 1, group: `web-${index}` },
    })),
  );
  await until(
    'everything bound',
    () => [...operator.nodes.values()].filter(({ state }) => state === S.Configured).length,
    (count) => count > 0,
  );
  const before = await until(
    'a quiet fleet',
    () => machinesOf(shard),
    (text) => !/Configuring|Creating|Draining/.test(text),
  );
  const zone = ZONES.find((name) => before !== '' && name.endsWith('b'))!;

  const told = await ask(shard, '--without', `zone=${zone}`);
  expect(told.code, told.text).toBe(0);
  expect(told.text).toContain(`What if: without zone ${zone}`);
  expect(told.text).toMatch(/Settles within .* of virtual time, in \d+ cycles?\./);
  expect(told.text).toMatch(/Unmet needs: \d+ now, \d+ after\./);

  const json = await ask(shard, '--demand', 'prod-*=100', '--set', 'reclaim-cap-fraction=0.5', '--json');
  expect(json.code, json.text).toBe(0);
  const answer = JSON.parse(json.text) as WhatIfAnswer;
  expect(answer).toMatchObject({ isAtRest: true, machinesGone: 0 });
  const [cluster] = answer.clusters;
  expect(cluster).toMatchObject({ clusterId: 'prod-eu-1' });
  expect(cluster!.machinesAfter).toBeGreaterThan(cluster!.machinesBefore);
  expect(answer.usdPerHourAfter).toBeGreaterThan(answer.usdPerHourBefore);

  const file = join(processes.folder(), 'rollup.json');
  writeFileSync(file, JSON.stringify({ cluster: 'prod-eu-2', needs: [{ aggregate: { cpu: '100' } }] }));
  const dataDir = ['--data-dir', folder, '--json'];
  const other = await ask(shard, '--rollup', file, '--without', `zone=${zone}`, ...dataDir);
  expect(other.code, other.text).toBe(0);
  const bound = (JSON.parse(other.text) as WhatIfAnswer).clusters.find(
    (one) => one.clusterId === 'prod-eu-2',
  );
  expect(bound!.machinesAfter).toBeGreaterThan(0);
  const refused = await ask(shard, '--rollup', file, '--without', 'zone=nowhere', ...dataDir);
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('There is no zone "nowhere".') });

  const wrong = await ask(shard, '--without', 'zone=eu-north-9z');
  expect(wrong.code).toBe(1);
  expect(wrong.text).toMatch(
    /There is no zone "eu-north-9z"\. The shard calculated nothing\. There are .*eu-north-1a/,
  );
  const empty = await ask(shard);
  expect(empty.text).toContain('The question changes nothing.');
  expect(await machinesOf(shard)).toBe(before);

  const url = new URL(`/api/v1/what-if?without=zone%3D${zone}`, shard.http);
  const both = await Promise.all([fetch(url), fetch(url)]);
  const texts = await Promise.all(both.map((response) => response.text()));
  expect(both.map(({ status }) => status).sort(), texts.join('\n')).toEqual([200, 409]);
  expect(texts[both.findIndex(({ status }) => status === 409)]).toContain('answers one at a time');
});
