/** Explains a machine: the need that claims it, the action under way, and why the shard does not reclaim or release it. */
import { BARRED, Flag } from '../../../inventory/intent.ts';
import { attributeOf } from '../../../inventory/shapes.ts';
import { CapacityType } from '../../../machine/capacity-type.ts';
import { isTransitional, MachineState } from '../../../machine/state.ts';
import { matches } from '../../../needs/requirements.ts';
import type { Control } from '../../ports/controls.ts';
import type { MachineExplanation, MachineFacts, MachineStay } from '../../ports/explain.ts';
import type { MachineView } from '../../ports/fleet-view.ts';
import { explainOrder, orderOf } from '../machine-order.ts';
import { machineView } from '../machine-view.ts';
import type { ViewSources } from '../sources.ts';
import type { UnmetRows } from '../unmet-rows.ts';
import { priorityIn } from './census.ts';
import { machineSentences } from './machine-sentences.ts';

const S = MachineState;
const COULD_SERVE_MAX = 5;
/** Unmet rows tested for them: about a millisecond. */
const ROWS_MAX = 5_000;

/** Call with demand and verdicts in step. */
export function explainMachine(sources: ViewSources, unmet: UnmetRows, slot: number): MachineExplanation {
  const machine = machineView(sources, slot);
  const claim = claimOf(sources, slot);
  const stays = stayOf(sources, slot, machine, claim !== null);
  const isFree =
    (machine.state === S.Idle || machine.state === S.Speculative) &&
    claim === null &&
    machine.action === null;
  const facts: MachineFacts = {
    claim,
    drainsFor: nameOf(sources, sources.engine.drainOf(slot)),
    order: explainOrder(sources, slot),
    stays,
    // A machine that became free while it was looked up is compared next time: demand may be ahead of its verdicts.
    couldServe: isFree && sources.needs.dirtyCount === 0 ? couldServe(sources, unmet, slot) : [],
  };
  const cycle = sources.cycle();
  const sentences = machineSentences(machine, facts, sources.clock.nowMs(), sources.rails());
  return { machine, cycle, facts, sentences };
}

function claimOf(sources: ViewSources, slot: number): MachineFacts['claim'] {
  return nameOf(sources, sources.engine.claimOf(slot));
}

function nameOf(
  { inventory }: ViewSources,
  need: { cluster: number; fingerprint: number; group: number } | null,
): MachineFacts['claim'] {
  if (need === null) return null;
  const { clusters, fingerprints, groups } = inventory.tables;
  const fingerprint = fingerprints.get(need.fingerprint);
  const priority = priorityIn(fingerprint);
  return { clusterId: clusters.get(need.cluster), fingerprint, group: groups.get(need.group), priority };
}

function stayOf(sources: ViewSources, slot: number, machine: MachineView, isClaimed: boolean): MachineStay {
  const { state } = machine;
  if (state === S.Failed) return { kind: 'failed' };
  if (machine.action !== null || sources.inventory.columns.intent[slot] !== 0) return { kind: 'acting' };
  if (isTransitional(state)) return { kind: 'waiting_for_provider' };
  const order = orderOf(sources.inventory, slot);
  const isIdle = state === S.Idle || state === S.Speculative;
  if (order !== '' && (isIdle || (order === 'leaving' && isClaimed))) return { kind: 'ordered' };
  if (isClaimed) return { kind: 'claimed' };
  if (sources.inventory.hasFlag(slot, Flag.Disputed)) return { kind: 'disputed' };
  if (sources.inventory.hasFlag(slot, Flag.Ignored)) return { kind: 'ignored' };
  const untilMs = Math.max(machine.backoff?.untilMs ?? 0, machine.offeringBackoff?.untilMs ?? 0);
  if (sources.inventory.hasFlag(slot, Flag.Backoff)) return { kind: 'backoff', untilMs };
  const control = pauseOf(sources, slot, state);
  if (control !== null) return { kind: 'paused', control };
  if (state === S.Speculative) return { kind: 'offer' };
  return state === S.Idle ? idleStay(sources, machine) : boundStay(sources, slot);
}

/** H3: what would happen to an unclaimed machine in this state, if no pause kept it. */
const NEXT_FLAGS: Readonly<Partial<Record<MachineState, readonly Flag[]>>> = {
  [S.Speculative]: [Flag.NotAcquired],
  [S.Idle]: [Flag.NotAcquired, Flag.NotReleased],
  [S.Configured]: [Flag.NotReclaimed],
};

