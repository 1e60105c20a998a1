/** What the engine keeps per cluster: where its needs and machines are, and what must be looked at again. */

import { FamilyLists } from '../supply/family-lists.ts';
import { FoldGroups } from './fold-groups.ts';
import type { FoldQuerier } from './fold-queries.ts';

const NO_ROWS = new Uint32Array(0);
const NO_FLAGS = new Uint8Array(0);

export class ClusterState {
  readonly ref: number;
  readonly familyLists = new FamilyLists();
  /**
   * Rows of the need table, as last read: index in the cluster's slice → its assignment, and its need. Rows that may
   * fold have no assignment (0) until a machine carries it or a count needs it: most never do.
   */
  rowCount = 0;
  /** Of the need table, as of then; -1 = never read. */
  readVersion = -1;
  rowAssignment: Uint32Array = NO_ROWS;
  /** Its fold group, as index in `groups` + 1; 0 = it never folds. */
  rowGroup: Uint32Array = NO_ROWS;
  rowNeed: Uint32Array = NO_ROWS;
  /** The filter of a machine that holds one such gang whole (its id), and whether the row folds now. */
  rowFit: Uint32Array = NO_ROWS;
  rowFolds: Uint8Array = NO_FLAGS;
  /** The rows that may fold, by group. */
  groupRows: Uint32Array = NO_ROWS;
  groups = new FoldGroups();
  /** Normalised needs: a slice of the need columns, in order N4. */
  needStart = 0;
  needCount = 0;
  /** Machines whose availability to this cluster's needs changed since its last credit. */
  readonly newlyAvailable: number[] = [];
  /** Another one whenever something changed that its gangs count; no two clusters ever have the same. */
  version = 0;
  /** Some need is marked, or `fresh` is not empty. */
  touched = false;
  /** The normalised needs must be made anew. */
  stale = false;
  /** Its rows were read in this cycle, with every assignment that machines carry. */
  wasRead = false;
  /** Fold groups for which a machine that A1 looks at changed; all of them, if `foldsTouched`. */
  readonly touchedGroups: number[] = [];
  foldsTouched = false;
  /** By fold group: those that ask the free machines (fold-queries.ts). */
  readonly openQueries = new Map<number, FoldQuerier>();
  configuredCount = 0;
  configuringCount = 0;
  claimedConfiguredCount = 0;
  /** Position in the bytewise order of cluster ids, as of when its id was this (refs are reused). */
  rank = 0;
  rankedId = '';

  constructor(ref: number) {
    this.ref = ref;
  }
}
