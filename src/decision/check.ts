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
  const fresh = decideAfresh(live, options, input);
  try {
    const cost = live.decide(input, onPhase);
    return { cost, differences: countDifferences(live, fresh, options.inventory, options.needs) };
  } finally {
    fresh.close();
  }
}

/**
 * The cycle that `live` is about to decide, by an engine that knows only the tables and what no table says.
 * Before the live one's, whose counts move on with it. The caller closes the engine.
 */
export function decideAfresh(live: Engine, options: EngineOptions, input: CycleInput): Engine {
  const fresh = new Engine(options);
  fresh.adopt(live);
  fresh.decideFromScratch(input);
  return fresh;
}

/** Compares two engines after the same cycle over the same tables. */
export function countDifferences(
  live: Engine,
  fresh: Engine,
  inventory: Inventory,
  needs: NeedTable,
): DifferenceCounts {
  return {
    actions: countActions(live.actions, fresh.actions),
    claims: countClaims(live, fresh, inventory),
    verdicts: countVerdicts(live, fresh, needs),
  };
}

function countActions(live: ActionList, fresh: ActionList): number {
  const shared = Math.min(live.count, fresh.count);
  let count = Math.max(live.count, fresh.count) - shared;
  for (let index = 0; index < shared; index++) if (!isSameAction(live, fresh, index)) count++;
  return count;
}

function isSameAction(live: ActionList, fresh: ActionList, index: number): boolean {
  return (
    live.kind[index] === fresh.kind[index] &&
    live.slot[index] === fresh.slot[index] &&
    live.cluster[index] === fresh.cluster[index] &&
    live.forCluster[index] === fresh.forCluster[index] &&
    live.fingerprint[index] === fresh.fingerprint[index] &&
    live.group[index] === fresh.group[index] &&
    live.priority[index] === fresh.priority[index] &&
    live.interruptionPenalty[index] === fresh.interruptionPenalty[index] &&
    live.reclamationPenalty[index] === fresh.reclamationPenalty[index] &&
    live.graceSeconds[index] === fresh.graceSeconds[index]
  );
}

function countClaims(live: Engine, fresh: Engine, inventory: Inventory): number {
  const { state } = inventory.columns;
  let count = 0;
  for (let slot = 1; slot < state.length; slot++) {
    if (state[slot] === 0) continue;
    const a = live.claimOf(slot);
    const b = fresh.claimOf(slot);
    if (a === null && b === null) continue;
    const isSame = a?.cluster === b?.cluster && a?.fingerprint === b?.fingerprint && a?.group === b?.group;
    if (!isSame) count++;
  }
  return count;
}

function countVerdicts(live: Engine, fresh: Engine, needs: NeedTable): number {
  let count = 0;
  for (const cluster of needs.clusterRefs()) {
    const verdicts: Verdict[] = [];
    live.verdictsOf(cluster, (_, verdict) => verdicts.push(verdict));
    let compared = 0;
    fresh.verdictsOf(cluster, (row, verdict) => {
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