function pauseOf(sources: ViewSources, slot: number, state: MachineState): Control | null {
  for (const flag of NEXT_FLAGS[state] ?? []) {
    if (!sources.inventory.hasFlag(slot, flag)) continue;
    const control = sources.machinePause(slot, flag);
    if (control !== null) return control;
  }
  return null;
}

function idleStay(sources: ViewSources, machine: MachineView): MachineStay {
  const { holdOnDemandMs, holdSpotMs } = sources.rails();
  const { capacityType, forMs } = machine;
  if (capacityType !== CapacityType.OnDemand && capacityType !== CapacityType.Spot)
    return { kind: 'kept_forever' };
  const holdMs = capacityType === CapacityType.Spot ? holdSpotMs : holdOnDemandMs;
  if (forMs <= holdMs) return { kind: 'hold', leftMs: holdMs - forMs, holdMs };
  const why = whyNothingExecutes(sources);
  return why === '' ? { kind: 'hold_over' } : { kind: 'nothing_executes', why };
}

function boundStay(sources: ViewSources, slot: number): MachineStay {
  const { inventory, needs } = sources;
  const cluster = inventory.columns.cluster[slot]!;
  if (!needs.hasReported(cluster)) return { kind: 'gate' };
  if (needs.isTakingUp(cluster)) return { kind: 'taking_up', ...needs.takenUp(cluster) };
  const why = whyNothingExecutes(sources);
  if (why !== '') return { kind: 'nothing_executes', why };
  const budget = sources.machineBudget(slot);
  if (budget !== null) return { kind: 'budget', budget };
  const excess = excessOf(sources, cluster);
  const { reclaimFraction } = sources.rails();
  const configured = inventory.indexes.countOfCluster(cluster, S.Configured);
  const perInterval =
    reclaimFraction === 0 ? excess.length : Math.max(1, Math.floor(reclaimFraction * configured));
  return { kind: 'reclaim_queue', excess: excess.length, place: excess.indexOf(slot) + 1, perInterval };
}

/** R1: machines that no need claims are reclaimed in keep order. */
function excessOf({ inventory, engine }: ViewSources, cluster: number): number[] {
  inventory.ensureRanks();
  const { indexes, columns } = inventory;
  const { pricePerHourUsd, reclamationPenalty, idRank } = columns;
  const start = indexes.startOfCluster(cluster, S.Configured);
  const count = indexes.countOfCluster(cluster, S.Configured);
  const found: number[] = [];
  for (const slot of indexes.clusterSlots.subarray(start, start + count)) {
    if (columns.intent[slot] !== 0 || inventory.hasFlag(slot, BARRED | Flag.Ignored | Flag.NotReclaimed))
      continue;
    if (engine.claimOf(slot) === null) found.push(slot);
  }
  return found.sort(
    (a, b) =>
      pricePerHourUsd[a]! - pricePerHourUsd[b]! ||
      reclamationPenalty[b]! - reclamationPenalty[a]! ||
      idRank[a]! - idRank[b]!,
  );
}

export function whyNothingExecutes(sources: ViewSources): string {
  const { isFenced, isPaused, isDryRun, heldBack } = sources.rails();
  if (isFenced) return 'this process is fenced, because another process owns its shard id';
  if (isPaused) return 'the kill switch is on (actuation-paused)';
  if (isDryRun) return 'this is a dry run (dry-run)';
  return heldBack;
}

function couldServe(sources: ViewSources, unmet: UnmetRows, slot: number): MachineFacts['couldServe'] {
  const { inventory, needs } = sources;
  const { clusters, groups } = inventory.tables;
  const labels = inventory.labelsOf(slot);
  const shape = inventory.shapes.get(inventory.columns.shape[slot]!);
  const { vectors } = inventory.shapes;
  const attribute = (key: string) => attributeOf(shape, key) ?? labels[key];
  const found: { clusterId: string; priority: number; group: string }[] = [];
  let tested = 0;
  for (const cluster of unmet.clusters()) {
    const start = needs.sliceStart(cluster);
    for (const row of unmet.ofCluster(cluster)!) {
      if (++tested > ROWS_MAX || found.length === COULD_SERVE_MAX) return found;
      const { requirements, priority } = needs.profiles.get(needs.profile[start + row]!);
      if (!vectors.covers(shape.capacity, needs.minUnit[start + row]!)) continue;
      if (!requirements.every((requirement) => matches(requirement, attribute(requirement.key)))) continue;
      found.push({
        clusterId: clusters.get(cluster),
        priority,
        group: groups.get(needs.group[start + row]!),
      });
    }
  }
  return found;
}
