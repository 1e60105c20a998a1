/** /api/v1 over real HTTP: its answers and its errors. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiGangInFull, ApiGangs } from '../../src/dashboard/api/gang-types.ts';
import type { ApiShardInFull, ApiShards } from '../../src/dashboard/api/shard-types.ts';
import type {
  ApiActions,
  ApiClusterInFull,
  ApiClusters,
  ApiError,
  ApiEvents,
  ApiHistory,
  ApiMachineInFull,
  ApiMachines,
  ApiNeedExplanations,
  ApiNeeds,
  ApiOfferingInFull,
  ApiOfferings,
  ApiOverview,
  ApiProviderInFull,
  ApiProviders,
  ApiStatus,
  ApiTenants,
} from '../../src/dashboard/api/types.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { listingReport } from '../observe/records.ts';
import { DISCONNECTED, LiveWorld } from './live-world.ts';

let live: LiveWorld;
let url = '';

beforeAll(async () => {
  live = new LiveWorld(2_000);
  for (let step = 0; step < 12; step++) live.step();
  url = await live.serve();
});

afterAll(() => live.close());

async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${url}/api/v1/${path}`);
  const body = (await response.json()) as T;
  expect(response.status, JSON.stringify(body)).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  return body;
}

/** Page by page. */
async function allNeeds(): Promise<ApiNeeds['needs']> {
  const found: ApiNeeds['needs'][number][] = [];
  let after = '';
  do {
    const page = await get<ApiNeeds>(`needs?limit=500&after=${after}`);
    found.push(...page.needs);
    after = page.next;
  } while (after !== '');
  return found;
}

async function refused(path: string, status: number): Promise<ApiError['error']> {
  const response = await fetch(`${url}${path}`);
  expect(response.status, path).toBe(status);
  const { error } = (await response.json()) as ApiError;
  expect(error.what).not.toBe('');
  expect(error.next).not.toBe('');
  return error;
}

