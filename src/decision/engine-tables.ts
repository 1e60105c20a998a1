/**
 * The tables that the stages of a cycle share. Each stage takes this object and keeps in private fields what it reads,
 * so a new table is one line here and one name in the stages that use it.
 *
 * A table may read those above it; a stage (sync, credit, acquire, preempt, reclaim, verdicts) reads and writes any.
 */
import type { VectorTable } from '../base/vectors.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { NeedTable } from '../needs/need-table.ts';
import { Claims } from './assign/claims.ts';
import { GangDomains } from './assign/gang-domains.ts';
import { CHEAPEST, type Placement } from './assign/placement.ts';
import { ScanContext } from './assign/scan.ts';
import { UnmetNeeds } from './assign/unmet.ts';
import { ClusterRows } from './demand/cluster-rows.ts';
import { EngineNeeds } from './demand/engine-needs.ts';
import { FoldQueries } from './demand/fold-queries.ts';
import { ServingOrder } from './demand/serving-order.ts';
import type { EngineOptions } from './engine.ts';
import { Limits } from './limits.ts';
import { Restrictions } from './restrictions.ts';
import { AssignmentTable } from './supply/assignments.ts';
import { Drains } from './supply/drains.ts';
import { COARSE_VALUES_MAX, Families } from './supply/families.ts';
import { Filters } from './supply/filters.ts';
import { Fleet } from './supply/fleet.ts';
import { SlotAttributes } from './supply/slot-attributes.ts';
import { Supply } from './supply/supply.ts';

/** `sync` and `verdicts` work on no need, and have cluster 0. */
export type ProbedStage = 'sync' | 'credit' | 'acquire' | 'preempt' | 'verdicts';

/** The cycle that the engine decides, or decided last. */
export interface CurrentCycle {
  /** From 1, every cycle; the counts of A7 (parking) and A8 (cycles unmet) say for which cycle they hold. */
  number: number;
  /** C1: a woken cycle advances no count and emits no Reclaim. */
  isOrdinary: boolean;
  /** An ordinary cycle whose counts do not stand still (H4). */
  isCounting: boolean;
  nowMs: number;
  /** For measurements: by cluster, when the first of the roll-ups arrived that this cycle reads. */
  askedMs: ReadonlyMap<number, number> | null;
  /** T2: the need under evaluation, so that a throw has a culprit; -1 = none. */
  need: number;
  /** For tests, which let a need throw; null otherwise. */
  readonly probe: ((stage: ProbedStage, cluster: number) => void) | null;
}

export interface EngineTables {
  readonly cycle: CurrentCycle;
  readonly placement: Placement;
  /** The inputs. The shard writes both. */
  readonly inventory: Inventory;
  readonly needTable: NeedTable;
  readonly vectors: VectorTable;
  /** Supply: the machines by role, family and assignment. */
  readonly assignments: AssignmentTable;
  readonly families: Families;
  readonly fleet: Fleet;
  readonly filters: Filters;
  readonly drains: Drains;
  readonly supply: Supply;
  /** Demand: rows, and the needs that they become. */
  readonly needs: EngineNeeds;
  readonly order: ServingOrder;
  readonly foldQueries: FoldQueries;
  readonly rows: ClusterRows;
  /** Who has what, and who may not act. */
  readonly claims: Claims;
  readonly domains: GangDomains;
  readonly scans: ScanContext;
  readonly restrictions: Restrictions;
  readonly limits: Limits;
  readonly unmet: UnmetNeeds;
}

export function createTables(options: EngineOptions): EngineTables {
  const { inventory, needs: needTable } = options;
  const { clusters, fingerprints, groups } = inventory.tables;
  const { vectors } = inventory.shapes;
  const cycle: CurrentCycle = {
    number: 0,
    isOrdinary: true,
    isCounting: true,
    nowMs: 0,
    askedMs: null,
    need: -1,
    probe: options.probe ?? null,
  };
  const attributes = new SlotAttributes(inventory);
  const assignments = new AssignmentTable(clusters, fingerprints, groups);
  const families = new Families(inventory.shapes, vectors, options.coarseValuesMax ?? COARSE_VALUES_MAX);
  const fleet = new Fleet(inventory, families, assignments);
  const filters = new Filters(inventory, needTable.profiles, families, attributes);
  const drains = new Drains(assignments, clusters);
  const supply = new Supply(fleet);
  const needs = new EngineNeeds();
  const order = new ServingOrder({ inventory, needTable, fleet, needs });
  const foldQueries = new FoldQueries();
  const rows = new ClusterRows({ inventory, needTable, fleet, filters, foldQueries });
  const claims = new Claims(fleet, needs);
  const domains = new GangDomains(needTable.profiles, needs, fleet, attributes);
  const scans = new ScanContext(fleet, filters, supply);
  const restrictions = new Restrictions(options, { cycle, needTable, fleet, needs });
  const limits = new Limits(options.limits, fleet);
  const unmet = new UnmetNeeds(needs, order);
  return {
    cycle,
    placement: options.placement ?? CHEAPEST,
    inventory,
    needTable,
    vectors,
    assignments,
    families,
    fleet,
    filters,
    drains,
    supply,
    needs,
    order,
    foldQueries,
    rows,
    claims,
    domains,
    scans,
    restrictions,
    limits,
    unmet,
  };
}
