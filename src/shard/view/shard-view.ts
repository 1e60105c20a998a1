/**
 * The shard as people and other programs see it. Each answer is made on request from the live tables and the last cycle's
 * verdicts; long ones are made in slices. Nothing here writes, and no cycle waits for it.
 */
import { MachineState } from '../../machine/state.ts';
import type { BudgetView } from '../ports/budgets.ts';
import type { MachineExplanation, NeedExplanation } from '../ports/explain.ts';
import type {
  ClustersPage,
  FleetSummary,
  MachinesPage,
  MachinesQuery,
  OfferingBackoffView,
  RailsView,
} from '../ports/fleet-view.ts';
import type { ShardGauges } from '../ports/observer.ts';
import type { ClustersQuery, NeedToExplain, ShardReader } from '../ports/reader.ts';
import type { SpendingSample } from '../ports/spending.ts';
import type { OfferingsView, ProvidersView } from '../ports/supply.ts';
import type { TenantsPage, TenantsQuery } from '../ports/tenants.ts';
import type {
  GangCounts,
  NeedsPage,
  NeedsQuery,
  ReportFacts,
  ShardStatus,
  ShortfallView,
} from '../ports/view.ts';
import { CLUSTERS_PER_PAGE, clustersPage } from './clusters.ts';
import { explainMachine } from './explain/machine.ts';
import { explainNeed } from './explain/need.ts';
import { FleetSummaries } from './fleet-summary.ts';
import { GangSums } from './gangs.ts';
import { MachinePages } from './machine-pages.ts';
import { NeedRows } from './need-filter.ts';
import type { RowList } from './need-key.ts';
import { NeedsView } from './needs-reader.ts';
import { OfferingSums } from './offerings.ts';
import { providersView } from './providers.ts';
import { reportFactsOf, shortfallsOf } from './shortfalls.ts';
import type { ViewSources } from './sources.ts';
import { spendingNow } from './spending.ts';
import { tenantsPage } from './tenants.ts';

/** Unmet needs of a cluster that are explained if the request names none, as far as this time allows; one always. */
const EXPLAINED_MAX = 20;
const EXPLAINING_MS_MAX = 600;

export class ShardView implements ShardReader {
  readonly #sources: ViewSources;
  readonly #needs: NeedsView;
  readonly #machines: MachinePages;
  readonly #summaries: FleetSummaries;
  readonly #offerings: OfferingSums;
  readonly #gangs: GangSums;

  constructor(sources: ViewSources) {
    this.#sources = sources;
    this.#needs = new NeedsView(sources);
    this.#machines = new MachinePages(sources);
    this.#summaries = new FleetSummaries(sources);
    this.#offerings = new OfferingSums(sources);
    this.#gangs = new GangSums(sources, this.#needs.unmet);
  }

  status(): ShardStatus {
    return this.#sources.status();
  }

  rails(): RailsView {
    return this.#sources.rails();
  }

  gauges(): ShardGauges {
    return this.#sources.gauges();
  }

  unmetCount(): number {
    return this.#needs.unmet.count;
  }

  stateCounts(): readonly number[] {
    return this.#summaries.stateCounts();
  }

  spending(): Promise<SpendingSample> {
    return spendingNow(this.#sources);
  }

  summary(): Promise<FleetSummary> {
    return this.#summaries.read();
  }

  inspectNeeds(query: NeedsQuery) {
    return this.#needs.inspectNeeds(query);
  }

  needsPage(query: NeedsQuery, after: string): Promise<NeedsPage> {
    return this.#needs.needsPage(query, after);
  }

  machinesPage(query: MachinesQuery, after: string): Promise<MachinesPage> {
    return this.#machines.page(query, after);
  }

  async clustersPage(query: ClustersQuery): Promise<ClustersPage> {
    await this.#needs.inStep();
    const { prefix = '', unmetOnly = false, disconnectedOnly = false, after = '' } = query;
    const limit = Math.min(query.limit ?? CLUSTERS_PER_PAGE, CLUSTERS_PER_PAGE);
    const asked = { prefix, unmetOnly, disconnectedOnly, after, limit };
    return clustersPage(this.#sources, this.#needs.unmet, asked);
  }

  async tenantsPage(query: TenantsQuery, after: string): Promise<TenantsPage> {
    const summary = await this.#summaries.read();
    await this.#needs.inStep();
    return tenantsPage(this.#sources, this.#needs.unmet, summary, query, after);
  }

  gangCounts(clusterId: string): Promise<GangCounts> {
    return this.#gangs.read(clusterId);
  }

  budgets(): readonly BudgetView[] {
    return this.#sources.budgets();
  }

  shortfalls(): readonly ShortfallView[] {
    return shortfallsOf(this.#sources);
  }

  offeringsInBackoff(): readonly OfferingBackoffView[] {
    return this.#sources.offeringsInBackoff();
  }

  offerings(): Promise<OfferingsView> {
    return this.#offerings.read();
  }

  async providers(): Promise<ProvidersView> {
    const offerings = await this.#offerings.read();
    return providersView(this.#sources, await this.#summaries.read(), offerings);
  }

  reportFacts(): ReportFacts {
    return reportFactsOf(this.#sources);
  }

  /** Empty if there is no such need; without a name, the cluster's first unmet needs. */
  async explainNeeds({ clusterId, fingerprint, group, gangs }: NeedToExplain): Promise<NeedExplanation[]> {
    const { inventory, needs, clock } = this.#sources;
    const cluster = inventory.tables.clusters.find(clusterId);
    if (cluster === 0) return [];
    await this.#needs.inStepOf(cluster);
    const untilMs = clock.nowMs() + EXPLAINING_MS_MAX;
    const explained: NeedExplanation[] = [];
    const isNamed = fingerprint !== undefined || group !== undefined;
    const rows = isNamed
      ? rowsOf(new NeedRows(this.#sources, { fingerprint, group, gangs }).of(cluster))
      : [...(this.#needs.unmet.ofCluster(cluster) ?? [])];
    for (const row of rows.slice(0, EXPLAINED_MAX)) {
      if (row >= needs.sliceCount(cluster)) break; // the cluster's demand has shrunk meanwhile
      explained.push(await explainNeed(this.#sources, cluster, row));
      if (clock.nowMs() >= untilMs) break;
      await this.#needs.inStepOf(cluster);
    }
    return explained;
  }

  /** Null if there is no such machine. */
  async explainMachine(machineId: string): Promise<MachineExplanation | null> {
    const { inventory } = this.#sources;
    // Only a free machine is compared with the needs of all clusters.
    const isFree = isFreeState(inventory.columns.state[inventory.find(machineId)]);
    if (isFree) await this.#needs.inStep();
    const slot = inventory.find(machineId);
    return slot === 0 ? null : explainMachine(this.#sources, this.#needs.unmet, slot);
  }
}

/** As many as are explained. */
function rowsOf({ count, at }: RowList): number[] {
  return Array.from({ length: Math.min(count, EXPLAINED_MAX) }, (_, position) => at(position));
}

function isFreeState(state: number | undefined): boolean {
  return state === MachineState.Idle || state === MachineState.Speculative;
}
