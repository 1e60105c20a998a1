import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MachineState } from '../../../src/machine/state.ts';
import type { RollupRow } from '../../../src/needs/rollup.ts';
import { SessionEndedError } from '../../../src/operator-kit/errors.ts';
import {
  SimulatedOperator,
  type SimulatedOperatorOptions,
} from '../../../src/simulation/operators/operator.ts';
import { WaitedTooLongError } from '../../../src/simulation/operators/settings.ts';
import { UnusableTlsFileError } from '../../../src/tls/files.ts';
import { issue, makeAuthority } from '../../tls/certificates.ts';
import { ScriptedShard, type ScriptedShardSettings } from './scripted-shard.ts';

const S = MachineState;
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function shardOf(settings: ScriptedShardSettings = {}): Promise<ScriptedShard> {
  const shard = await new ScriptedShard(settings).listen();
  closing.push(() => shard.close());
  return shard;
}

/** Roll-ups only on request, and fast reconnects. */
function operatorOf(
  address: string,
  clusterId: string,
  options: Partial<SimulatedOperatorOptions> = {},
): SimulatedOperator {
  const operator = new SimulatedOperator({
    address,
    clusterId,
    ...options,
    behaviour: { rollupIntervalMs: 0, ...options.behaviour },
    reconnect: { initialMs: 5, maxMs: 100, ...options.reconnect },
  });
  closing.push(() => operator.close());
  return operator;
}

function row(group: string, cores: number, priority = 100): RollupRow {
  return {
    requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 1, values: ['small-4'] }],
    aggregate: { cpu: String(cores), memory: '1Gi' },
    minUnit: { cpu: '500m' },
    priority,
    spread: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 2 }],
    interruptionBucket: 4,
    reclamationBucket: 27,
    group,
  };
}

async function pair(settings: ScriptedShardSettings = {}, options: Partial<SimulatedOperatorOptions> = {}) {
  const shard = await shardOf(settings);
  const operator = operatorOf(shard.address, 'blue', options);
  await operator.connect();
  return { shard, operator, session: shard.session('blue') };
}

describe('a simulated operator', () => {
  it('O1: sends Hello first, with its cluster and the protocol, and is connected when the shard acks it', async () => {
    const { operator, session } = await pair();
    expect(operator.isConnected).toBe(true);
    expect(operator.shardEpoch).toBe(7);
    expect(session.received[0]?.hello).toEqual({ clusterId: 'blue', protocolVersion: 'v1alpha1' });
  });

  it('N1: sends its whole demand as one roll-up with every field', async () => {
    const { operator, session } = await pair();
    const first = row('', 16);
    operator.setDemand([first, row('gang', 8, -5)]);
    await operator.waitFor('an ack', () => operator.counters.rollupsAcked === 1);
    const { rollup } = session.last('rollup')!;
    expect(rollup?.clusterId).toBe('blue');
    expect(Math.abs(rollup!.timestampUnixNanos / 1e6 - Date.now())).toBeLessThan(120_000);
    expect(rollup?.needs).toEqual([
      {
        requirements: first.requirements,
        aggregateResources: first.aggregate,
        minUnit: first.minUnit,
        priority: 100,
        spread: first.spread,
        interruptionPenaltyBucket: 4,
        reclamationPenaltyBucket: 27,
        group: '',
      },
      expect.objectContaining({
        group: 'gang',
        priority: -5,
        aggregateResources: { cpu: '8', memory: '1Gi' },
      }),
    ]);
    operator.setDemand([]);
    await operator.waitFor('an ack', () => operator.counters.rollupsAcked === 2);
    expect(session.last('rollup')?.rollup?.needs).toEqual([]);
  });

  it('N1: repeats its demand at every interval', async () => {
    const { operator, session } = await pair({}, { behaviour: { rollupIntervalMs: 20 } });
    operator.setDemand([row('', 4)]);
    await operator.waitFor('roll-ups', () => operator.counters.rollupsAcked >= 5);
    expect(session.last('rollup')?.rollup?.needs).toHaveLength(1);
  });

  it('keeps the newest update of every machine, with all fields', async () => {
    const { operator, session } = await pair();
    session.announce('m-1', S.Configuring);
    session.announce('m-2', S.Configured);
    session.announce('m-1', S.Configured);
    session.announce('m-2', S.Failed, 'small-4', 'lost power');
    const failed = await operator.waitForNode(({ state }) => state === S.Failed);
    expect(failed).toMatchObject({ machineId: 'm-2', lastError: 'lost power', providerId: 'scripted/m-2' });
    expect(failed.labels['node.kubernetes.io/instance-type']).toBe('small-4');
    expect(failed.resources?.resources).toEqual({ cpu: '4' });
    expect(operator.nodesIn(S.Configured).map(({ machineId }) => machineId)).toEqual(['m-1']);
    expect(operator.nodeHistory.map(({ machineId, state }) => [machineId, state])).toEqual([
      ['m-1', S.Configuring],
      ['m-2', S.Configured],
      ['m-1', S.Configured],
      ['m-2', S.Failed],
    ]);
  });

  it('keeps the newest hint of every profile', async () => {
    const { operator, session } = await pair();
    for (const availableCount of [3, 4]) {
      session.send({ availableCapacity: { supersedesKey: 'available:x', availableCount, confidence: 4 } });
    }
    await operator.waitFor('hints', () => operator.counters.capacityUpdates === 2);
    expect(operator.capacityHints.get('available:x')).toMatchObject({ availableCount: 4, confidence: 4 });
  });

  it('names what it saw when a wait times out', async () => {
    const { operator, session } = await pair();
    session.announce('m-1', S.Draining);
    await operator.waitForNode(({ machineId }) => machineId === 'm-1');
    const waited = operator.waitForNode(({ state }) => state === S.Configured, 20);
    await expect(waited).rejects.toThrow(WaitedTooLongError);
    await expect(waited).rejects.toThrow(/blue waited 20 ms for a node.*1 nodes in state 6/);
  });

  it('acks a reclaim with the number of nodes that it knows', async () => {
    const { operator, session } = await pair();
    session.announce('m-1', S.Configured);
    session.send({
      reclaimInstruction: { instructionId: 'i-1', nodes: ['m-1', 'ghost'], preemptorPriority: 9 },
    });
    await expect
      .poll(() => session.last('reclaimAck')?.reclaimAck)
      .toEqual({
        instructionId: 'i-1',
        nodesStarted: 1,
      });
    expect(operator.counters).toMatchObject({ reclaimInstructions: 1, preemptions: 1 });
  });

  it('counts a malformed frame and continues', async () => {
    const { operator, session } = await pair();
    session.send({});
    session.announce('m-1', S.Configured);
    await operator.waitForNode(({ state }) => state === S.Configured);
    expect(operator.counters.malformedFrames).toBe(1);
  });
});

