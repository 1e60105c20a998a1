import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { RollupRejectedError } from '../../src/needs/rollup.ts';
import { ClusterOperator } from '../../src/operator-kit/cluster-operator.ts';
import {
  HandlerFailedError,
  OperatorClosedError,
  RollupUnacknowledgedError,
  SessionEndedError,
} from '../../src/operator-kit/errors.ts';
import type { Node } from '../../src/operator-kit/options.ts';
import { BLOB_BYTES_MAX } from '../../src/session/limits.ts';
import { startRig } from '../session/rig.ts';
import { gate, machine, need, operatorOf } from './stage.ts';

const S = MachineState;
const ASK = {
  clusterId: 'blue',
  requirements: [{ key: 'zone', operator: 1, values: ['a'] }],
  timeoutMs: 60_000,
};

describe('the needs of an operator', () => {
  it('N1: replace each other, and are acknowledged', async () => {
    const { shard, server } = await startRig();
    const { operator, sessions } = operatorOf(server.address);
    operator.setNeeds([need('a'), need('b')]);
    await operator.start();
    expect(operator.isConnected).toBe(true);
    expect(sessions).toEqual([{ shardEpoch: 7, coordinatorTerm: 0 }]);
    await operator.acknowledged();
    expect(shard.groupsOf('blue')).toEqual(['a', 'b']);
    operator.setNeeds([need('c')]);
    await operator.acknowledged();
    expect(shard.groupsOf('blue')).toEqual(['c']);
  });

  it('are not sent before the first call: an empty roll-up would drain the cluster', async () => {
    const { server } = await startRig();
    const { operator } = operatorOf(server.address, { rollup: { intervalMs: 1 } });
    await operator.start();
    await server.requestBlob(ASK); // frames that came before the answer were read
    expect(server.counters.framesIn.rollup).toBe(0);
  });

  it('N7: are repeated without being changed, so a drop that the shard quarantined is confirmed', async () => {
    const { shard, server } = await startRig();
    const { operator } = operatorOf(server.address, { rollup: { intervalMs: 10 } });
    operator.setNeeds(Array.from({ length: 20 }, (_, index) => need(`g-${index}`)));
    await operator.start();
    await operator.acknowledged();
    operator.setNeeds([need('last')]);
    await expect.poll(() => shard.groupsOf('blue')).toEqual(['last']);
  });

  it('that change often are sent at the pace, and the newest are sent last', async () => {
    const { shard, server } = await startRig();
    const { operator } = operatorOf(server.address, { rollup: { paceMs: 100 } });
    await operator.start();
    const startedMs = performance.now();
    for (let version = 0; version <= 200; version++) {
      operator.setNeeds([need(`v-${version}`)]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await operator.acknowledged();
    expect(shard.groupsOf('blue')).toEqual(['v-200']);
    const paces = (performance.now() - startedMs) / 100;
    expect(server.counters.framesIn.rollup).toBeLessThanOrEqual(Math.ceil(paces) + 1);
  });

  it('V2: that are not valid are refused before they are sent, by field, and the ones before stay', async () => {
    const { shard, server } = await startRig();
    const { operator } = operatorOf(server.address);
    operator.setNeeds([need('good')]);
    await operator.start();
    const bad = [need('x'), { ...need('y'), minUnit: { cpu: 'much' } }];
    expect(() => operator.setNeeds(bad)).toThrow(RollupRejectedError);
    expect(() => operator.setNeeds(bad)).toThrow(/needs\[1\]\.min_unit\["cpu"\]/);
    const values = Array.from({ length: 80 }, (_, index) => `${index}`.padEnd(1_000, 'v'));
    const wide = { ...need('w'), requirements: [{ key: 'k', operator: 1, values }] };
    expect(() => operator.setNeeds([wide])).toThrow(/a row of \d+ bytes; the limit is 65536/);
    await operator.acknowledged();
    expect(shard.groupsOf('blue')).toEqual(['good']);
    expect(shard.rejections).toEqual([]);
  });

  it('V2: that only the shard can refuse are reported when no ack comes, and acked once they are corrected', async () => {
    const { shard, server } = await startRig();
    const { operator, errors } = operatorOf(server.address, { rollup: { ackTimeoutMs: 20 } });
    // T6: more names that no machine has than one cluster may use.
    const names = Array.from({ length: 20 }, (_, index) => [`invented.example/r-${index}`, '1']);
    operator.setNeeds([{ aggregate: Object.fromEntries(names) }]);
    await operator.start();
    await expect.poll(() => errors[0]).toBeInstanceOf(RollupUnacknowledgedError);
    expect(errors[0]!.message).toContain('with 1 rows within 20 ms');
    expect(shard.rejectedOf('blue')).toBeGreaterThan(0);
    operator.setNeeds([need('good')]);
    await operator.acknowledged();
    await expect.poll(() => shard.groupsOf('blue')).toEqual(['good']);
  });
});

describe('a session', () => {
  it('is opened again when the shard restarts, with Hello and the needs, and nodes are resynced', async () => {
    const before = await startRig();
    before.shard.put(machine('m-1', S.Configured));
    const { operator, endings, sessions, nodes } = operatorOf(before.server.address);
    operator.setNeeds([need('a')]);
    await operator.start();
    await operator.acknowledged();
    await expect.poll(() => nodes.length).toBe(1);
    await before.server.close();
    await expect.poll(() => endings.length).toBeGreaterThan(0);
    expect(endings[0]).toBeInstanceOf(SessionEndedError);
    expect(endings[0]!.message).toMatch(/cluster blue ended with .* connects again in \d+ ms/);
    operator.setNeeds([need('b')]); // changed while the shard is away

    const after = await startRig({ listen: before.server.address });
    after.shard.put(machine('m-1', S.Draining));
    await operator.acknowledged();
    expect(after.shard.groupsOf('blue')).toEqual(['b']);
    expect(sessions).toHaveLength(2);
    await expect.poll(() => operator.nodes.get('m-1')?.state).toBe(S.Draining);
  });

  it('O2: that another operator of the cluster replaces is reported with the status', async () => {
    const { server } = await startRig();
    const first = operatorOf(server.address);
    await first.operator.start();
    const second = operatorOf(server.address);
    await second.operator.start();
    await expect.poll(() => first.endings[0]).toMatchObject({ status: status.ABORTED });
    await first.operator.close();
  });

  it('that cannot be opened is tried again until there is a shard', async () => {
    const before = await startRig();
    const { address } = before.server;
    await before.server.close();
    const { operator, endings } = operatorOf(address);
    const started = operator.start();
    await expect.poll(() => endings.length).toBeGreaterThan(1);
    expect(endings[0]).toMatchObject({ code: 'session_ended', status: status.UNAVAILABLE });
    await startRig({ listen: address });
    await started;
    expect(operator.isConnected).toBe(true);
  });
});

describe('a bootstrap request', () => {
  it('X5: is answered with the blob that the handler returns', async () => {
    const { server } = await startRig();
    const { operator, requests } = operatorOf(server.address, {
      bootstrap: async () => ({ userData: Buffer.from('#cloud-config'), ttlSeconds: 90 }),
    });
    await operator.start();
    expect(await server.requestBlob(ASK)).toMatchObject({ kind: 'blob', ttlSeconds: 90 });
    expect(requests[0]?.requirements).toEqual(ASK.requirements);
  });

  it('X5: is answered with an error if the handler throws or the blob is too large', async () => {
    const { server } = await startRig();
    const { operator, errors, requests } = operatorOf(server.address, {
      bootstrap: async () => {
        if (requests.length === 1) throw new Error('no token left');
        return 'x'.repeat(BLOB_BYTES_MAX + 1);
      },
    });
    await operator.start();
    expect(await server.requestBlob(ASK)).toEqual({ kind: 'error', text: 'no token left' });
    expect(await server.requestBlob(ASK)).toEqual({
      kind: 'error',
      text: expect.stringContaining('the limit is 4194304'),
    });
    expect(errors).toHaveLength(2);
    expect(errors[0]).toBeInstanceOf(HandlerFailedError);
    expect(errors[0]).toMatchObject({ handler: 'bootstrap', cause: { message: 'no token left' } });
  });

  it('X5: of a session that ended is aborted, and its answer is not sent on the next one', async () => {
    const { server } = await startRig();
    const held = gate();
    const { operator, requests, sessions, errors } = operatorOf(server.address, {
      bootstrap: async () => {
        if (requests.length === 1) await held.opened;
        return 'blob';
      },
    });
    await operator.start();
    const lost = server.requestBlob(ASK);
    await expect.poll(() => requests.length).toBe(1);
    const other = operatorOf(server.address); // replaces the session
    await other.operator.start();
    await other.operator.close();
    expect(await lost).toEqual({ kind: 'no_session' });
    await expect.poll(() => sessions.length).toBe(2);
    expect(requests[0]!.signal.aborted).toBe(true);
    held.open();
    expect(await server.requestBlob(ASK)).toMatchObject({ kind: 'blob' });
    expect(server.counters.answersIgnored).toBe(0);
    expect(errors).toEqual([]);
  });
});

describe('a reclaim', () => {
  it('X6: calls the handler with the nodes and the grace, and is acked when the drain has begun', async () => {
    const { server } = await startRig();
    const begun = gate();
    const { operator, reclaims } = operatorOf(server.address, { onReclaim: () => begun.opened });
    await operator.start();
    const reclaim = { nodes: ['m-1', 'm-2'], graceSeconds: 600, preemptorPriority: 9 };
    expect(server.instructReclaim('blue', { instructionId: 'i-1', ...reclaim })).toBe(true);
    await expect.poll(() => reclaims).toEqual([{ instructionId: 'i-1', ...reclaim }]);
    await server.requestBlob(ASK); // what was written before has been read
    expect(server.counters.framesIn.reclaim_ack).toBe(0);
    begun.open();
    await expect.poll(() => server.counters.framesIn.reclaim_ack).toBe(1);
  });

  it('is acked and reported if the handler throws', async () => {
    const { server } = await startRig();
    const { operator, errors } = operatorOf(server.address, {
      onReclaim: () => {
        throw new Error('no access');
      },
    });
    await operator.start();
    server.instructReclaim('blue', {
      instructionId: 'i-1',
      nodes: ['m-1'],
      graceSeconds: 10,
      preemptorPriority: 0,
    });
    await expect.poll(() => server.counters.framesIn.reclaim_ack).toBe(1);
    expect(errors[0]?.message).toMatch(/onReclaim failed for m-1: no access\. .* in 10 s all the same/);
  });
});

describe('node states', () => {
  it('O3: reach the handler with what the shard knows of the machine, and leave with it', async () => {
    const { shard, server } = await startRig();
    const { operator, nodes } = operatorOf(server.address);
    await operator.start();
    shard.put(machine('m-1', S.Configured));
    await expect
      .poll(() => nodes[0])
      .toMatchObject({
        ...{
          machineId: 'm-1',
          nodeName: 'm-1',
          providerId: 'host-of-m-1',
          state: S.Configured,
          hasLeft: false,
        },
        labels: { pool: 'general', 'topology.kubernetes.io/zone': 'zone-a' },
        resources: { cpu: '16' },
      });
    expect(operator.nodes.size).toBe(1);
    shard.put(machine('m-1', S.Idle, ''));
    await expect.poll(() => nodes.at(-1)).toMatchObject({ state: S.Idle, hasLeft: true });
    expect(operator.nodes.size).toBe(0);
  });

  it('O6: are not lost if the handler is slow, and do not delay a bootstrap answer', async () => {
    const { shard, server } = await startRig();
    const held = gate();
    const running = new Set<string>();
    let overlaps = 0;
    const { operator, nodes } = operatorOf(server.address, {
      concurrency: { onNode: 4 },
      onNode: async ({ machineId }: Node) => {
        if (running.has(machineId)) overlaps++;
        running.add(machineId);
        await held.opened;
        running.delete(machineId);
      },
    });
    await operator.start();
    const ids = Array.from({ length: 60 }, (_, index) => `m-${index}`);
    for (const id of ids) shard.put(machine(id, S.Configuring));
    await expect.poll(() => running.size).toBe(4);
    for (const id of ids) shard.put(machine(id, S.Configured));
    for (const id of ids.slice(30)) shard.put(machine(id, S.Draining));
    expect(await server.requestBlob(ASK)).toMatchObject({ kind: 'blob' });
    expect(nodes).toHaveLength(4);
    held.open();
    const last = (id: string) => nodes.findLast(({ machineId }) => machineId === id)?.state;
    await expect
      .poll(() => ids.map(last))
      .toEqual(ids.map((_, index) => (index < 30 ? S.Configured : S.Draining)));
    expect(overlaps).toBe(0);
  });

  it('are handled again after a failure, with the newest state', async () => {
    const { shard, server } = await startRig();
    let failures = 0;
    const { operator, nodes, errors } = operatorOf(server.address, {
      onNode: () => {
        if (failures++ === 0) throw new Error('conflict');
      },
    });
    await operator.start();
    shard.put(machine('m-1', S.Configuring));
    await expect.poll(() => errors.length).toBe(1);
    expect(errors[0]!.message).toMatch(
      /onNode failed for machine m-1: conflict\. It is called again in 1000 ms/,
    );
    shard.put(machine('m-1', S.Configured)); // does not wait for the second
    await expect.poll(() => nodes.map(({ state }) => state)).toEqual([S.Configuring, S.Configured]);
  });
});

describe('closing', () => {
  it('waits for handlers and sends their answers, calls no further one, then ends the stream', async () => {
    const { shard, server, events } = await startRig();
    const held = gate();
    const { operator, nodes, requests, endings } = operatorOf(server.address, {
      bootstrap: () => held.opened.then(() => 'late blob'),
    });
    operator.setNeeds([need('a')]);
    await operator.start();
    await operator.acknowledged();
    const answer = server.requestBlob(ASK);
    await expect.poll(() => requests.length).toBe(1);
    const closed = operator.close();
    shard.put(machine('m-1', S.Configured));
    const unanswered = server.requestBlob(ASK); // after the close began
    held.open();
    expect(await answer).toMatchObject({ kind: 'blob' });
    await closed;
    expect(await unanswered).toEqual({ kind: 'no_session' });
    await expect.poll(() => events.at(-1)?.kind).toBe('session_ended');
    expect([nodes.length, requests.length, endings.length]).toEqual([0, 1, 0]);
    expect(shard.groupsOf('blue')).toEqual(['a']); // the shard keeps the demand
    expect(operator.isConnected).toBe(false);
    await operator.close();
  });

  it('does not wait longer than the grace, and aborts what still runs', async () => {
    const { server } = await startRig();
    const { operator, requests } = operatorOf(server.address, {
      closeGraceMs: 10,
      bootstrap: () => new Promise(() => {}),
    });
    await operator.start();
    void server.requestBlob(ASK);
    await expect.poll(() => requests.length).toBe(1);
    await operator.close();
    expect(requests[0]!.signal.aborted).toBe(true);
  });

  it('before a session stands ends the attempts, and ends what waits', async () => {
    const { operator, endings } = operatorOf('127.0.0.1:1');
    operator.setNeeds([need('a')]);
    const started = operator.start();
    const acknowledged = operator.acknowledged();
    await expect.poll(() => endings.length).toBeGreaterThan(0);
    await Promise.all([operator.close(), started, expect(acknowledged).rejects.toThrow(OperatorClosedError)]);
    await expect(operator.start()).rejects.toThrow(OperatorClosedError);
    expect(() => operator.setNeeds([])).toThrow(OperatorClosedError);
  });
});

describe('options', () => {
  for (const [option, value] of [
    ['shard', 'shard.example'],
    ['clusterId', ''],
    ['clusterId', 'blü'],
  ] as const) {
    it(`with ${option} ${JSON.stringify(value)} are refused`, () => {
      const options = { shard: '127.0.0.1:7780', clusterId: 'blue', bootstrap: () => '', [option]: value };
      expect(() => new ClusterOperator(options)).toThrow(`The option ${option} of the operator is`);
    });
  }
});
