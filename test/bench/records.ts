/** Records as a run would store them, for tests of the page. */
import type { ScenarioResult } from '../../bench/harness.ts';
import { FORMAT, type RunRecord } from '../../bench/report/record.ts';

const HOST = { cpuModel: 'Test CPU', cores: 2, memoryGib: 24, system: 'Linux 1', node: 'v20.0.0' };

type Change = Partial<Omit<RunRecord, 'params'>> & { readonly machines?: number };

export function recordOf(
  scenario: string,
  change: Change = {},
  result: Partial<ScenarioResult> = {},
): RunRecord {
  const { machines = 500_000, ...rest } = change;
  const params = { machines, needs: 0, seconds: 1 };
  return {
    format: FORMAT,
    scenario,
    question: `What does ${scenario} cost?`,
    params,
    isDefault: true,
    isGrowth: false,
    growth: null,
    command: `npm run bench -- ${scenario} --machines ${machines} --seconds 1`,
    version: 'abc1234',
    startedAt: '2026-01-02T03:04:05.000Z',
    tookSeconds: 12,
    host: HOST,
    load: { lowest: 0.5, highest: 1.5, otherCores: 0.1 },
    outcome: {
      kind: 'measured',
      result: { scenario, params, metrics: {}, ratios: {}, targets: [], node: 'v20.0.0', cpus: 2, ...result },
    },
    ...rest,
  };
}

export const cost = (median: number, unit = 'ms') => ({ unit, median, p99: median * 2, samples: 100 });