describe('answers to bootstrap requests', () => {
  it('carry a blob of the cluster and its time to live', async () => {
    const { operator, session } = await pair({}, { behaviour: { blobBytes: 2_000, blobTtlSeconds: 60 } });
    session.askForBlob('r-1');
    await expect.poll(() => session.count('bootstrapResponse')).toBe(1);
    const { requestId, userData, ttlSeconds, error } = session.last('bootstrapResponse')!.bootstrapResponse!;
    expect({ requestId, ttlSeconds, error }).toEqual({ requestId: 'r-1', ttlSeconds: 60, error: '' });
    expect(userData).toHaveLength(2_000);
    expect(Buffer.from(userData).toString()).toContain('joins blue');
    expect(operator.bootstrapRequests[0]?.requirements[0]?.values).toEqual(['small-4']);
  });

  it('can be an error, missing, repeated or late, request by request', async () => {
    const { operator, session } = await pair();
    const troubles: Record<string, { delayMs: number; times: number; error: string }> = {
      error: { delayMs: 0, times: 1, error: 'no token' },
      silence: { delayMs: 0, times: 0, error: '' },
      twice: { delayMs: 0, times: 2, error: '' },
      late: { delayMs: 30, times: 1, error: '' },
    };
    operator.behave({ answerBootstrap: ({ requestId }) => troubles[requestId]! });
    for (const requestId of ['late', 'silence', 'error', 'twice']) session.askForBlob(requestId);
    await expect.poll(() => session.count('bootstrapResponse')).toBe(4);
    const answers = session.received.flatMap(({ bootstrapResponse }) => bootstrapResponse ?? []);
    expect(answers.map(({ requestId, error }) => [requestId, error])).toEqual([
      ['error', 'no token'],
      ['twice', ''],
      ['twice', ''],
      ['late', ''],
    ]);
    expect(operator.counters).toMatchObject({
      bootstrapRequests: 4,
      bootstrapAnswers: 2,
      bootstrapErrors: 1,
      bootstrapSilences: 1,
    });
  });

  it('follow the configured probabilities', async () => {
    const { operator, session } = await pair();
    operator.behave({ bootstrapSilenceProbability: 1 });
    session.askForBlob('r-1');
    await operator.waitFor('silence', () => operator.counters.bootstrapSilences === 1);
    operator.behave({ bootstrapSilenceProbability: 0, bootstrapErrorProbability: 1 });
    session.askForBlob('r-2');
    await expect.poll(() => session.last('bootstrapResponse')?.bootstrapResponse?.error).toMatch(/token/);
  });

  it('X5: are sent only on the session that asked', async () => {
    const { shard, operator, session } = await pair();
    operator.behave({ bootstrapDelayMs: { min: 50, max: 50 } });
    session.askForBlob('r-1');
    await operator.waitFor('the request', () => operator.counters.bootstrapRequests === 1);
    operator.breakOff();
    await expect.poll(() => shard.all.length).toBe(2);
    await operator.connect();
    shard.session('blue').askForBlob('r-2');
    await expect.poll(() => shard.session('blue').count('bootstrapResponse')).toBe(1);
    expect(shard.session('blue').last('bootstrapResponse')?.bootstrapResponse?.requestId).toBe('r-2');
    expect(operator.counters.bootstrapAnswers).toBe(1);
  });
});

