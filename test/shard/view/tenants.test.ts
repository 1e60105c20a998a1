/** The page of tenants over real tables. */
import { describe, expect, it } from 'vitest';
import { LiveWorld } from '../../dashboard/live-world.ts';

function liveWorld(): LiveWorld {
  const live = new LiveWorld(400);
  for (let step = 0; step < 3; step++) live.step();
  return live;
}

const reject = ({ world }: LiveWorld, clusterId: string, detail: string) =>
  world.refusals.happened({ kind: 'rollup_rejected', level: 'warn', clusterId, detail });

describe('the page of tenants', () => {
  it('lists clusters and providers, the one that was refused most often first, then by machines', async () => {
    const live = liveWorld();
    reject(live, 'cluster-0001', 'a row is too large');
    reject(live, 'stranger', 'the table of clusters is full');
    reject(live, 'stranger', 'the table of clusters is full');
    const { tenants, matching, total } = await live.world.view.tenantsPage({}, '');
    expect(tenants.slice(0, 2).map(({ name, refused }) => [name, refused])).toEqual([
      ['stranger', 2],
      ['cluster-0001', 1],
    ]);
    expect(tenants[2]).toMatchObject({ kind: 'provider', name: 'test', refused: 0, cluster: null });
    const machines = tenants.slice(2).map((tenant) => tenant.machines.reduce((sum, count) => sum + count, 0));
    expect(machines).toEqual([...machines].sort((a, b) => b - a));
    expect(machines[0]).toBe(live.world.inventory.count);
    expect([matching, total]).toEqual([tenants.length, tenants.length]);
  });

  it('shows what a cluster uses', async () => {
    const live = liveWorld();
    live.world.suspensions.set('cluster-0000', {
      reason: 'its need web threw',
      sinceMs: 0,
      untilMs: 600_000,
    });
    const { tenants } = await live.world.view.tenantsPage({ prefix: 'cluster-0000' }, '');
    const [one] = tenants;
    const { inventory, needs } = live.world;
    const ref = inventory.tables.clusters.find('cluster-0000');
    expect(one).toMatchObject({ kind: 'cluster', provider: null, refused: 0, lastReason: '' });
    expect(one!.cluster).toMatchObject({ needs: needs.sliceCount(ref), suspended: 'its need web threw' });
    expect(one!.cluster!.rollupRows).toBeGreaterThanOrEqual(one!.cluster!.needs);
    const start = needs.sliceStart(ref);
    const profiles = new Set(needs.profile.slice(start, start + needs.sliceCount(ref)));
    expect(one!.cluster!.profiles).toBe(profiles.size);
    expect(one!.usd).toBeGreaterThan(0);
    expect(one!.cluster!.session).toMatchObject({ isConnected: true });
  });

  it('gives each tenant once, page by page, and filters by kind and refusal', async () => {
    const live = liveWorld();
    reject(live, 'cluster-0002', 'a row is too large');
    const { view } = live.world;
    const whole = await view.tenantsPage({}, '');
    const names: string[] = [];
    let after = '';
    do {
      const page = await view.tenantsPage({ limit: 3 }, after);
      expect(page.tenants.length).toBeLessThanOrEqual(3);
      names.push(...page.tenants.map(({ name }) => name));
      after = page.next;
    } while (after !== '');
    expect(names).toEqual(whole.tenants.map(({ name }) => name));
    const providers = await view.tenantsPage({ kind: 'provider' }, '');
    expect(providers.tenants.map(({ name }) => name)).toEqual(['test', 'other']);
    const refused = await view.tenantsPage({ refusedOnly: true }, '');
    expect(refused.tenants.map(({ name }) => name)).toEqual(['cluster-0002']);
    for (const cursor of ['zzz', Buffer.from('[1,2,"x","y"]').toString('base64url')])
      await expect(view.tenantsPage({}, cursor)).rejects.toThrow('cursor');
  });
});
