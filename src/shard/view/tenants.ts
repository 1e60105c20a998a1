/** Pages of tenants: clusters and providers together, the one that the shard refused most often first. */
import { compareBytewise } from '../../base/dimensions.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { FleetSummary, SessionView } from '../ports/fleet-view.ts';
import type { TenantKind, TenantsPage, TenantsQuery, TenantView } from '../ports/tenants.ts';
import { BadCursorError } from './need-key.ts';
import type { ViewSources } from './sources.ts';
import type { UnmetRows } from './unmet-rows.ts';

export const TENANTS_PER_PAGE = 500;
/** Needs whose profiles are counted in one turn of the event loop: about a millisecond. */
const NEEDS_PER_TURN = 131_072;

/** Its place in the list. */
interface Place {
  readonly kind: TenantKind;
  readonly name: string;
  readonly refused: number;
  readonly machines: number;
}

export async function tenantsPage(
  sources: ViewSources,
  unmet: UnmetRows,
  summary: FleetSummary,
  { kind = '', prefix = '', refusedOnly = false, limit = TENANTS_PER_PAGE }: TenantsQuery,
  after: string,
): Promise<TenantsPage> {
  const all = placesOf(sources, summary);
  const matching = all
    .filter((place) => kind === '' || place.kind === kind)
    .filter(({ name }) => name.startsWith(prefix))
    .filter(({ refused }) => !refusedOnly || refused > 0)
    .sort(comparePlaces);
  const last = after === '' ? null : decodeCursor(after);
  const from = last === null ? 0 : matching.findIndex((place) => comparePlaces(place, last) > 0);
  const page = from < 0 ? [] : matching.slice(from, from + limit);
  const reader = new TenantReader(sources, unmet, summary);
  const tenants: TenantView[] = [];
  for (const place of page) tenants.push(await reader.read(place));
  return {
    atMs: sources.clock.nowMs(),
    limits: sources.rollupLimits,
    tenants,
    matching: matching.length,
    total: all.length,
    next: from >= 0 && from + limit < matching.length ? encodeCursor(page.at(-1)!) : '',
  };
}

/** Clusters with a session, demand or machines, all providers, and whatever else was refused. */
function placesOf(sources: ViewSources, { byProvider }: FleetSummary): Place[] {
  const { inventory, needs, refusals } = sources;
  const { clusters } = inventory.tables;
  const names = new Map<string, number>();
  for (const { clusterId, isConnected } of sources.sessions()) if (isConnected) names.set(clusterId, 0);
  for (const ref of needs.clusterRefs()) names.set(clusters.get(ref), 0);
  for (let ref = 1; ref < clusters.refLimit; ref++) {
    const machines = machineCount(sources, ref);
    if (machines > 0) names.set(clusters.get(ref), machines);
  }
  const providers = new Map(byProvider.map(({ name, machines }) => [name, machines.reduce(add, 0)]));
  for (const { kind, name } of refusals.all()) {
    const known = kind === 'cluster' ? names : providers;
    if (!known.has(name)) known.set(name, 0);
  }
  const place = (kind: TenantKind, name: string, machines: number) => ({
    kind,
    name,
    machines,
    refused: refusals.of(kind, name)?.refused ?? 0,
  });
  return [
    ...[...names].map(([name, machines]) => place('cluster', name, machines)),
    ...[...providers].map(([name, machines]) => place('provider', name, machines)),
  ];
}

const add = (sum: number, count: number) => sum + count;

function machineCount({ inventory }: ViewSources, cluster: number): number {
  return ALL_STATES.reduce<number>((sum, state) => sum + inventory.indexes.countOfCluster(cluster, state), 0);
}

function comparePlaces(one: Place, other: Place): number {
  return (
    other.refused - one.refused ||
    other.machines - one.machines ||
    compareBytewise(one.kind, other.kind) ||
    compareBytewise(one.name, other.name)
  );
}

function encodeCursor({ refused, machines, kind, name }: Place): string {
  return Buffer.from(JSON.stringify([refused, machines, kind, name])).toString('base64url');
}

function decodeCursor(text: string): Place {
  try {
    const parts = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown;
    if (Array.isArray(parts) && parts.length === 4) {
      const [refused, machines, kind, name] = parts as unknown[];
      const isKind = kind === 'cluster' || kind === 'provider';
      if (
        Number.isSafeInteger(refused) &&
        Number.isSafeInteger(machines) &&
        isKind &&
        typeof name === 'string'
      )
        return { refused: refused as number, machines: machines as number, kind, name };
    }
  } catch {
    // Not JSON: refused below.
  }
  throw new BadCursorError();
}

class TenantReader {
  readonly #sources: ViewSources;
  readonly #unmet: UnmetRows;
  readonly #sessions: ReadonlyMap<string, SessionView>;
  readonly #usd: ReadonlyMap<string, number>;
  readonly #providers: ReadonlyMap<string, FleetSummary['byProvider'][number]>;
  readonly #seen = new Set<number>();
  #needsThisTurn = 0;

  constructor(sources: ViewSources, unmet: UnmetRows, { cost, byProvider }: FleetSummary) {
    this.#sources = sources;
    this.#unmet = unmet;
    this.#sessions = new Map(sources.sessions().map((session) => [session.clusterId, session]));
    this.#usd = new Map(cost.byCluster.map(({ clusterId, usd }) => [clusterId, usd]));
    this.#providers = new Map(byProvider.map((one) => [one.name, one]));
  }

  async read({ kind, name }: Place): Promise<TenantView> {
    const refusal = this.#sources.refusals.of(kind, name);
    const shared = {
      kind,
      name,
      refused: refusal?.refused ?? 0,
      lastReason: refusal?.reason ?? '',
      lastRefusedAtMs: refusal?.atMs ?? 0,
    };
    if (kind === 'provider') {
      const known = this.#providers.get(name);
      return {
        ...shared,
        machines: known?.machines ?? [0, ...ALL_STATES.map(() => 0)],
        usd: known?.usd ?? 0,
        cluster: null,
        provider: { listing: this.#sources.refusals.listing(name) },
      };
    }
    const { inventory, needs } = this.#sources;
    await this.#turn(needs.sliceCount(inventory.tables.clusters.find(name)));
    // Looked up after the turn, in which the cluster may have gone.
    const ref = inventory.tables.clusters.find(name);
    return {
      ...shared,
      machines: [0, ...ALL_STATES.map((state) => inventory.indexes.countOfCluster(ref, state))],
      usd: this.#usd.get(name) ?? 0,
      cluster: {
        session: this.#sessions.get(name) ?? null,
        rollupRows: needs.acceptedRows(ref),
        needs: needs.sliceCount(ref),
        waitingNeeds: needs.waitingNeeds(ref),
        unmetNeeds: this.#unmet.ofCluster(ref)?.length ?? 0,
        profiles: this.#profiles(ref),
        quarantinedRollups: needs.quarantinedRollups(ref),
        suspended: this.#sources.suspension(ref)?.reason ?? '',
      },
      provider: null,
    };
  }

  async #turn(needCount: number): Promise<void> {
    this.#needsThisTurn += needCount;
    if (this.#needsThisTurn < NEEDS_PER_TURN) return;
    this.#needsThisTurn = 0;
    await this.#sources.nextTurn();
  }

  #profiles(cluster: number): number {
    const { needs } = this.#sources;
    const start = needs.sliceStart(cluster);
    const count = needs.sliceCount(cluster);
    this.#seen.clear();
    for (let row = start; row < start + count; row++) this.#seen.add(needs.profile[row]!);
    return this.#seen.size;
  }
}
