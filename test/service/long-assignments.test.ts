/**
 * T4 on real processes: a need with a fingerprint of 50 KB has 300 machines at a provider over gRPC. The shard is killed and
 * started again, and all that it knows of the machines is what the provider stores.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { ASSIGNMENT_KEYS } from '../../src/machine/assignment-keys.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { fingerprintOf, Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { ProviderClient } from '../../src/provider/client/client.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import { systemTimers } from '../../src/simulation/provider/timers.ts';
import { writtenAs } from '../oracle/assigned-text.ts';
import { listBatch } from '../provider/list-batch.ts';
import { KIND, seed } from '../simulation/provider/fixture.ts';
import { metric, Processes, type ShardProgram, until } from './processes.ts';

const TIMEOUT_MS = 120_000;
const MACHINES = 300;
const GROUP = `team/${'g'.repeat(1_000)}`;
const FLAGS = ['--cycle-interval', '500ms', '--reclaim-cap-fraction', '0', '--empty-rollup-guard=false'];

/** Excludes no machine. */
const NEED: RollupRow = {
  requirements: [
    {
      key: 'example.com/revision',
      operator: Operator.NotIn,
      values: Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(1_000, 'v')),
    },
  ],
  aggregate: { cpu: `${3_900 * MACHINES}m` },
  minUnit: { cpu: '3900m' },
  priority: 1_000,
  spread: [],
  interruptionBucket: 1,
  reclamationBucket: 1,
  group: GROUP,
};
const FINGERPRINT = fingerprintOf({ ...NEED, interruptionPenalty: 1, reclamationPenalty: 1 });
const ID = (index: number) => `m-${String(index).padStart(4, '0')}`;

let processes = new Processes();
const closers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await processes.end();
  processes = new Processes();
});

async function serve(provider: SimulatedProvider): Promise<string> {
  const served = await serveProvider(provider, '127.0.0.1:0', { closeGraceMs: 50 });
  closers.push(() => served.close());
  return served.address;
}

async function report(shard: ShardProgram): Promise<void> {
  const operator = new SimulatedOperator({ address: shard.address, clusterId: 'blue' });
  closers.push(() => operator.close());
  operator.setDemand([NEED]);
  await operator.connect();
}

/** The texts on bound machines, and how many machines have them. */
function written(provider: SimulatedProvider): Record<string, number> {
  const listed = provider.list();
  if (listed.kind !== 'ok') throw new Error('the provider does not answer');
  const counts: Record<string, number> = {};
  for (const { state, shardMetadata } of listed.value.machines) {
    if (state !== S.Configured) continue;
    const texts = `${shardMetadata![ASSIGNMENT_KEYS.fingerprint]} ${shardMetadata![ASSIGNMENT_KEYS.group]}`;
    counts[texts] = (counts[texts] ?? 0) + 1;
  }
  return counts;
}

const calls = (provider: SimulatedProvider, event: string) =>
  [...provider.ledger.entries()].filter((entry) => entry.event === event && entry.result === 'started')
    .length;

/** The need as the shard's API shows it, once it has machines. */
async function servedNeed(shard: ShardProgram) {
  const found = await until(
    'the need with all its machines',
    async () => (await (await fetch(`${shard.http}api/v1/needs?cluster=blue`)).json()) as { needs: Need[] },
    ({ needs }) => needs[0]?.claimed === MACHINES,
  );
  expect(found.needs).toHaveLength(1);
  return found.needs[0]!;
}

interface Need {
  readonly claimed: number;
  readonly satisfied: boolean;
  readonly fingerprint: string;
  readonly group: string;
}

async function listingBytes(address: string): Promise<number> {
  const client = new ProviderClient({ name: 'truth', address }, FencingTokens.create('truth', 1));
  closers.push(() => client.close());
  return (await listBatch(client)).bytes.length;
}

/** Long enough for a few ordinary cycles, which would reclaim what they do not credit. */
async function cycles(shard: ShardProgram): Promise<void> {
  const counted = async () =>
    Object.values(await metric(shard.http, 'flotilla_cycles_total')).reduce((a, b) => a + b, 0);
  const before = await counted();
  await until('six more cycles', counted, (count) => count >= before + 6);
}

const DIGESTS = `${writtenAs('fingerprint', FINGERPRINT)} ${writtenAs('group', GROUP)}`;

describe('T4: 300 machines of a need with a fingerprint of 50 KB', { timeout: TIMEOUT_MS }, () => {
  it('T4: the listing stays small, and a restarted shard credits every machine', async () => {
    const provider = new SimulatedProvider({ settings: {}, timers: systemTimers });
    for (let index = 0; index < MACHINES + 20; index++) provider.add(seed(ID(index), { state: S.Idle }));
    const address = await serve(provider);
    const dataDir = ['--data-dir', processes.folder()];
    const first = await processes.shard(address, ...FLAGS, ...dataDir);
    await report(first);
    await until(
      'all machines bound',
      () => written(provider),
      (texts) => texts[DIGESTS] === MACHINES,
    );
    expect(Object.keys(written(provider))).toEqual([DIGESTS]);
    first.program.child.kill('SIGKILL');
    await first.program.exited;
    const bound = calls(provider, 'configure');

    const again = await processes.shard(address, ...FLAGS, ...dataDir);
    await report(again);
    const need = await servedNeed(again);
    expect(need).toMatchObject({ satisfied: true, fingerprint: FINGERPRINT, group: GROUP });
    await cycles(again);
    expect([calls(provider, 'configure'), calls(provider, 'drain')]).toEqual([bound, 0]);
    expect(await listingBytes(address)).toBeLessThan((MACHINES + 20) * 1_024);
    // What people see of a machine is the need itself, not a digest.
    const shown = await (await fetch(`${again.http}api/v1/machines/${ID(0)}`)).json();
    expect(JSON.stringify(shown)).toContain(GROUP);
  });

  it('T4: machines that carry the full texts from before are credited, and keep them', async () => {
    const provider = new SimulatedProvider({ settings: {}, timers: systemTimers });
    const shardMetadata = {
      [ASSIGNMENT_KEYS.priority]: '1000',
      [ASSIGNMENT_KEYS.interruptionPenalty]: '0',
      [ASSIGNMENT_KEYS.reclamationPenalty]: '0',
      [ASSIGNMENT_KEYS.fingerprint]: FINGERPRINT,
      [ASSIGNMENT_KEYS.group]: GROUP,
    };
    for (let index = 0; index < MACHINES + 20; index++) {
      const isBound = index < MACHINES - 1;
      const binding = isBound ? { state: S.Configured, cluster: 'blue', shardMetadata } : { state: S.Idle };
      provider.add(seed(ID(index), { kind: KIND, ...binding }));
    }
    const shard = await processes.shard(await serve(provider), ...FLAGS);
    await report(shard);
    expect(await servedNeed(shard)).toMatchObject({ satisfied: true, fingerprint: FINGERPRINT });
    await cycles(shard);
    expect(calls(provider, 'drain')).toBe(0);
    expect(written(provider)).toEqual({ [`${FINGERPRINT} ${GROUP}`]: MACHINES - 1, [DIGESTS]: 1 });
  });
});
