/**
 * Runs histories with consecutive seeds and alternating profiles, some of them beside a hostile tenant, and adds up their
 * counts.
 */

import {
  type HistoryOptions,
  type HistoryResult,
  type PlacementKind,
  planOf,
  runHistory,
} from './history.ts';
import { type NeighboursResult, runNeighbours } from './neighbours.ts';
import { PROFILE_NAMES, type ProfileName } from './profiles.ts';
import { shrink } from './shrink.ts';

export interface CampaignOptions {
  readonly firstSeed: number;
  /** The campaign ends at whichever limit it reaches first. */
  readonly historiesMax: number;
  readonly untilMs: number;
  readonly cycles: number;
  /** null: all profiles in turn. */
  readonly profile: ProfileName | null;
  /** E1: how needs acquire; null: by seed. */
  readonly placement: PlacementKind | null;
  /** Of so many histories one also runs beside a hostile tenant and again without it; 1: nothing else runs. */
  readonly hostileEvery: number;
  /** Ends at the first violation and does not shrink it. */
  readonly isBrief: boolean;
  readonly nowMs: () => number;
  readonly onFailure: (failure: Failure) => void;
  readonly onProgress?: (totals: CampaignTotals) => void;
}

export interface Failure {
  readonly seed: number;
  readonly profile: ProfileName;
  /** Whether the tenant was there. */
  readonly isHostile: boolean;
  readonly error: Error;
  /** The last lines of the trace before the violation. */
  readonly lines: readonly string[];
  readonly accidentsAll: number;
  /** Numbers of the accidents that remain after shrinking; null without shrinking. */
  readonly accidentsLeft: readonly number[] | null;
}

export interface CampaignTotals {
  histories: number;
  cycles: number;
  actions: number;
  accidents: number;
  processes: number;
  fencedProcesses: number;
  restartsAtRest: number;
  /** Histories beside a hostile tenant, the actions that they had in common with those without it, and its own. */
  hostileHistories: number;
  comparedActions: number;
  hostileActions: number;
  calmCyclesMax: number;
  violations: number;
  readonly byAccident: Record<string, number>;
  readonly byOutcome: Record<string, number>;
}

const LINES_KEPT = 40;
const REPLAYS_MAX = 60;

export function profileOf(seed: number, profile: ProfileName | null): ProfileName {
  return profile ?? PROFILE_NAMES[seed % PROFILE_NAMES.length]!;
}

export async function runCampaign(options: CampaignOptions): Promise<CampaignTotals> {
  const totals: CampaignTotals = {
    histories: 0,
    cycles: 0,
    actions: 0,
    accidents: 0,
    processes: 0,
    fencedProcesses: 0,
    restartsAtRest: 0,
    hostileHistories: 0,
    comparedActions: 0,
    hostileActions: 0,
    calmCyclesMax: 0,
    violations: 0,
    byAccident: {},
    byOutcome: {},
  };
  const { firstSeed, historiesMax, untilMs, nowMs, isBrief, hostileEvery } = options;
  search: for (let seed = firstSeed; seed < firstSeed + historiesMax && nowMs() < untilMs; seed++) {
    const profile = profileOf(seed, options.profile);
    const { placement } = options;
    const history = { seed, cycles: options.cycles, profile, ...(placement === null ? {} : { placement }) };
    totals.histories++;
    for (const isHostile of kindsOf(seed, profile, hostileEvery)) {
      try {
        if (isHostile) addNeighbours(totals, await runNeighbours(history));
        else add(totals, await runHistory(history));
      } catch (error) {
        totals.violations++;
        options.onFailure(await failureOf(history, isHostile, isBrief, error as Error));
        if (isBrief) break search;
      }
    }
    options.onProgress?.(totals);
  }
  return totals;
}

/** Not compared beside a hostile tenant: the cycle that a control or a stall wakes may come a moment later there, and so all later actions. */
const INCOMPARABLE: ReadonlySet<ProfileName> = new Set<ProfileName>(['steered', 'stalls']);

/** Whether each run of a seed is beside a hostile tenant. */
function kindsOf(seed: number, profile: ProfileName, hostileEvery: number): readonly boolean[] {
  if (hostileEvery === 1) return [true];
  return !INCOMPARABLE.has(profile) && seed % hostileEvery === 0 ? [false, true] : [false];
}

async function failureOf(
  history: HistoryOptions,
  isHostile: boolean,
  isBrief: boolean,
  error: Error,
): Promise<Failure> {
  const run = isHostile ? runNeighbours : runHistory;
  const lines = await lastLines(history, run);
  const all = planOf(history).map((_, number) => number);
  const fails = (only: readonly number[]) =>
    run({ ...history, only }).then(
      () => false,
      () => true,
    );
  const accidentsLeft = isBrief ? null : await shrink(all, fails, REPLAYS_MAX);
  const { seed, profile } = history;
  return { seed, profile, isHostile, error, lines, accidentsAll: all.length, accidentsLeft };
}

/** From a replay: a first run writes no trace. */
async function lastLines(
  history: HistoryOptions,
  run: (options: HistoryOptions) => Promise<unknown>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const trace = (line: string) => {
    lines.push(line);
    if (lines.length > 2 * LINES_KEPT) lines.splice(0, LINES_KEPT);
  };
  await run({ ...history, trace }).catch(() => {});
  return lines.slice(-LINES_KEPT);
}

function addNeighbours(totals: CampaignTotals, result: NeighboursResult): void {
  totals.hostileHistories++;
  totals.cycles += result.cycles;
  totals.comparedActions += result.actions;
  totals.hostileActions += result.hostileActions;
}

function add(totals: CampaignTotals, result: HistoryResult): void {
  totals.cycles += result.cycles;
  totals.actions += result.actions;
  totals.processes += result.processes;
  totals.fencedProcesses += result.fencedProcesses;
  totals.restartsAtRest += result.isRestartTried ? 1 : 0;
  totals.calmCyclesMax = Math.max(totals.calmCyclesMax, result.calmCycles);
  for (const [name, count] of Object.entries(result.accidents)) {
    totals.accidents += count;
    totals.byAccident[name] = (totals.byAccident[name] ?? 0) + count;
  }
  for (const [name, count] of Object.entries(result.outcomes)) {
    totals.byOutcome[name] = (totals.byOutcome[name] ?? 0) + count;
  }
}