describe('a session that ends', () => {
  it('is opened again, with Hello and the demand, and keeps its nodes', async () => {
    const { shard, operator, session } = await pair({}, { behaviour: { rollupIntervalMs: 60_000 } });
    operator.setDemand([row('', 4)]);
    session.announce('m-1', S.Configured);
    await operator.waitForNode(({ state }) => state === S.Configured);
    session.end(status.UNAVAILABLE, 'the shard is going down');
    await expect.poll(() => shard.all[1]?.count('rollup')).toBe(1);
    expect(shard.all[1]!.last('rollup')?.rollup?.needs).toHaveLength(1);
    expect(operator.endings[0]).toEqual({ status: status.UNAVAILABLE, details: 'the shard is going down' });
    expect(operator.nodes.size).toBe(1);
    expect(operator.counters.sessionsOpened).toBe(2);
  });

  it('is opened again when the shard restarts at the same address', async () => {
    const { shard, operator } = await pair();
    const port = Number(shard.address.split(':')[1]);
    shard.close();
    await operator.waitFor('an ending', () => operator.endings.length >= 2);
    const again = await shardOf({ port });
    await operator.connect();
    expect(again.session('blue').count('hello')).toBe(1);
  });

  it('O2: learns that it was replaced, and stays closed if reconnecting is off', async () => {
    const { shard, operator } = await pair({}, { reconnect: { isEnabled: false } });
    const second = operatorOf(shard.address, 'blue');
    await second.connect();
    await operator.waitFor('an ending', () => operator.endings.length === 1);
    expect(operator.endings[0]).toMatchObject({ status: status.ABORTED });
    expect(operator.isConnected).toBe(false);
    expect(second.isConnected).toBe(true);
  });

  it('O1: is refused if its first frame is not Hello, and connect names the status', async () => {
    const shard = await shardOf();
    const operator = operatorOf(shard.address, 'blue', { firstFrame: null, reconnect: { isEnabled: false } });
    const connected = operator.connect();
    operator.send({ rollup: { clusterId: 'blue' } });
    await expect(connected).rejects.toThrow(SessionEndedError);
    await expect(connected).rejects.toMatchObject({ status: status.INVALID_ARGUMENT });
  });

  it('is cancelled if the shard never acks Hello', async () => {
    const shard = await shardOf({ greets: false });
    const operator = operatorOf(shard.address, 'blue', {
      reconnect: { isEnabled: false, helloTimeoutMs: 50 },
    });
    await expect(operator.connect()).rejects.toMatchObject({ status: status.CANCELLED });
  });

  it('closes even if the shard reads nothing', async () => {
    const { operator, session } = await pair();
    session.call.pause();
    await operator.close();
    expect(operator.isConnected).toBe(false);
  });
});

describe('a slow session', () => {
  it('O6: receives nothing while reading is paused and everything afterwards', async () => {
    const { operator, session } = await pair();
    operator.pauseReading();
    for (let machine = 0; machine < 50; machine++) session.announce(`m-${machine}`, S.Configured);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(operator.nodes.size).toBe(0);
    operator.resumeReading();
    await operator.waitFor('the nodes', () => operator.nodes.size === 50);
  });

  it('N1: sends only the latest demand if the shard has not read the earlier ones', async () => {
    const { operator, session } = await pair();
    session.call.pause();
    const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`g-${index}`, 4));
    for (let count = 3_000; count <= 3_050; count++) {
      operator.setDemand(rows(count));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(operator.counters.rollupsHeldBack).toBeGreaterThan(0);
    expect(operator.counters.rollupsSent).toBeLessThan(51);
    session.call.resume();
    await expect.poll(() => session.last('rollup')?.rollup?.needs.length).toBe(3_050);
  });
});

describe('a session over mutual TLS', () => {
  const authority = makeAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-operators-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const client = issue(authority, { uri: ['bigfleet://cluster/blue'] });
  const files = { 'ca.pem': authority.pem, 'blue.pem': client.certificate, 'blue.key': client.privateKey };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const tls = {
    certificatePath: join(folder, '{cluster}.pem'),
    privateKeyPath: join(folder, '{cluster}.key'),
    caPath: join(folder, 'ca.pem'),
  };

  it('uses the files of its cluster', async () => {
    const server = issue(authority, { ip: ['127.0.0.1'] });
    const pairOfShard = {
      cert_chain: Buffer.from(server.certificate),
      private_key: Buffer.from(server.privateKey),
    };
    const shard = await shardOf({
      credentials: ServerCredentials.createSsl(Buffer.from(authority.pem), [pairOfShard], true),
    });
    const operator = operatorOf(shard.address, 'blue', { tls });
    await operator.connect();
    expect(shard.session('blue').count('hello')).toBe(1);
  });

  it('names the files that it could not use', async () => {
    const operator = operatorOf('127.0.0.1:1', 'green', { tls });
    await expect(operator.connect()).rejects.toThrow(UnusableTlsFileError);
    await expect(operator.connect()).rejects.toThrow('green.pem');
  });
});
