/** "Why did this cluster lose a node?", asked with one command: also after a kill and a restart. Real processes throughout. */
import { afterEach, expect, it } from 'vitest';
import type { ApiEvents } from '../../src/dashboard/api/types.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { metric, Processes, type ShardProgram, until } from './processes.ts';

const TIMEOUT_MS = 180_000;
const FAST = ['--cycle-interval', '500ms', '--preemption-cap-fraction', '0', '--empty-rollup-guard=false'];

let processes = new Processes();
const operators: SimulatedOperator[] = [];
afterEach(async () => {
  for (const operator of operators.splice(0)) await operator.close();
  await processes.end();
  processes = new Processes();
});

function rows(count: number, priority: number, group: string): RollupRow[] {
  return Array.from({ length: count }, (_, index) => ({
    requirements: [],
    aggregate: { cpu: '1' },
    minUnit: { cpu: '1' },
    priority,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `${group}-${index}`,
  }));
}

async function connect(
  shard: ShardProgram,
  clusterId: string,
  demand: RollupRow[],
): Promise<SimulatedOperator> {
  const operator = new SimulatedOperator({ address: shard.address, clusterId });
  operators.push(operator);
  await operator.connect();
  operator.setDemand(demand);
  return operator;
}

const nodesOf = (operator: SimulatedOperator) =>
  [...operator.nodes.values()].filter(({ state }) => state === S.Configured).length;

async function history(shard: ShardProgram, ...words: string[]) {
  const program = processes.start('history', ...words, '--api', shard.http);
  const code = await program.exited;
  return { code, lines: program.output };
}

it('Y1: one command tells why a cluster lost a node, also after a kill and a restart', {
  timeout: TIMEOUT_MS,
}, async () => {
  const provider = await processes.provider('--machines', '4', '--idle', '1');
  const flags = [...FAST, '--data-dir', processes.folder()];
  const shard = await processes.shard(provider.address, ...flags);
  const low = await connect(shard, 'low', rows(4, 100, 'batch'));
  await until(
    'everything bound',
    () => nodesOf(low),
    (count) => count === 4,
  );
  const high = await connect(shard, 'high', rows(1, 1_000_000, 'live'));
  await until(
    'one preempted',
    () => nodesOf(high),
    (count) => count === 1,
  );
  const asked = await history(shard, 'cluster', 'low', '--since', '1h');
  expect(asked.code).toBe(0);
  const reason =
    /Cluster low loses (\S+) .*: preempted for need live-0 of cluster high, priority 1000000\..*\(epoch 1, cycle \d+\)/;
  const told = asked.lines.flatMap((line) => reason.exec(line)?.[1] ?? []);
  expect(told, asked.lines.join('\n')).toHaveLength(1);
  await until(
    'written',
    () => metric(shard.http, 'flotilla_history_bytes'),
    (bytes) => bytes['']! > 0,
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // a kill loses the last second at most
  shard.program.child.kill('SIGKILL');
  await shard.program.exited;

  const again = await processes.shard(provider.address, ...flags);
  const later = await until(
    'the history of the machine',
    () => history(again, 'machine', told[0]!, '--json'),
    ({ code }) => code === 0,
  );
  const answer = JSON.parse(later.lines[0]!) as ApiEvents;
  const life = answer.events.map(({ kind, clusterId, epoch }) => `${kind} ${clusterId} ${epoch}`);
  expect(life.slice(0, 6)).toEqual([
    'bind_started low 1',
    'bound low 1',
    'preempted low 1',
    'unbound low 1',
    'bind_started high 1',
    'bound high 1',
  ]);
  expect(answer.gaps).toHaveLength(1);
  expect(answer.wholeSinceAtMs).toBeGreaterThan(answer.events[5]!.atMs);
  const starts = await history(again, '--kind', 'shard_started');
  expect(starts.lines.filter((line) => line.includes('The shard started with epoch'))).toHaveLength(2);
  const none = await history(again, 'machine', 'no-such-machine');
  expect(none.code).toBe(3);
  expect(none.lines.join('\n')).toContain('No event matches.');
  const wrong = await history(again, 'cluster', 'low', '--since', 'yesterday');
  expect(wrong.code).toBe(2);
  expect(wrong.lines.join('\n')).toContain('--since is "yesterday"');
});
