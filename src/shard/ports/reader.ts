/** Read access to the shard, for the dashboard, the HTTP API and reports. */
import type { BudgetView } from './budgets.ts';
import type { MachineExplanation, NeedExplanation } from './explain.ts';
import type {
  ClustersPage,
  FleetSummary,
  MachinesPage,
  MachinesQuery,
  OfferingBackoffView,
  RailsView,
} from './fleet-view.ts';
import type { ShardGauges } from './observer.ts';
import type { SpendingSample } from './spending.ts';
import type { OfferingsView, ProvidersView } from './supply.ts';
import type { TenantsPage, TenantsQuery } from './tenants.ts';
import type { GangCounts, NeedsReader, ReportFacts, ShardStatus, ShortfallView } from './view.ts';

export interface ClustersQuery {
  readonly prefix?: string;
  readonly unmetOnly?: boolean;
  readonly disconnectedOnly?: boolean;
  /** The page begins after this id. */
  readonly after?: string;
  readonly limit?: number;
}

export interface NeedToExplain {
  readonly clusterId: string;
  /** Both left out: the cluster's first unmet needs. */
  readonly fingerprint?: string;
  readonly group?: string;
  /** Only gangs. */
  readonly gangs?: 'all';
}

export interface ShardReader extends NeedsReader {
  status(): ShardStatus;
  rails(): RailsView;
  gauges(): ShardGauges;
  /** Needs that the last cycle did not satisfy. */
  unmetCount(): number;
  /** By state number. */
  stateCounts(): readonly number[];
  /** At most a second old. */
  summary(): Promise<FleetSummary>;
  /** E5: what the fleet costs now. */
  spending(): Promise<SpendingSample>;
  /** Of the cluster, or of all if the id is ''. */
  gangCounts(clusterId: string): Promise<GangCounts>;
  /** H9: the disruption budgets, as the configuration lists them, and what each has used. */
  budgets(): readonly BudgetView[];
  shortfalls(): readonly ShortfallView[];
  /** X12: offerings in back-off after failed creates, the one that ends first at the head. */
  offeringsInBackoff(): readonly OfferingBackoffView[];
  /** At most a second old; back-offs are of now. */
  offerings(): Promise<OfferingsView>;
  providers(): Promise<ProvidersView>;
  reportFacts(): ReportFacts;
  /** `after` is the `next` of the page before; '' is the first. */
  machinesPage(query: MachinesQuery, after: string): Promise<MachinesPage>;
  clustersPage(query: ClustersQuery): Promise<ClustersPage>;
  /** `after` is the `next` of the page before; '' is the first. */
  tenantsPage(query: TenantsQuery, after: string): Promise<TenantsPage>;
  explainNeeds(need: NeedToExplain): Promise<NeedExplanation[]>;
  /** Null if there is no such machine. */
  explainMachine(machineId: string): Promise<MachineExplanation | null>;
}