describe('the API', () => {
  it('gives the status of the shard with its rails and its queue', async () => {
    const status = await get<ApiStatus>('status');
    expect(status).toMatchObject({
      shardId: 'shard-test',
      epoch: 7,
      version: '0.0.0-test',
      cycle: 12,
      isReady: true,
      machines: 2_000,
      rails: {
        killSwitch: false,
        dryRun: false,
        fenced: false,
        reclaimFraction: 0.05,
        preemptionFraction: 0.2,
      },
      queue: { queueMax: 512, concurrency: 256 },
    });
    expect(status.needs).toBe(live.world.needs.count);
  });

  it('gives an overview of the fleet whose tables agree with each other', async () => {
    const overview = await get<ApiOverview>('overview');
    const sum = (of: Readonly<Record<string, number>>) => Object.values(of).reduce((a, b) => a + b, 0);
    expect(sum(overview.byState)).toBe(2_000);
    expect(Object.values(overview.byCapacityType).reduce((total, one) => total + sum(one), 0)).toBe(2_000);
    expect(overview.byZone.reduce((total, { machines }) => total + machines, 0)).toBe(2_000);
    expect(sum(overview.cost.byCapacityType)).toBeCloseTo(overview.cost.totalUsd, 4);
    expect(overview.cost.byCluster[0]!.usd).toBeGreaterThanOrEqual(overview.cost.byCluster[1]!.usd);
    expect(overview.byState.Failed).toBeGreaterThan(0);
  });

  it('gives needs page by page, and explains one by fingerprint and group', async () => {
    const first = await get<ApiNeeds>('needs?unmet=true&limit=5');
    expect(first.needs).toHaveLength(5);
    expect(first.unmet).toBeGreaterThan(5);
    const second = await get<ApiNeeds>(`needs?unmet=true&limit=5&after=${first.next}`);
    expect(second.needs[0]).not.toEqual(first.needs[0]);
    const one = first.needs[0]!;
    expect(one.satisfied).toBe(false);
    expect(one.reason).toMatch(/^[A-Z_]+$/);
    for (const text of Object.values(one.missing)) expect(text).toMatch(/^\d+(m|[KMGTPE]i)?$/);
    const query = new URLSearchParams({
      cluster: one.clusterId,
      fingerprint: one.fingerprint,
      group: one.group,
    });
    const { explanations } = await get<ApiNeedExplanations>(`needs/explain?${query}`);
    expect(explanations).toHaveLength(1);
    expect(explanations[0]!.need).toEqual(one);
    expect(explanations[0]!.sentences[0]).toContain('Unmet: needs');
  });

  it('explains the unmet needs of a cluster whose operator is disconnected', async () => {
    const { explanations } = await get<ApiNeedExplanations>(`needs/explain?cluster=${DISCONNECTED}`);
    expect(explanations.length).toBeGreaterThan(0);
    for (const { facts, sentences } of explanations) {
      expect(facts.bars).toContainEqual({ kind: 'no_session' });
      expect(sentences[1]).toContain('is not connected');
    }
  });

  it('A1: lists gangs and names the machines that serve each, of a folded one those of its fold', async () => {
    const all = await get<ApiGangs>('gangs?limit=500');
    expect(
      all.gangs.every(({ requirements }) => requirements.some(({ operator }) => operator === 'Same')),
    ).toBe(true);
    const needs = [...(await allNeeds())].filter(({ requirements }) =>
      requirements.some(({ operator }) => operator === 'Same'),
    );
    expect(all.total).toBe(needs.length);
    expect(all.unmet).toBe(needs.filter(({ satisfied }) => !satisfied).length);
    const spanning = await get<ApiGangs>('gangs?limit=500&spanning=1');
    expect(spanning.gangs).toHaveLength(all.spanning);
    expect(spanning.gangs.every(({ shared }) => shared === 0)).toBe(true);
    const folded = all.gangs.find(({ shared }) => shared > 1)!;
    const held = spanning.gangs.find(({ claimed, satisfied }) => satisfied && claimed > 1)!;
    for (const one of [folded, held]) {
      const name = encodeURIComponent(`${one.clusterId}/${one.group}`);
      const { gangs: found } = await get<ApiGangInFull>(`gangs/${name}`);
      const { need, machines, foldedAs, sentences } = found.find(
        ({ need: of }) => of.fingerprint === one.fingerprint,
      )!;
      expect(need).toMatchObject({ clusterId: one.clusterId, group: one.group });
      expect(machines).toHaveLength(one.shared || one.claimed);
      expect(foldedAs).toMatch(one === folded ? /^fold:/ : /^$/);
      expect(sentences.join(' ')).toContain(machines[0]!.id);
      expect(new Set(machines.map(({ domain }) => domain)).size).toBe(1);
      if (one === held) expect(machines[0]!.domain).toBe(one.domain);
    }
    const byName = await get<ApiGangs>(`gangs?prefix=${held.clusterId}/${held.group.slice(0, -1)}`);
    expect(byName.gangs.map(({ group }) => group)).toContain(held.group);
    expect(byName.gangs.every(({ clusterId }) => clusterId === held.clusterId)).toBe(true);
  });

  it('tells whether anything keeps the shard from its work', async () => {
    const { shards } = await get<ApiShards>('shards');
    expect(shards).toMatchObject([{ role: 'single', isReady: true, troubles: [], replicas: [] }]);
    const { shardId } = shards[0]!;
    expect((await get<ApiShards>('shards?prefix=nothing-begins-so')).shards).toEqual([]);
    expect((await get<ApiShardInFull>(`shards/${shardId}`)).sentences[0]).toContain(
      'nothing keeps it from its work',
    );
    const { rails } = live.world;
    live.world.rails = { ...rails, isPaused: true };
    try {
      const { sentences, shard } = await get<ApiShardInFull>(`shards/${shardId}`);
      expect(shard.troubles).toEqual(['The kill switch is on: it decides, but executes no actions.']);
      expect(sentences[0]).toContain('The kill switch is on');
    } finally {
      live.world.rails = rails;
    }
  });

  it('finds machines by filters, and explains one', async () => {
    const page = await get<ApiMachines>('machines?state=failed&limit=3');
    expect(page.machines).toHaveLength(3);
    expect(page.matching).toBeGreaterThan(3);
    expect(page.total).toBe(2_000);
    const { id } = page.machines[1]!;
    const full = await get<ApiMachineInFull>(`machines/${encodeURIComponent(id)}`);
    expect(full.machine).toMatchObject({
      id,
      state: 'Failed',
      lastError: 'instance lost: host power failure',
    });
    expect(full.sentences.join(' ')).toContain(
      'It satisfies no need until provider test reports another state: the shard cannot repair it.',
    );
    const begins = await get<ApiMachines>(`machines?prefix=${encodeURIComponent(id.slice(0, -1))}`);
    expect(begins.machines.map((one) => one.id)).toContain(id);
    const spot = await get<ApiMachines>('machines?capacity=spot&limit=1');
    expect(spot.machines[0]!.capacityType).toBe('spot');
  });

  it('gives the actions after a sequence number, as far back as the shard keeps them', async () => {
    const first = await get<ApiActions>('actions?limit=10');
    expect(first.actions).toHaveLength(10);
    expect(first.actions.at(-1)!.sequence).toBe(first.last);
    expect((await get<ApiActions>(`actions?since=${first.last}`)).actions).toEqual([]);
    live.step();
    const unseen = await get<ApiActions>(`actions?since=${first.last}&limit=500`);
    expect(unseen.actions.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: unseen.last - first.last }, (_, index) => first.last + 1 + index),
    );
    const failed = await get<ApiActions>('actions?outcome=provider_error&limit=500');
    for (const { outcome, detail } of failed.actions) {
      expect(outcome).toBe('provider_error');
      expect(detail).not.toBe('');
    }
    const ofKind = await get<ApiActions>('actions?kind=bootstrap');
    for (const { kind } of ofKind.actions) expect(kind).toBe('Bootstrap');
  });

  it('gives the samples of cycles after a time', async () => {
    const { samples } = await get<ApiHistory>('history');
    expect(samples.length).toBeGreaterThanOrEqual(12);
    const later = await get<ApiHistory>(`history?since=${samples[5]!.atMs}`);
    expect(later.samples).toEqual(samples.slice(6));
    expect(samples.at(-1)!.byState.Configured).toBeGreaterThan(1_000);
  });

  it('lists clusters with their sessions', async () => {
    const { clusters, total } = await get<ApiClusters>('clusters?limit=3');
    expect(total).toBe(8);
    expect(clusters.map(({ clusterId }) => clusterId)).toEqual([
      'cluster-0000',
      'cluster-0001',
      'cluster-0002',
    ]);
    expect(clusters.map(({ session }) => session!.connected)).toEqual([true, false, true]);
    const unmet = await get<ApiClusters>('clusters?unmet=true');
    for (const { unmetNeeds } of unmet.clusters) expect(unmetNeeds).toBeGreaterThan(0);
    const gone = await get<ApiClusters>('clusters?disconnected=true');
    expect(gone.clusters.map(({ clusterId }) => clusterId)).toEqual(['cluster-0001']);
    expect(gone.clusters[0]!.session!.sinceAtMs).toBeGreaterThan(0);
    expect(gone.clusters[0]!.needs).toBeGreaterThan(0);
  });

  it('lists tenants with what they use and what was refused', async () => {
    const { world } = live;
    world.refusals.happened({
      kind: 'rollup_rejected',
      level: 'warn',
      clusterId: 'cluster-0003',
      detail: 'A row has 70,000 bytes.',
    });
    const { tenants, total, limits } = await get<ApiTenants>('tenants?limit=3');
    expect(total).toBe(10);
    expect(tenants.map(({ name }) => name)).toEqual([
      'cluster-0003',
      'test',
      expect.stringContaining('cluster-'),
    ]);
    expect(tenants[0]).toMatchObject({ refused: 1, lastReason: 'A row has 70,000 bytes.', provider: null });
    expect(tenants[0]!.cluster!.needs).toBeGreaterThan(0);
    expect(tenants[1]!.provider).toEqual({
      listedAtMs: 0,
      listedMachines: 0,
      listingFailure: '',
      foreignIds: 0,
    });
    expect(limits.rollupRowsMax).toBe(131_072);
    const refused = await get<ApiTenants>('tenants?refused=true&kind=cluster&prefix=cluster');
    expect(refused.tenants.map(({ name }) => name)).toEqual(['cluster-0003']);
  });

  it('X12: lists the offerings in back-off after failed creates', async () => {
    const { world } = live;
    world.offeringBackoffs.set('gpu-train-8', {
      untilMs: world.clock.nowMs() + 60_000,
      failures: 3,
      text: 'no capacity',
    });
    try {
      const { offerings } = await get<ApiOfferings>('offerings?backoff=true');
      expect(offerings).toMatchObject([
        {
          instanceType: 'gpu-train-8',
          capacityType: 'on-demand',
          failures: 3,
          why: '3 creates in a row failed: no capacity',
        },
      ]);
      expect(offerings).toMatchObject((await get<ApiOverview>('overview')).offerings);
      const { sentences } = await get<ApiOfferingInFull>(
        `offerings/${encodeURIComponent(offerings[0]!.name)}`,
      );
      expect(sentences[0]).toMatch(
        /^In back-off for .* more, since .*: 3 creates in a row failed: no capacity\.$/,
      );
    } finally {
      world.offeringBackoffs.clear();
    }
  });

  it('counts every machine in one offering and one provider, page by page', async () => {
    const all = await get<ApiOfferings>('offerings?limit=500');
    const add = (sum: number, { machines }: { machines: number }) => sum + machines;
    expect(all.offerings.reduce(add, 0)).toBe(2_000);
    const first = await get<ApiOfferings>('offerings?limit=3');
    const second = await get<ApiOfferings>(`offerings?limit=3&after=${encodeURIComponent(first.next)}`);
    const names = [...first.offerings, ...second.offerings].map(({ name }) => name);
    expect(names).toEqual(all.offerings.slice(0, 6).map(({ name }) => name));
    const one = all.offerings.find(({ machines }) => machines > 1)!;
    const query = new URLSearchParams({
      ...{ provider: one.provider, type: one.instanceType, zone: one.zone, capacity: one.capacityType },
      limit: '500',
    });
    const { machines, matching } = await get<ApiMachines>(`machines?${query}`);
    expect(one.machines).toBe(matching);
    const costs = machines.map(({ pricePerHourUsd }) => pricePerHourUsd);
    expect([one.pricePerHourUsd, one.pricePerHourMaxUsd]).toEqual([Math.min(...costs), Math.max(...costs)]);
    const { providers } = await get<ApiProviders>('providers');
    expect(providers.map(({ name }) => name)).toEqual(['other', 'test']);
    expect(providers[1]).toMatchObject({
      machines: 2_000,
      offerings: all.total,
      heldListing: null,
      backoff: null,
    });
    const overview = await get<ApiOverview>('overview');
    expect(providers[1]!.usdPerHour).toBeCloseTo(overview.cost.totalUsd, 4);
    const usd = all.offerings.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
    expect(usd).toBeCloseTo(overview.cost.totalUsd, 4);
  });

  it('S6, X15: tells that a listing of a provider is held, and that the whole provider is in back-off', async () => {
    const { world } = live;
    const held = { isSuspect: true, knownCount: 2_000, missingCount: 900, heldInARow: 1 };
    world.refusals.listingEnded(listingReport({ provider: 'other', isFull: true, ...held }));
    const fault = { instanceType: '', zone: '', capacityType: CapacityType.Spot, sinceMs: 0, needs: 4 };
    const untilMs = world.clock.nowMs() + 60_000;
    world.sharedFaults = [{ kind: 'bootstrap', provider: 'other', isProvider: true, ...fault, untilMs }];
    try {
      const { provider, sentences } = await get<ApiProviderInFull>('providers/other');
      expect(provider.heldListing).toEqual({ inARow: 1, known: 2_000, missing: 900 });
      expect(sentences[0]).toContain('it lacks 900 of 2,000 known machines');
      expect(sentences[0]).toContain('flotilla confirm-removal other');
      expect(sentences.join(' ')).toContain('in back-off for 1 min more: bootstraps of 4 needs failed');
    } finally {
      world.sharedFaults = [];
    }
    world.refusals.listingEnded(listingReport({ provider: 'other', isFull: true, isSuspect: false }));
    expect((await get<ApiProviderInFull>('providers/other')).provider.heldListing).toBe(null);
  });

  it('T8: names the limit that keeps machines from a need', async () => {
    const { world } = live;
    const cluster = (await get<ApiClusters>('clusters?unmet=true')).clusters.find(
      ({ session }) => session!.connected,
    )!.clusterId;
    const unmet = async () => (await get<ApiNeeds>(`needs?cluster=${cluster}&unmet=true`)).needs;
    for (const { limitedBy } of await unmet()) expect(limitedBy).toBe(null);
    world.tenants.set([
      {
        cluster,
        maxMachines: 0,
        maxPriority: Number.POSITIVE_INFINITY,
        maxResources: {},
        maxDollarsPerHour: Number.POSITIVE_INFINITY,
        maxOfferingShare: Number.POSITIVE_INFINITY,
        minNonSpotShare: 0,
      },
    ]);
    try {
      live.step();
      expect((await unmet()).map(({ limitedBy }) => limitedBy)).toContain('max-machines');
    } finally {
      world.tenants.set([]);
    }
  });

  it('tells about one cluster, in numbers and in words', async () => {
    const { cluster, tenant, sentences } = await get<ApiClusterInFull>('clusters/cluster-0002');
    const listed = await get<ApiClusters>('clusters?prefix=cluster-0002');
    expect(cluster).toEqual(listed.clusters[0]);
    expect(tenant).toMatchObject({ kind: 'cluster', name: 'cluster-0002', machines: cluster.machines });
    expect(sentences.join(' ')).toContain('Its operator has been connected for');
    const gone = await get<ApiClusterInFull>(`clusters/${DISCONNECTED}`);
    expect(gone.sentences).toContain('The shard keeps its last roll-up.');
    const error = await refused('/api/v1/clusters/cluster-000', 404);
    expect(error).toMatchObject({ code: 'no_such_cluster' });
  });

  it('Y1: tells what happened to a machine and a cluster, the newest first, page by page', async () => {
    const all = await get<ApiEvents>('events?kind=interrupted&limit=500');
    expect(all.events.length).toBeGreaterThan(10);
    const { machineId, clusterId } = all.events[0]!;
    expect(all.events[0]).toMatchObject({
      epoch: 1,
      kind: 'interrupted',
      sentence: `Cluster ${clusterId} lost ${machineId} without a decision of the shard: instance lost: host power failure.`,
    });
    const ofCluster = all.events.filter((event) => event.clusterId === clusterId);
    expect((await get<ApiEvents>(`events?cluster=${clusterId}`)).events).toEqual(ofCluster);
    const first = await get<ApiEvents>('events?limit=3');
    const second = await get<ApiEvents>(`events?limit=3&after=${first.next}`);
    expect([...first.events, ...second.events]).toEqual(all.events.slice(0, 6));
    const since = all.events[4]!.atMs;
    const later = await get<ApiEvents>(`events?since=${since}&limit=500`);
    expect(later.events).toEqual(all.events.filter(({ atMs }) => atMs >= since));
    expect(later).toMatchObject({ gaps: [], wholeSinceAtMs: all.beginsAtMs });
  });

  it('lists its paths at its root, and docs/api.md documents each', async () => {
    const response = await fetch(`${url}/api/v1`);
    const { paths } = (await response.json()) as { paths: string[] };
    expect(paths).toContain('/api/v1/needs');
    const documented = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
    for (const path of paths) expect(documented).toContain(`### \`${path}`);
  });
});

