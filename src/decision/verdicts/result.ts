/**
 * The outcome of a cycle as the columns that hold it, and the state that no table holds: drains (P6), and the counts of
 * parking (A7) and cycles unmet (A8). The shard compares it with an engine in another thread that decides the same cycle
 * from scratch (shard/check). These are views and short lists, valid until the engine decides again.
 */
import type { Pieces } from '../../base/image.ts';
import type { InventoryTables } from '../../inventory/tables.ts';
import type { ActionList } from '../actions.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { AssignmentTable, CountColumns } from '../supply/assignments.ts';

export interface EngineMemory {
  /** The last cycle decided. */
  readonly cycle: number;
  readonly counts: CountColumns;
  readonly drains: {
    readonly slot: Uint32Array;
    readonly cluster: Uint32Array;
    readonly fingerprint: Uint32Array;
    readonly group: Uint32Array;
  };
}

export interface EngineResult {
  readonly cycle: number;
  readonly isOrdinary: boolean;
  /** By slot. */
  readonly claims: {
    readonly claim: Uint32Array;
    readonly cluster: Uint16Array;
    readonly takenBy: Uint32Array;
  };
  /** By need. */
  readonly needs: {
    readonly assignment: Uint32Array;
    readonly kind: Uint8Array;
    readonly marks: Uint16Array;
    readonly aggregate: Uint32Array;
    readonly creditCount: Uint32Array;
    readonly domain: Uint32Array;
  };
  /** By assignment. */
  readonly assignments: {
    readonly cluster: Uint32Array;
    readonly fingerprint: Uint32Array;
    readonly group: Uint32Array;
  };
  readonly counts: CountColumns;
  /** Clusters with rows, and the rows of one cluster after the other. */
  readonly clusters: {
    readonly ref: Uint32Array;
    readonly rowCount: Uint32Array;
    readonly needStart: Uint32Array;
    readonly rowNeed: Pieces;
    readonly rowAssignment: Pieces;
  };
  /** By entry. */
  readonly unmet: {
    readonly width: number;
    readonly need: Uint32Array;
    readonly rest: Float64Array;
    readonly acquired: Uint32Array;
    readonly bootstraps: Uint32Array;
    readonly provisions: Uint32Array;
    readonly gangsHeld: Float64Array;
    readonly limitedBy: Uint8Array;
    readonly reason: Uint8Array;
  };
  readonly actions: ActionColumns;
  /** For each list of Same keys (as JSON): the texts of its domains by number, as JSON. */
  readonly domainTexts: readonly (readonly [keys: string, texts: string])[];
}

export type ActionColumns = Pick<
  ActionList,
  | 'kind'
  | 'slot'
  | 'cluster'
  | 'forCluster'
  | 'fingerprint'
  | 'group'
  | 'priority'
  | 'interruptionPenalty'
  | 'reclamationPenalty'
  | 'graceSeconds'
  | 'victim'
>;

export function memoryOf({ cycle, assignments, drains }: EngineTables): EngineMemory {
  const draining = [...drains];
  const column = (of: (pair: readonly [slot: number, assignment: number]) => number) =>
    Uint32Array.from(draining, of);
  return {
    cycle: cycle.number,
    counts: countsSince(cycle.number, assignments),
    drains: {
      slot: column(([slot]) => slot),
      cluster: column(([, assignment]) => assignments.cluster[assignment]!),
      fingerprint: column(([, assignment]) => assignments.fingerprint[assignment]!),
      group: column(([, assignment]) => assignments.group[assignment]!),
    },
  };
}

/**
 * Holds references to the refs of a memory while the engine decides: without them the refs of a withdrawn need could be
 * reused in the same cycle. Returns the function that releases them.
 */
export function holdMemory({ counts, drains }: EngineMemory, tables: InventoryTables): () => void {
  const held: (readonly [cluster: number, fingerprint: number, group: number])[] = [];
  for (const { cluster, fingerprint, group } of [counts, drains]) {
    for (let index = 0; index < cluster.length; index++) {
      if (tables.clusters.referenceCount(cluster[index]!) === 0) continue; // the cluster is gone, and its demand goes in the next cycle
      tables.clusters.retain(cluster[index]!);
      tables.fingerprints.retain(fingerprint[index]!);
      tables.groups.retain(group[index]!);
      held.push([cluster[index]!, fingerprint[index]!, group[index]!]);
    }
  }
  return () => {
    for (const refs of held) tables.releaseRefs(...refs);
  };
}

