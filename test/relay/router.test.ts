/** F7: sessions of several shards at one address, with real servers and connections. */
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { AdmittedStream, ClusterRoutes } from '../../src/relay/ports.ts';
import { Relay } from '../../src/relay/relay.ts';
import { Router } from '../../src/relay/router.ts';
import type { OperatorServerOptions } from '../../src/session/server.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { HostileClient, SESSION_PATH } from '../session/hostile-client.ts';
import { needs } from '../session/operator.ts';
import { closeAfterwards, type Rig, startRig } from '../session/rig.ts';
import { as, authority, filesOf, SERVER } from '../session/tls-rig.ts';
import { issue } from '../tls/certificates.ts';
import { ActiveBoard } from './rig.ts';

const GENEROUS = { timeout: 20_000, interval: 5 };

/** The directory, as far as a router asks it. */
class Routes implements ClusterRoutes {
  readonly known = new Map<string, string>();
  why = '';
  readonly #waiting = new Map<string, Set<(shard: string) => void>>();

  shardOf(cluster: string): string {
    return this.known.get(cluster) ?? '';
  }

  place(cluster: string, whenPlaced: (shard: string) => void): () => void {
    const waiting = this.#waiting.get(cluster) ?? new Set();
    this.#waiting.set(cluster, waiting.add(whenPlaced));
    return () => waiting.delete(whenPlaced);
  }

  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  give(cluster: string, shard: string): void {
    this.known.set(cluster, shard);
    for (const whenPlaced of [...(this.#waiting.get(cluster) ?? [])]) whenPlaced(shard);
  }
}

interface Shard extends Rig {
  readonly router: Router;
  /** Where it finds the active replica of another shard. */
  readonly boards: Record<string, ActiveBoard>;
}

async function shardOf(
  shard: string,
  routes: Routes,
  {
    holdMs = 20_000,
    tls,
    ...options
  }: { holdMs?: number; tls?: TlsFiles } & Partial<OperatorServerOptions> = {},
): Promise<Shard> {
  const rig = await startRig({ ...options, ...(tls === undefined ? {} : { tls }) });
  const boards: Record<string, ActiveBoard> = {};
  const relays = new Map<string, Relay>();
  const relayTo = (other: string) => {
    const known = relays.get(other);
    if (known !== undefined) return known;
    boards[other] ??= new ActiveBoard();
    const absence = `no replica of shard ${other} is active`;
    const relay = new Relay({ absence, active: boards[other], holdMs, deadPeerMs: 30_000, tls });
    relays.set(other, relay);
    relay.resume();
    closeAfterwards(() => relay.close());
    return relay;
  };
  const coordinator = {
    isHere: () => shard === 'a',
    relay: { take: (call: AdmittedStream) => relayTo('a').take(call) },
  };
  const router = new Router({ shard, routes, relayTo, coordinator, hasTls: tls !== undefined, holdMs });
  rig.server.route(router);
  closeAfterwards(() => router.close());
  return { ...rig, router, boards };
}

/** Two shards that know each other. */
async function pair(
  options: Parameters<typeof shardOf>[2] = {},
): Promise<{ routes: Routes; a: Shard; b: Shard }> {
  const routes = new Routes();
  const a = await shardOf('a', routes, options);
  const b = await shardOf('b', routes, options);
  connect(a, 'b', b);
  connect(b, 'a', a);
  return { routes, a, b };
}

function connect(from: Shard, name: string, to: Shard): void {
  from.boards[name] = new ActiveBoard();
  from.boards[name].show(to.server.address);
}

describe('F7: sessions of several shards at one address', () => {
  it('F7: a cluster is served by its shard, whichever shard its operator asks', async () => {
    const { routes, a, b } = await pair();
    routes.known.set('east', 'a').set('west', 'b');
    for (const asked of [a, b])
      for (const cluster of ['east', 'west']) {
        const operator = await asked.connect({ clusterId: cluster }).greeted();
        for (let turn = 1; turn <= 5; turn++) operator.rollup(needs(turn));
        await operator.receives(() => operator.acks('rollup') === 5);
        operator.stream.end();
        expect(await operator.endedWith()).toMatchObject({ code: 'OK' });
      }
    expect(a.shard.opened).toEqual(['east', 'east']);
    expect(b.shard.opened).toEqual(['west', 'west']);
    expect(a.shard.groupsOf('east')).toHaveLength(5);
    expect([a.router.counters.routed, b.router.counters.routed]).toEqual([1, 1]);
  });

  it('F7: a session waits unread until its cluster has a shard', async () => {
    const { routes, a, b } = await pair();
    const operators = ['here', 'there'].map((clusterId) => a.connect({ clusterId }));
    for (const operator of operators) operator.rollup(needs(3));
    await expect.poll(() => routes.waiting, GENEROUS).toBe(2);
    expect([a.router.waitingCount, a.shard.opened]).toEqual([2, []]);
    routes.give('here', 'a');
    routes.give('there', 'b');
    for (const operator of operators) await operator.receives(() => operator.acks('rollup') === 1);
    expect([a.shard.opened, b.shard.opened]).toEqual([['here'], ['there']]);
    expect(b.shard.groupsOf('there')).toHaveLength(3);
    expect(a.router.waitingCount).toBe(0);
  });

  it('F7: a session whose cluster gets no shard in time ends with the reason, and one that leaves waits no more', async () => {
    const routes = new Routes();
    routes.why = 'Shard "c" has not listed its providers.';
    const a = await shardOf('a', routes, { holdMs: 100 });
    expect(await a.connect({ clusterId: 'east' }).endedWith()).toEqual({
      code: 'UNAVAILABLE',
      details: `${routes.why} The replica held the call for 100 ms. Connect again.`,
    });
    expect([a.router.counters.unplaced, routes.waiting]).toEqual([1, 0]);
    const patient = await shardOf('a', routes);
    const leaving = patient.connect({ clusterId: 'west' });
    await expect.poll(() => routes.waiting, GENEROUS).toBe(1);
    leaving.close();
    await expect.poll(() => routes.waiting, GENEROUS).toBe(0);
    expect(patient.router.waitingCount).toBe(0);
  });

  it('F7: a relayed session is never relayed again, so two shards that disagree make no circle', async () => {
    const { routes: ofA, a } = await pair();
    const ofB = new Routes();
    const b = await shardOf('b', ofB);
    connect(a, 'b', b);
    connect(b, 'a', a);
    ofA.known.set('east', 'b');
    ofB.known.set('east', 'a');
    const operator = a.connect({ clusterId: 'east' });
    await expect.poll(() => b.router.counters.misrouted, GENEROUS).toBeGreaterThan(0);
    expect([a.shard.opened, b.shard.opened]).toEqual([[], []]);
    ofB.known.set('east', 'b'); // its copy follows
    await operator.greeted();
    expect(b.shard.opened).toEqual(['east']);
  });

  it('F7: what is no Hello is refused by the shard that was asked, with its own words', async () => {
    const { routes, a } = await pair();
    routes.known.set('east', 'b');
    const client = new HostileClient(a.server.address);
    const stream = client.open(SESSION_PATH, Buffer.from([0, 0, 0, 0, 3, 0xff, 0xff, 0xff]));
    await expect.poll(() => stream.status, GENEROUS).toBe(status.INVALID_ARGUMENT);
    expect(a.router.waitingCount).toBe(0);
  });

  it('F7: with TLS the certificate names the cluster, and the shard that serves it knows whom it serves', async () => {
    const tls = filesOf(issue(authority, SERVER));
    const { routes, a, b } = await pair({ tls });
    routes.known.set('east', 'b').set('west', 'b');
    await a.connect({ clusterId: 'east', credentials: as('bigfleet://cluster/east') }).greeted();
    expect(b.shard.opened).toEqual(['east']);
    const liar = a.connect({ clusterId: 'west', credentials: as('bigfleet://cluster/east') });
    expect(await liar.endedWith()).toMatchObject({ code: 'PERMISSION_DENIED' });
    const admin = a.connect({ clusterId: 'west', credentials: as('bigfleet://admin') });
    expect(await admin.endedWith()).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect([a.shard.opened, b.shard.opened]).toEqual([[], ['east']]);
  });
});
