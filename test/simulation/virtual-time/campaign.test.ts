/**
 * Histories in `npm test`: fixed ones, and some new ones whose seeds a failure names. For more, run
 * `npm run sim -- --histories 1000` or `npm run sim:soak`.
 */
import { describe, expect, it } from 'vitest';
import {
  type CampaignTotals,
  type Failure,
  runCampaign,
} from '../../../src/simulation/virtual-time/campaign.ts';
import { runHistory } from '../../../src/simulation/virtual-time/history.ts';
import { PROFILE_NAMES } from '../../../src/simulation/virtual-time/profiles.ts';
import { shrink } from '../../../src/simulation/virtual-time/shrink.ts';

const FIXED_COUNT = 45;
const NEW_COUNT = 10;
/** Prime to the number of profiles, so that every profile has a history beside a hostile tenant. */
const HOSTILE_EVERY = 9;
const TIMEOUT_MS = 600_000;

async function campaign(firstSeed: number, historiesMax: number): Promise<CampaignTotals> {
  const failures: Failure[] = [];
  const totals = await runCampaign({
    firstSeed,
    historiesMax,
    untilMs: Number.POSITIVE_INFINITY,
    cycles: 30,
    profile: null,
    placement: null,
    hostileEvery: HOSTILE_EVERY,
    isBrief: false,
    nowMs: () => performance.now(),
    onFailure: (failure) => failures.push(failure),
  });
  const texts = failures.map(
    ({ seed, profile, error, accidentsLeft }) =>
      `seed ${seed}, profile ${profile}, cycles 30, only ${accidentsLeft}: ${error.message}`,
  );
  expect(texts).toEqual([]);
  return totals;
}

describe('histories', () => {
  it(
    'with fixed seeds keep every rule and converge',
    async () => {
      const totals = await campaign(1, FIXED_COUNT);
      // The interesting cases really occurred.
      expect(totals.processes).toBeGreaterThan(2 * FIXED_COUNT);
      expect(totals.fencedProcesses).toBeGreaterThan(0);
      expect(totals.restartsAtRest).toBeGreaterThan(0);
      for (const outcome of ['success', 'accepted', 'timeout', 'provider_error', 'fenced', 'blob_error']) {
        const names = Object.keys(totals.byOutcome).filter((name) => name.endsWith(`.${outcome}`));
        expect(names, outcome).not.toEqual([]);
      }
      // One of them has a profile that is not compared.
      expect(totals.hostileHistories).toBe(FIXED_COUNT / HOSTILE_EVERY - 1);
      expect(totals.comparedActions).toBeGreaterThan(20 * totals.hostileHistories);
      expect(totals.hostileActions).toBeGreaterThan(20 * totals.hostileHistories);
      for (const accident of ['old listing', 'shard replaced and woken', 'clock jumps', 'garbage roll-up']) {
        expect(totals.byAccident[accident], accident).toBeGreaterThan(0);
      }
    },
    TIMEOUT_MS,
  );

  it(
    'with new seeds keep every rule and converge',
    async () => {
      await campaign(Date.now() % 1_000_000_000, NEW_COUNT);
    },
    TIMEOUT_MS,
  );

  for (const [seed, profile, because] of [
    [1_001_317, 'storm', 'the shard rightly believes the same lie in two listings in a row'],
    [1_002_572, 'storm', 'a restart ends back-offs, so the shard acts on these machines again'],
    [7_100_861, 'usual', 'a roll-up was accepted but not yet decided on at the comparison'],
  ] as const) {
    it(`${seed} is not a violation: ${because}`, async () => {
      const { cycles } = await runHistory({ seed, cycles: 40, profile });
      expect(cycles).toBeGreaterThan(40);
    });
  }

  it('5,000,824 converges: a gang without its own machine once moved between two racks for ever', async () => {
    const history = { seed: 5_000_824, cycles: 40, profile: 'liar' } as const;
    const enough = [12, 16, 21, 32, 33, 35, 44, 45, 48, 52, 53, 54, 55, 60, 61];
    for (const one of [history, { ...history, only: enough }]) {
      const { calmCycles } = await runHistory(one);
      expect(calmCycles).toBeLessThan(100);
    }
  });

  it('9,001,658 converges: a gang once folded for an unassigned machine and took that of another gang, for ever', async () => {
    const history = { seed: 9_001_658, cycles: 40, profile: 'restarts' } as const;
    const enough = [2, 3, 8, 9, 10, 12, 15, 16, 18, 19, 20, 21, 22, 23, 24, 27, 29];
    for (const one of [history, { ...history, only: enough }]) {
      const { calmCycles } = await runHistory(one);
      expect(calmCycles).toBeLessThan(100);
    }
  });

  it('9,004,863 converges: a clock that was set back and corrected once delayed all reads', async () => {
    const history = { seed: 9_004_863, cycles: 40, profile: 'restarts', only: [0, 4, 6, 7] } as const;
    const { cycles } = await runHistory(history);
    expect(cycles).toBeGreaterThan(20);
  });

  for (const profile of PROFILE_NAMES) {
    it(`with the same seed have the same trace: ${profile}`, async () => {
      const traces: string[][] = [[], []];
      for (const trace of traces) {
        await runHistory({ seed: 7, cycles: 15, profile, trace: (line) => trace.push(line) });
      }
      expect(traces[0]!.length).toBeGreaterThan(20);
      expect(traces[1]).toEqual(traces[0]);
    });
  }
});

describe('shrinking', () => {
  it('keeps the accidents that cause a failure and drops the others', async () => {
    const needed = [3, 17, 40];
    let replays = 0;
    const fails = async (only: readonly number[]) => {
      replays++;
      return needed.every((number) => only.includes(number));
    };
    const all = Array.from({ length: 60 }, (_, number) => number);
    expect(await shrink(all, fails, 100)).toEqual(needed);
    expect(replays).toBeLessThanOrEqual(100);
  });

  it('returns the best result so far when it reaches the limit of replays', async () => {
    const left = await shrink([1, 2, 3, 4], async (only) => only.includes(4), 1);
    expect(left).toContain(4);
  });
});