describe('the API refuses', () => {
  for (const [path, status, code, words] of [
    ['/api/v1/nothing', 404, 'no_such_path', 'overview'],
    ['/api/v1/machines/no-such-machine', 404, 'no_such_machine', 'no-such-machine'],
    ['/api/v1/providers/nobody', 404, 'no_such_provider', 'nobody'],
    ['/api/v1/offerings/a%2Fb%2Fspot', 404, 'no_such_offering', 'a/b/spot'],
    ['/api/v1/gangs/cluster-0000%2Fno-such-job', 404, 'no_such_gang', 'CLUSTER/GROUP'],
    ['/api/v1/gangs/x', 404, 'no_such_gang', 'CLUSTER/GROUP'],
    ['/api/v1/shards/other', 404, 'no_such_shard', 'This process runs shard'],
    ['/api/v1/offerings?capacity=free', 400, 'bad_parameter', 'on-demand'],
    ['/api/v1/machines/%ff', 400, 'bad_parameter', 'UTF-8'],
    ['/api/v1/machines?state=Broken', 400, 'bad_parameter', 'Configured'],
    ['/api/v1/machines?capacity=free', 400, 'bad_parameter', 'on-demand'],
    ['/api/v1/machines?limit=501', 400, 'bad_parameter', '500'],
    ['/api/v1/machines?limit=0', 400, 'bad_parameter', '500'],
    ['/api/v1/machines?limit=-1', 400, 'bad_parameter', '500'],
    ['/api/v1/needs?unmet=maybe', 400, 'bad_parameter', 'true or false'],
    ['/api/v1/needs?after=zzz', 400, 'bad_cursor', 'cursor'],
    ['/api/v1/needs?clutser=a', 400, 'unknown_parameter', 'cluster'],
    ['/api/v1/needs/explain', 400, 'bad_parameter', 'cluster'],
    ['/api/v1/actions?kind=Explode', 400, 'bad_parameter', 'Bootstrap'],
    ['/api/v1/events?kind=bound,explode', 400, 'bad_parameter', 'preempted'],
    ['/api/v1/events?after=x', 400, 'bad_parameter', 'first page again'],
    ['/api/v1/tenants?kind=person', 400, 'bad_parameter', 'provider'],
    ['/api/v1/tenants?after=zzz', 400, 'bad_cursor', 'cursor'],
    ['/nowhere', 404, 'no_such_path', '/api/v1'],
    ['/assets/../package.json', 404, 'no_such_path', '/api/v1'],
  ] as const) {
    it(`${path} with ${status} ${code}, and says ${JSON.stringify(words)}`, async () => {
      const error = await refused(path, status);
      expect(error.code).toBe(code);
      expect(`${error.what} ${error.why}`).toContain(words);
    });
  }

  it('every method but GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${url}/api/v1/status`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, HEAD');
    }
  });
});

describe('the pages', () => {
  it('have a policy that allows no foreign content, and cannot be framed', async () => {
    for (const path of [
      '/',
      '/needs',
      '/machines',
      '/machines/a%2Fb',
      '/actions',
      '/events',
      '/clusters',
      '/tenants',
      '/providers/a',
      '/offerings/a%2Fb',
      '/gangs',
      '/gangs/a%2Fb',
      '/shards',
    ]) {
      const response = await fetch(`${url}${path}`);
      expect(response.status, path).toBe(200);
      const policy = response.headers.get('content-security-policy')!;
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('x-frame-options')).toBe('DENY');
      const html = await response.text();
      expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
      expect(html).not.toContain('<style');
    }
  });

  it('are cached: a second request for an asset gets 304', async () => {
    const first = await fetch(`${url}/assets/client/main.js`);
    expect(first.headers.get('content-type')).toContain('text/javascript');
    const headers = { 'If-None-Match': first.headers.get('etag')! };
    expect((await fetch(`${url}/assets/client/main.js`, { headers })).status).toBe(304);
    expect((await fetch(`${url}/assets/style.css`)).headers.get('content-type')).toContain('text/css');
  });
});
