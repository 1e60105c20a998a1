import { describe, expect, it } from 'vitest';
import { BLOB_BYTES_MAX } from '../../src/session/limits.ts';
import { needs, type Operator } from './operator.ts';
import { startRig } from './rig.ts';

const REQUIREMENTS = [{ key: 'zone', operator: 1, values: ['a'] }];
const ASK = { clusterId: 'east', requirements: REQUIREMENTS, timeoutMs: 60_000 };

async function requestOf(operator: Operator, count = 1) {
  const all = () =>
    operator.received.flatMap(({ bootstrapRequest }) => (bootstrapRequest ? [bootstrapRequest] : []));
  await operator.receives(() => all().length >= count);
  return all()[count - 1]!;
}

describe('a bootstrap request', () => {
  it('X5: goes to the cluster’s session, and the blob comes back', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const answer = server.requestBlob(ASK);
    const request = await requestOf(operator);
    expect(request).toMatchObject({ clusterId: 'east', requirements: REQUIREMENTS });
    operator.send({
      bootstrapResponse: {
        requestId: request.requestId,
        userData: Buffer.from('#cloud-config'),
        ttlSeconds: 90,
      },
    });
    const { kind, ...blob } = (await answer) as { kind: string; userData: Uint8Array; ttlSeconds: number };
    expect([kind, Buffer.from(blob.userData).toString(), blob.ttlSeconds]).toEqual([
      'blob',
      '#cloud-config',
      90,
    ]);
  });

  it('X5: ends at once as no_session without a session', async () => {
    const { server } = await startRig();
    expect(await server.requestBlob(ASK)).toEqual({ kind: 'no_session' });
  });

  it('X5: ends as no_session when the session is lost, or replaced, before the answer', async () => {
    const { server, greeted } = await startRig();
    const first = await greeted('east');
    const lost = server.requestBlob(ASK);
    await requestOf(first);
    first.close();
    expect(await lost).toEqual({ kind: 'no_session' });
    const second = await greeted('east');
    const replaced = server.requestBlob(ASK);
    await requestOf(second);
    await greeted('east');
    expect(await replaced).toEqual({ kind: 'no_session' });
  });

  it('X5: ends as an error with the operator’s text, which is bounded', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const answer = server.requestBlob(ASK);
    const { requestId } = await requestOf(operator);
    operator.send({ bootstrapResponse: { requestId, error: `no token ${'x'.repeat(10_000)}` } });
    const { kind, text } = (await answer) as { kind: string; text: string };
    expect(kind).toBe('error');
    expect(text).toMatch(/^no token x+$/);
    expect(text.length).toBe(512);
  });

  it('X5: ends as an error if the blob is above the limit, and the session lives', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    for (const [count, size, kind] of [
      [1, BLOB_BYTES_MAX, 'blob'],
      [2, BLOB_BYTES_MAX + 1, 'error'],
      [3, 13, 'blob'],
    ] as const) {
      const answer = server.requestBlob(ASK);
      const { requestId } = await requestOf(operator, count);
      operator.send({ bootstrapResponse: { requestId, userData: Buffer.alloc(size) } });
      expect((await answer).kind).toBe(kind);
    }
  });

  it('X5: that is never answered ends as a timeout, and a late answer is counted and ignored', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const answer = server.requestBlob({ ...ASK, timeoutMs: 30 });
    const { requestId } = await requestOf(operator);
    expect(await answer).toEqual({ kind: 'timeout' });
    operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('late') } });
    await expect.poll(() => server.counters.answersIgnored).toBe(1);
    operator.rollup(needs(1));
    await operator.receives(() => operator.acks('rollup') === 1);
  });

  it('X5: takes one answer; a second one, and an answer to an unknown request, are ignored', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const answer = server.requestBlob(ASK);
    const { requestId } = await requestOf(operator);
    operator.send({ bootstrapResponse: { requestId: 'b-7-999-1', userData: Buffer.from('guess') } });
    operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('one') } });
    operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('two') } });
    operator.send({ bootstrapResponse: { requestId, error: 'three' } });
    expect(await answer).toMatchObject({ kind: 'blob', userData: Buffer.from('one') });
    await expect.poll(() => server.counters.answersIgnored).toBe(3);
  });

  it('X5: takes no answer from a session that was not asked', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const stranger = await greeted('west');
    const answer = server.requestBlob({ ...ASK, timeoutMs: 300 });
    const { requestId } = await requestOf(operator);
    stranger.send({ bootstrapResponse: { requestId, userData: Buffer.from('mine') } });
    expect(await answer).toEqual({ kind: 'timeout' });
    expect(server.counters.answersIgnored).toBe(1);
  });

  it('is answered while a roll-up of tens of thousands of rows is being read, on the same stream', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    const answer = server.requestBlob(ASK);
    const { requestId } = await requestOf(operator);
    operator.rollup(needs(40_000));
    operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('quick') } });
    expect(await answer).toMatchObject({ kind: 'blob' });
    expect(shard.needs.count).toBe(0); // the roll-up, which came first, is still being read
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(shard.needs.count).toBe(40_000);
  });
});

describe('a reclaim', () => {
  it('X6: is sent on the session, or reports that there is none', async () => {
    const { server, greeted } = await startRig();
    const instruction = { instructionId: 'r-1', nodes: ['n-1'], graceSeconds: 600, preemptorPriority: 0 };
    expect(server.instructReclaim('east', instruction)).toBe(false);
    const operator = await greeted('east');
    expect(server.instructReclaim('east', { ...instruction, preemptorPriority: 1_000 })).toBe(true);
    await operator.receives(() =>
      operator.received.some(({ reclaimInstruction }) => Boolean(reclaimInstruction)),
    );
    expect(
      operator.received.find(({ reclaimInstruction }) => reclaimInstruction)!.reclaimInstruction,
    ).toEqual({
      instructionId: 'r-1',
      nodes: ['n-1'],
      gracePeriodSeconds: 600,
      preemptorPriority: 1_000,
    });
  });
});
