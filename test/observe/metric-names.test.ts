/**
 * Names and label values are an interface: a dashboard that asks for another spelling shows zero and no error. The golden file
 * holds them, so that a change is a decision: edit test/observe/metric-names.golden.txt in the same commit.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { labelDomain } from '../../src/observe/label-values.ts';
import { allMetrics } from '../../src/observe/metric-docs.ts';
import { ABSENT_SHARD_SERIES } from '../../src/observe/reference-metrics.ts';
import { RELAY_ENDS } from '../../src/relay/counters.ts';
import { REFUSAL_REASONS } from '../../src/session/admission.ts';
import { CONNECTION_ENDS } from '../../src/session/lifetimes.ts';
import { shardCounters } from './records.ts';

const GOLDEN = join(import.meta.dirname, 'metric-names.golden.txt');
const PAGE = join(import.meta.dirname, '../../docs/ops/metrics.md');

/** `name type`, then a line for each label: `  label: value value` or `  label: (what the values are)`. */
async function interfaceText(): Promise<string> {
  const metrics = (await allMetrics()).sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = metrics.flatMap(({ name, type, labelNames }) => [
    `${name} ${type}`,
    ...labelNames.map((label) => {
      const domain = labelDomain(name, label);
      return `  ${label}: ${typeof domain === 'string' ? `(${domain})` : domain?.join(' ')}`;
    }),
  ]);
  return `${lines.join('\n')}\n`;
}

it('the names, types, labels and label values are those of the golden file', async () => {
  expect(await interfaceText()).toBe(readFileSync(GOLDEN, 'utf8'));
});

it('docs/ops/metrics.md lists every label with its values, and every series of the reference that is absent', async () => {
  const page = readFileSync(PAGE, 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const metrics = await allMetrics();
  let labelCount = 0;
  for (const { name, labelNames } of metrics) {
    for (const label of labelNames) {
      const domain = labelDomain(name, label);
      expect(domain, `${name}{${label}}`).toBeDefined();
      const row = rows.find((line) => line.startsWith(`| \`${label}\` |`) && line.includes(`\`${name}\``));
      for (const value of typeof domain === 'string' ? [domain] : domain!) expect(row).toContain(value);
      labelCount++;
    }
  }
  expect(labelCount).toBeGreaterThan(30);
  const served = new Set(metrics.map(({ name }) => name));
  for (const { name } of ABSENT_SHARD_SERIES) {
    expect(served.has(name), name).toBe(false);
    expect(page).toContain(`| \`${name}\` |`);
  }
});

it('the reasons are those that the operators’ server and the shard count', () => {
  const values = (metric: string) => labelDomain(metric, 'reason');
  expect(values('flotilla_session_refused_total')).toEqual([...REFUSAL_REASONS]);
  expect(values('flotilla_connections_ended_total')).toEqual([...CONNECTION_ENDS]);
  expect(values('flotilla_relay_ended_total')).toEqual([...RELAY_ENDS]);
  expect(values('bigfleet_shard_machines_rejected_total')).toEqual(Object.keys(shardCounters().rejected));
});

it('spells capacity types as the dashboards of the reference do', () => {
  expect(labelDomain('bigfleet_shard_inventory_machines', 'capacity_type')).toEqual([
    'Unspecified',
    'BareMetal',
    'Reserved',
    'OnDemand',
    'Spot',
  ]);
});
