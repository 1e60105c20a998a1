/** The API and the dashboard of a real shard process with a real provider and real sessions: checks the wiring. */
import { afterEach, describe, expect, it } from 'vitest';
import type {
  ApiActions,
  ApiClusters,
  ApiHistory,
  ApiMachineInFull,
  ApiMachines,
  ApiNeeds,
  ApiOverview,
} from '../../src/dashboard/api/types.ts';
import { Processes } from '../service/processes.ts';

const processes = new Processes();

afterEach(() => processes.end());

describe('a running shard', () => {
  it('serves its machines, needs, sessions, actions, cycles and pages over HTTP', async () => {
    const fleet = ['--machines', '300', '--clusters', '3', '--seed', '5'];
    const provider = await processes.provider(...fleet, '--idle', '60%');
    const shard = await processes.shard(provider.address, '--cycle-interval', '500ms');
    const operators = processes.start(
      'operators',
      '--shard',
      shard.address,
      ...fleet,
      '--ramp',
      '100ms',
      '--rollup-interval',
      '1s',
    );
    const get = async <T>(path: string): Promise<T> => {
      const response = await fetch(new URL(`/api/v1/${path}`, shard.http));
      return (await response.json()) as T;
    };
    await expect
      .poll(async () => (await get<ApiOverview>('overview')).byState.Configured)
      .toBeGreaterThan(100);
    const overview = await get<ApiOverview>('overview');
    expect(overview).toMatchObject({ machines: 300, clusters: 3, isReady: true });
    expect(overview.cost.totalUsd).toBeGreaterThan(0);
    const { clusters } = await get<ApiClusters>('clusters');
    expect(clusters.map(({ session }) => session?.connected)).toEqual([true, true, true]);
    expect(clusters.every(({ reported, needs }) => reported && needs > 0)).toBe(true);
    const { needs, total } = await get<ApiNeeds>('needs?limit=500');
    expect(needs.length).toBe(Math.min(500, total));
    const { actions } = await get<ApiActions>('actions?limit=500&kind=Bootstrap');
    expect(actions.length).toBeGreaterThan(10);
    const { machines } = await get<ApiMachines>('machines?state=Configured&limit=1');
    const full = await get<ApiMachineInFull>(`machines/${encodeURIComponent(machines[0]!.id)}`);
    expect(full.machine).toMatchObject({ provider: 'sim', state: 'Configured' });
    expect(full.sentences[0]).toContain('bound to cluster-000');
    const { samples } = await get<ApiHistory>('history');
    expect(samples.at(-1)!.byState.Configured).toBeGreaterThan(0);
    operators.child.kill('SIGKILL');
    const gone = () => get<ApiClusters>('clusters?disconnected=true');
    await expect.poll(async () => (await gone()).clusters.length).toBe(3);
    for (const { session, needs: kept } of (await gone()).clusters) {
      expect(session).toMatchObject({ connected: false });
      expect(session!.sinceAtMs).toBeGreaterThan(overview.startedAtMs);
      expect(kept).toBeGreaterThan(0);
    }
    const page = await fetch(new URL('/needs', shard.http));
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect((await fetch(new URL('/assets/client/main.js', shard.http))).status).toBe(200);
  });
});
