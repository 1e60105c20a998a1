/**
 * The from-scratch check: whether an engine that repaired its way here decides what a new engine decides from the same
 * tables. Repair is an optimisation with a hundred conditions, and a missing one shows only later, as a machine that the
 * wrong need claims. So a shard derives a cycle again now and then and counts where the two differ. Any count above zero
 * is a defect.
 *
 * Costs as much as a first cycle and reads every machine and need: too much for every cycle.
 */
import type { Inventory } from '../inventory/inventory.ts';
import type { NeedTable } from '../needs/need-table.ts';
import type { ActionList } from './actions.ts';
import { type CycleCost, type CycleInput, Engine, type EngineOptions, type PhaseListener } from './engine.ts';
import type { Verdict } from './verdicts/verdicts.ts';

export interface DifferenceCounts {
  /** Positions at which the two lists of actions differ. */
  readonly actions: number;
  /** Machines that different needs claim. */
  readonly claims: number;
  readonly verdicts: number;
}

/** Decides a cycle with both engines and counts the differences. */
export function decideChecked(
  live: Engine,
  options: EngineOptions,
  input: CycleInput,
  onPhase?: PhaseListener,
): { readonly cost: CycleCost; readonly differences: DifferenceCounts } {
  const fromScratch = deriveFromScratch(live, options, input);
  try {
    const cost = live.decide(input, onPhase);
    return { cost, differences: countDifferences(live, fromScratch, options.inventory, options.needs) };
  } finally {
    fromScratch.close();
  }
}

/**
 * Decides the cycle that `live` is about to decide, in a new engine that knows only the tables and the live engine's
 * counts and drains. Must run first, because the live cycle advances those counts. The caller closes the engine.
 */
export function deriveFromScratch(live: Engine, options: EngineOptions, input: CycleInput): Engine {
  const fromScratch = new Engine(options);
  fromScratch.adopt(live);
  fromScratch.decideFromScratch(input);
  return fromScratch;
}

/** Compares two engines after the same cycle over the same tables. */
export function countDifferences(
  live: Engine,
  fromScratch: Engine,
  inventory: Inventory,
  needs: NeedTable,
): DifferenceCounts {
  return {
    actions: countActions(live.actions, fromScratch.actions),
    claims: countClaims(live, fromScratch, inventory),
    verdicts: countVerdicts(live, fromScratch, needs),
  };
}

function countActions(live: ActionList, fromScratch: ActionList): number {
  const shared = Math.min(live.count, fromScratch.count);
  let count = Math.max(live.count, fromScratch.count) - shared;
  for (let index = 0; index < shared; index++) if (!isSameAction(live, fromScratch, index)) count++;
  return count;
}

function isSameAction(live: ActionList, fromScratch: ActionList, index: number): boolean {
  return (
    live.kind[index] === fromScratch.kind[index] &&
    live.slot[index] === fromScratch.slot[index] &&
    live.cluster[index] === fromScratch.cluster[index] &&
    live.forCluster[index] === fromScratch.forCluster[index] &&
    live.fingerprint[index] === fromScratch.fingerprint[index] &&
    live.group[index] === fromScratch.group[index] &&
    live.priority[index] === fromScratch.priority[index] &&
    live.interruptionPenalty[index] === fromScratch.interruptionPenalty[index] &&
    live.reclamationPenalty[index] === fromScratch.reclamationPenalty[index] &&
    live.graceSeconds[index] === fromScratch.graceSeconds[index] &&
    live.victim[index] === fromScratch.victim[index]
  );
}

function countClaims(live: Engine, fromScratch: Engine, inventory: Inventory): number {
  const { state } = inventory.columns;
  let count = 0;
  for (let slot = 1; slot < state.length; slot++) {
    if (state[slot] === 0) continue;
    const a = live.claimOf(slot);
    const b = fromScratch.claimOf(slot);
    if (a === null && b === null) continue;
    const isSame = a?.cluster === b?.cluster && a?.fingerprint === b?.fingerprint && a?.group === b?.group;
    if (!isSame) count++;
  }
  return count;
}

function countVerdicts(live: Engine, fromScratch: Engine, needs: NeedTable): number {
  let count = 0;
  for (const cluster of needs.clusterRefs()) {
    const verdicts: Verdict[] = [];
    live.verdictsOf(cluster, (_, verdict) => verdicts.push(verdict));
    let compared = 0;
    fromScratch.verdictsOf(cluster, (row, verdict) => {
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
    a.limitedBy === b.limitedBy &&
    isSameDeficit(a.deficit, b.deficit)
  );
}

function isSameDeficit(a: Verdict['deficit'], b: Verdict['deficit']): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => a[name] === b[name]);
}
