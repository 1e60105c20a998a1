/** The HTTP servers of a shard process: metrics, API, dashboard and health checks. */
import { createDashboard } from '../dashboard/dashboard.ts';
import { HttpServer, type Readiness } from '../observe/http.ts';
import { HEALTH_LIMITS, HTTP_REFUSALS, type HttpRefusal } from '../observe/http-limits.ts';
import type { FleetReader } from '../shard/ports/fleet.ts';
import type { ShardReader } from '../shard/ports/reader.ts';
import type { SpendingStore } from '../spending/store.ts';
import type { Closer, ProcessParts } from './shard-parts.ts';

export interface HttpServers {
  readonly http: HttpServer | null;
  /** The server of --health-addr. */
  readonly health: HttpServer | null;
}

/** What the servers show; view and readiness change when a standby becomes active. */
export interface Shown {
  readonly view: () => ShardReader;
  readonly readiness: () => Readiness;
  readonly spending: SpendingStore | null;
  /** F7: null without --directory. */
  readonly fleet: FleetReader | null;
}

export async function startHttp(
  parts: ProcessParts,
  { view, readiness, spending, fleet }: Shown,
  closers: Closer[],
): Promise<HttpServers> {
  const { config, log, metrics, history, version, clock } = parts;
  metrics.watch({ isReady: () => readiness().isReady });
  const listen = { allowedHosts: config.metricsHost, readiness, log };
  const { healthAddr, metricsAddr } = config;
  // T13: probes on an address of their own wait behind no other client.
  const health =
    healthAddr === null
      ? null
      : await HttpServer.listen({
          ...listen,
          host: healthAddr.host,
          port: healthAddr.port,
          limits: HEALTH_LIMITS,
          setting: '--health-addr',
        });
  if (health !== null) closers.push(() => health.close());
  const http =
    metricsAddr === null
      ? null
      : await HttpServer.listen({
          ...listen,
          host: metricsAddr.host,
          port: metricsAddr.port,
          scrape: () => metrics.scrape(),
        });
  const servers = [http, health].filter((server) => server !== null);
  if (servers.length > 0) metrics.watch({ httpRefused: () => refusedBy(servers) });
  if (http === null) return { http, health };
  closers.push(() => http.close());
  const dashboard = createDashboard({
    view,
    history,
    events: parts.events,
    spending,
    fleet,
    whatIf: parts.whatIf,
    version,
    nowMs: clock.nowMs,
  });
  http.mount('/', dashboard);
  return { http, health };
}

function refusedBy(servers: readonly HttpServer[]): Record<HttpRefusal, number> {
  const sums = { ...servers[0]!.refused };
  for (const { refused } of servers.slice(1))
    for (const reason of HTTP_REFUSALS) sums[reason] += refused[reason];
  return sums;
}
