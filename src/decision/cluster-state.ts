/** What the engine keeps per cluster: where its needs and machines are, and what must be evaluated again. */

import { FoldGroups } from './demand/fold-groups.ts';
import type { FoldQuerier } from './demand/fold-queries.ts';
import { FamilyLists } from './supply/family-lists.ts';

const NO_ROWS = new Uint32Array(0);
const NO_FLAGS = new Uint8Array(0);

export class ClusterState {
  readonly ref: number;
  readonly familyLists = new FamilyLists();
  /**
   * Rows of the need table, as last read, by index in the cluster's slice: assignment, fold group and need. Rows that
   * may fold have no assignment (0) until a machine carries it or a count needs it: most never do.
   */
  rowCount = 0;
  /** N6: it has reported since the start, so its unclaimed machines may be taken. */
  isPastGate = false;
  /** The version of the need table that was read; -1 = none. */
  readVersion = -1;
  rowAssignment: Uint32Array = NO_ROWS;
  /** The row's fold group, as index in `groups` + 1; 0 = it never folds. */
  rowGroup: Uint32Array = NO_ROWS;
  rowNeed: Uint32Array = NO_ROWS;
  /** The filter (id) of machines that hold one such gang whole, and whether the row folds now. */
  rowFit: Uint32Array = NO_ROWS;
  rowFolds: Uint8Array = NO_FLAGS;
  /** The rows that may fold, by group. */
  groupRows: Uint32Array = NO_ROWS;
  groups = new FoldGroups();
  /** The cluster's needs: a slice of EngineNeeds, in order N4 (priority, arrival, fingerprint, group), with empty places. */
  needStart = 0;
  needSpan = 0;
  needCount = 0;
  /** Machines whose availability to this cluster's needs changed since its last credit. */
  readonly newlyAvailable: number[] = [];
  /** Changes whenever something changed that its gangs count; unique across clusters. */
  version = 0;
  /** Some need is marked, or `newlyAvailable` is not empty. */
  touched = false;
  /** All rows and folds must be compared with the needs, … */
  stale = false;
  /** … or only these fold groups: other rows of them fold than before. */
  readonly flippedGroups: number[] = [];
  /** Its rows were read in this cycle, and have every assignment that machines carry. */
  wasRead = false;
  /** Fold groups whose machines changed, so that folding (A1) is decided again; all groups, if `foldsTouched`. */
  readonly touchedGroups: number[] = [];
  foldsTouched = false;
  /** By fold group: its query about unassigned machines (fold-queries.ts). */
  readonly openQueries = new Map<number, FoldQuerier>();
  configuredCount = 0;
  configuringCount = 0;
  claimedConfiguredCount = 0;
  leavingCount = 0;
  /** Slots of its leaving machines (H5), and of its Configured ones that are cordoned (H6). */
  readonly apart = new Set<number>();
  /** Position in the bytewise order of cluster ids, valid while `rankedId` is its id (refs are reused). */
  rank = 0;
  rankedId = '';

  constructor(ref: number) {
    this.ref = ref;
  }
}
