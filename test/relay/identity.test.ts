import { Client, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { RELAYED_FOR } from '../../src/tls/identity.ts';
import { encode } from '../../src/wire/codec.ts';
import { rawShardService } from '../../src/wire/services.ts';
import { inspect, VIEW } from '../session/inspector.ts';
import { closeAfterwards } from '../session/rig.ts';
import { as, authority, clientCredentials, filesOf, SERVER, tlsRig } from '../session/tls-rig.ts';
import { issue } from '../tls/certificates.ts';
import { startStandby } from './rig.ts';

const REPLICA = { ...SERVER, dns: ['replica-2'] };
const NEEDS = {
  inspectNeeds: async () => ({
    header: { cycle: 1, computedAtMs: 0, totalNeeds: 1, unmetNeeds: 1 },
    pages: (async function* () {
      yield [VIEW];
    })(),
  }),
};

async function pair() {
  const active = await tlsRig({ needs: NEEDS });
  const standby = await startStandby({ tls: filesOf(issue(authority, REPLICA)) });
  standby.board.show(active.server.address);
  return { active, standby };
}

/** A session that says itself whom it is relayed for. */
function relayedBy(
  uri: string,
  address: string,
  relayedFor: string,
  clusterId: string,
): Promise<StatusObject> {
  const metadata = new Metadata();
  metadata.set(RELAYED_FOR, relayedFor);
  const client = new Client(address, as(uri), { 'grpc.use_local_subchannel_pool': 1 });
  closeAfterwards(() => client.close());
  const { path, requestSerialize } = rawShardService.Session;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, (bytes: Buffer) => bytes, metadata);
  stream.on('error', () => {}); // the status reports it
  return new Promise((resolve) => {
    stream.on('data', () => stream.end());
    stream.on('status', resolve);
    stream.write(encode('OperatorMessage', { hello: { clusterId, protocolVersion: 'v1alpha1' } }));
  });
}

describe('the identity of a relayed client', () => {
  it('F6: is that of its certificate at the relay: a cluster speaks for itself only', async () => {
    const { active, standby } = await pair();
    const operator = await standby
      .connect({ clusterId: 'a,b/c', credentials: as('bigfleet://cluster/a,b/c') })
      .greeted();
    expect(operator.ended).toBeNull();
    expect(active.shard.opened).toEqual(['a,b/c']);
    const liar = standby.connect({ clusterId: 'west', credentials: as('bigfleet://cluster/east') });
    expect(await liar.endedWith()).toEqual({
      code: 'PERMISSION_DENIED',
      details: 'The client certificate is for cluster "east", but Hello names cluster "west".',
    });
    expect(active.server.counters.identityRejections).toBe(1);
  });

  it('F6: decides who reads needs through a standby', async () => {
    const { standby } = await pair();
    const { address } = standby.server;
    expect(await inspect(address, {}, as('bigfleet://readonly'))).toMatchObject({
      code: 'OK',
      frames: { length: 2 },
    });
    expect((await inspect(address, {}, as('bigfleet://cluster/east'))).code).toBe('PERMISSION_DENIED');
  });

  it('F6: is refused by the relay if the certificate carries none', async () => {
    const { active, standby } = await pair();
    const operator = standby.connect({ clusterId: 'east', credentials: as('https://example.org') });
    expect(await operator.endedWith()).toEqual({
      code: 'PERMISSION_DENIED',
      details: 'The client certificate carries no bigfleet:// URI.',
    });
    expect(standby.relay.counters.ended.identity).toBe(1);
    expect(active.shard.opened).toEqual([]);
  });

  it('F6: is accepted from shards only, and only if it is one', async () => {
    const { active } = await pair();
    const { address } = active.server;
    const named = encodeURIComponent('bigfleet://cluster/east');
    const fromCluster = await relayedBy('bigfleet://cluster/west', address, named, 'east');
    expect(status[fromCluster.code]).toBe('PERMISSION_DENIED');
    expect(fromCluster.details).toContain('only a shard may relay');
    for (const wrong of ['bigfleet%3A%2F%2Fnobody', '%', ''])
      expect((await relayedBy('bigfleet://shard/s-1', address, wrong, 'east')).code).toBe(
        status.PERMISSION_DENIED,
      );
    expect(active.shard.opened).toEqual([]);
    expect((await relayedBy('bigfleet://shard/s-1', address, named, 'east')).code).toBe(status.OK);
    expect(active.shard.opened).toEqual(['east']);
  });

  it('F6: sends nothing to an active replica without a certificate of a shard', async () => {
    const impostor = await tlsRig({
      tls: filesOf(issue(authority, { ...SERVER, uri: ['bigfleet://readonly'] })),
    });
    const standby = await startStandby({ tls: filesOf(issue(authority, REPLICA)) });
    standby.board.show(impostor.server.address);
    standby.connect({ clusterId: 'east', credentials: as('bigfleet://cluster/east') });
    await expect.poll(() => standby.relay.notReady(), { timeout: 20_000 }).toContain("not a shard's");
    await expect.poll(() => standby.relay.heldCount, { timeout: 20_000 }).toBe(1);
    expect(impostor.server.held('stream')).toBe(0);
  });

  it("T11: counts as its own share at the active replica, not as the relay's", async () => {
    const { active, standby } = await pair();
    const credentials = clientCredentials(issue(authority, { uri: ['bigfleet://cluster/east'] }));
    for (let n = 0; n < 20; n++) await standby.connect({ clusterId: 'east', credentials }).greeted();
    const limited = await tlsRig({ limits: { stream: { identity: 1 } } });
    standby.board.show(limited.server.address);
    await standby.connect({ clusterId: 'east', credentials }).greeted();
    const second = standby.connect({ clusterId: 'east', credentials });
    expect(await second.endedWith()).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    await standby.connect({ clusterId: 'west', credentials: as('bigfleet://cluster/west') }).greeted();
    expect(active.server.counters.refused.stream_identity).toBe(0);
  });
});