/** The counts that hold after this cycle; older ones are void. */
export function countsSince(cycle: number, assignments: AssignmentTable): CountColumns {
  const { parkFor, references, limit } = assignments;
  const found: number[] = [];
  for (let assignment = 1; assignment < limit; assignment++) {
    const isCounted = assignments.unmetCount(assignment) > 0 || parkFor[assignment]! > cycle;
    if (isCounted && references[assignment] !== 0) found.push(assignment);
  }
  const words = (column: Uint32Array) => Uint32Array.from(found, (assignment) => column[assignment]!);
  return {
    assignment: Uint32Array.from(found),
    cluster: words(assignments.cluster),
    fingerprint: words(assignments.fingerprint),
    group: words(assignments.group),
    unmetCount: Uint32Array.from(found, (assignment) => assignments.unmetCount(assignment)),
    parkCount: words(assignments.parkCount),
    parkFor: words(parkFor),
  };
}

export function resultOf(tables: EngineTables, actions: ActionList): EngineResult {
  const { cycle, inventory, assignments, fleet, supply, needs, unmet, domains } = tables;
  const { slotLimit } = inventory.columns;
  const entries = unmet.count;
  return {
    cycle: cycle.number,
    isOrdinary: cycle.isOrdinary,
    claims: {
      claim: fleet.claim.subarray(0, slotLimit),
      cluster: fleet.cluster.subarray(0, slotLimit),
      takenBy: supply.takenBy.subarray(0, slotLimit),
    },
    needs: {
      assignment: needs.assignment.subarray(0, needs.limit),
      kind: needs.kind.subarray(0, needs.limit),
      marks: needs.marks.subarray(0, needs.limit),
      aggregate: needs.aggregate.subarray(0, needs.limit),
      creditCount: needs.creditCount.subarray(0, needs.limit),
      domain: needs.domain.subarray(0, needs.limit),
    },
    assignments: {
      cluster: assignments.cluster.subarray(0, assignments.limit),
      fingerprint: assignments.fingerprint.subarray(0, assignments.limit),
      group: assignments.group.subarray(0, assignments.limit),
    },
    counts: countsSince(cycle.number - 1, assignments),
    clusters: clusterRows(fleet.clusters),
    unmet: {
      width: unmet.width,
      need: unmet.need.subarray(0, entries),
      rest: unmet.rest.subarray(0, entries * unmet.width),
      acquired: unmet.acquired.subarray(0, entries),
      bootstraps: unmet.bootstraps.subarray(0, entries),
      provisions: unmet.provisions.subarray(0, entries),
      gangsHeld: unmet.gangsHeld.subarray(0, entries),
      limitedBy: unmet.limitedBy.subarray(0, entries),
      reason: unmet.reason.subarray(0, entries),
    },
    actions: actionColumns(actions),
    domainTexts: domains.texts(),
  };
}

function clusterRows(clusters: readonly (ClusterState | undefined)[]): EngineResult['clusters'] {
  const reporting = clusters.filter((one): one is ClusterState => one !== undefined && one.rowCount > 0);
  return {
    ref: Uint32Array.from(reporting, ({ ref }) => ref),
    rowCount: Uint32Array.from(reporting, ({ rowCount }) => rowCount),
    needStart: Uint32Array.from(reporting, ({ needStart }) => needStart),
    rowNeed: reporting.map(({ rowNeed, rowCount }) => rowNeed.subarray(0, rowCount)),
    rowAssignment: reporting.map(({ rowAssignment, rowCount }) => rowAssignment.subarray(0, rowCount)),
  };
}

function actionColumns(actions: ActionList): ActionColumns {
  const { count } = actions;
  return {
    kind: actions.kind.subarray(0, count),
    slot: actions.slot.subarray(0, count),
    cluster: actions.cluster.subarray(0, count),
    forCluster: actions.forCluster.subarray(0, count),
    fingerprint: actions.fingerprint.subarray(0, count),
    group: actions.group.subarray(0, count),
    priority: actions.priority.subarray(0, count),
    interruptionPenalty: actions.interruptionPenalty.subarray(0, count),
    reclamationPenalty: actions.reclamationPenalty.subarray(0, count),
    graceSeconds: actions.graceSeconds.subarray(0, count),
    victim: actions.victim.subarray(0, count),
  };
}
