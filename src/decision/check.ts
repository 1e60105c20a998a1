/**
 * The from-scratch check: whether an engine that repaired its way here says what one would that has just read
 * everything. Repair is an optimisation with a hundred conditions, and a condition that is missing shows as a
 * machine in the wrong hands long after the change that it missed; so a shard derives a cycle again now and
 * then and counts where the two differ. Any count above zero is a defect.
 *
 * Costs a first cycle, and a visit to every machine and need: not for every cycle.
 */
import type { Inventory } from '../inventory/inventory.ts';
import type { NeedTable } from '../needs/need-table.ts';
import type { ActionList } from './actions.ts';
import { type CycleCost, type CycleInput, Engine, type EngineOptions, type PhaseListener } from './engine.ts';
import type { Verdict } from './verdicts/verdicts.ts';

export interface DifferenceCounts {
  /** Actions that are not the same at the same place. */
  readonly actions: number;
  /** Machines that different needs count. */
  readonly claims: number;
  readonly verdicts: number;
}

/** Decides a cycle, and again from scratch, and counts where the two differ. */
export function decideChecked(
  live: Engine,
  options: EngineOptions,
  input: CycleInput,
  onPhase?: PhaseListener,
): { readonly cost: CycleCost; readonly differences: DifferenceCounts } {
  const newlyAvailable = deriveFromScratch(live, options, input);
  try {
    const cost = live.decide(input, onPhase);
    return { cost, differences: countDifferences(live, newlyAvailable, options.inventory, options.needs) };
  } finally {
    newlyAvailable.close();
  }
}

/**
 * The cycle that `live` is about to decide, by an engine that knows only the tables and what no table says.
 * Before the live one's, whose counts move on with it. The caller closes the engine.
 */
export function deriveFromScratch(live: Engine, options: EngineOptions, input: CycleInput): Engine {
  const newlyAvailable = new Engine(options);
  newlyAvailable.adopt(live);
  newlyAvailable.decideFromScratch(input);
  return newlyAvailable;
}

/** Compares two engines after the same cycle over the same tables. */
export function countDifferences(
  live: Engine,
  newlyAvailable: Engine,
  inventory: Inventory,
  needs: NeedTable,
): DifferenceCounts {
  return {
    actions: countActions(live.actions, newlyAvailable.actions),
    claims: countClaims(live, newlyAvailable, inventory),
    verdicts: countVerdicts(live, newlyAvailable, needs),
  };
}

function countActions(live: ActionList, newlyAvailable: ActionList): number {
  const shared = Math.min(live.count, newlyAvailable.count);
  let count = Math.max(live.count, newlyAvailable.count) - shared;
  for (let index = 0; index < shared; index++) if (!isSameAction(live, newlyAvailable, index)) count++;
  return count;
}

function isSameAction(live: ActionList, newlyAvailable: ActionList, index: number): boolean {
  return (
    live.kind[index] === newlyAvailable.kind[index] &&
    live.slot[index] === newlyAvailable.slot[index] &&
    live.cluster[index] === newlyAvailable.cluster[index] &&
    live.forCluster[index] === newlyAvailable.forCluster[index] &&
    live.fingerprint[index] === newlyAvailable.fingerprint[index] &&
    live.group[index] === newlyAvailable.group[index] &&
    live.priority[index] === newlyAvailable.priority[index] &&
    live.interruptionPenalty[index] === newlyAvailable.interruptionPenalty[index] &&
    live.reclamationPenalty[index] === newlyAvailable.reclamationPenalty[index] &&
    live.graceSeconds[index] === newlyAvailable.graceSeconds[index]
  );
}

function countClaims(live: Engine, newlyAvailable: Engine, inventory: Inventory): number {
  const { state } = inventory.columns;
  let count = 0;
  for (let slot = 1; slot < state.length; slot++) {
    if (state[slot] === 0) continue;
    const a = live.claimOf(slot);
    const b = newlyAvailable.claimOf(slot);
    if (a === null && b === null) continue;
    const isSame = a?.cluster === b?.cluster && a?.fingerprint === b?.fingerprint && a?.group === b?.group;
    if (!isSame) count++;
  }
  return count;
}

function countVerdicts(live: Engine, newlyAvailable: Engine, needs: NeedTable): number {
  let count = 0;
  for (const cluster of needs.clusterRefs()) {
    const verdicts: Verdict[] = [];
    live.verdictsOf(cluster, (_, verdict) => verdicts.push(verdict));
    let compared = 0;
    newlyAvailable.verdictsOf(cluster, (row, verdict) => {
      const other = verdicts[row];
      if (other === undefined || !isSameVerdict(other, verdict)) count++;
      compared++;
    });
    count += Math.max(0, verdicts.length - compared);
  }
  return count;
}

function isSameVerdict(a: Verdict, b: Verdict): boolean {
  return (
    a.satisfied === b.satisfied &&
    a.claimed === b.claimed &&
    a.bootstraps === b.bootstraps &&
    a.provisions === b.provisions &&
    a.domain === b.domain &&
    a.satisfiable === b.satisfiable &&
    a.parked === b.parked &&
    a.parkedCycles === b.parkedCycles &&
    a.cyclesUnmet === b.cyclesUnmet &&
    a.reason === b.reason &&
    isSameDeficit(a.deficit, b.deficit)
  );
}

function isSameDeficit(a: Verdict['deficit'], b: Verdict['deficit']): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => a[name] === b[name]);
}
