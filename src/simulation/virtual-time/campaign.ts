/** Runs histories with consecutive seeds and alternating profiles, and adds up their counts. */
import { type HistoryOptions, type HistoryResult, planOf, runHistory } from './history.ts';
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
  /** Ends at the first violation and does not shrink it. */
  readonly isBrief: boolean;
  readonly nowMs: () => number;
  readonly onFailure: (failure: Failure) => void;
  readonly onProgress?: (totals: CampaignTotals) => void;
}

export interface Failure {
  readonly seed: number;
  readonly profile: ProfileName;
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
    calmCyclesMax: 0,
    violations: 0,
    byAccident: {},
    byOutcome: {},
  };
  const { firstSeed, historiesMax, untilMs, nowMs, isBrief } = options;
  for (let seed = firstSeed; seed < firstSeed + historiesMax && nowMs() < untilMs; seed++) {
    const profile = profileOf(seed, options.profile);
    totals.histories++;
    try {
      add(totals, await runHistory({ seed, cycles: options.cycles, profile }));
    } catch (error) {
      totals.violations++;
      options.onFailure(await failureOf(options, seed, profile, error as Error));
      if (isBrief) break;
    }
    options.onProgress?.(totals);
  }
  return totals;
}

async function failureOf(
  { cycles, isBrief }: CampaignOptions,
  seed: number,
  profile: ProfileName,
  error: Error,
): Promise<Failure> {
  const lines = await lastLines({ seed, cycles, profile });
  const all = planOf({ seed, cycles, profile }).map((_, number) => number);
  const fails = (only: readonly number[]) =>
    runHistory({ seed, cycles, profile, only }).then(
      () => false,
      () => true,
    );
  const accidentsLeft = isBrief ? null : await shrink(all, fails, REPLAYS_MAX);
  return { seed, profile, error, lines, accidentsAll: all.length, accidentsLeft };
}

/** From a replay: a first run writes no trace. */
async function lastLines(history: HistoryOptions): Promise<readonly string[]> {
  const lines: string[] = [];
  const trace = (line: string) => {
    lines.push(line);
    if (lines.length > 2 * LINES_KEPT) lines.splice(0, LINES_KEPT);
  };
  await runHistory({ ...history, trace }).catch(() => {});
  return lines.slice(-LINES_KEPT);
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
