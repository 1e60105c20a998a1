/** Alerts and Grafana dashboard use only metrics that exist, and docs/operating.md describes every alert. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { dashboardJson } from '../../src/observe/grafana.ts';
import { allMetrics } from '../../src/observe/metric-docs.ts';

const docs = join(import.meta.dirname, '../../docs');
const read = (path: string) => readFileSync(join(docs, path), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const alerts = (parse(read('ops/alerts.yaml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const dashboard = JSON.parse(dashboardJson()) as Dashboard;
const dashboardQueries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** The series of a metric, with the labels of each. */
async function exportedSeries(): Promise<Map<string, readonly string[]>> {
  const series = new Map<string, readonly string[]>();
  for (const { name, type, labelNames } of await allMetrics(true)) {
    if (type === 'histogram') {
      series.set(`${name}_bucket`, [...labelNames, 'le']);
      series.set(`${name}_sum`, labelNames);
      series.set(`${name}_count`, labelNames);
    } else series.set(name, labelNames);
  }
  return series;
}

const SERIES = /\b(?:bigfleet|flotilla|process|nodejs)_[a-z0-9_]+\b(?:\{([^}]*)\})?/g;
/** Labels that the scraper sets. */
const OF_THE_SCRAPE = ['instance', 'job'];

async function mistakesIn(queries: readonly string[]): Promise<string[]> {
  const exported = await exportedSeries();
  return queries.flatMap((query) => {
    const used = [...query.matchAll(SERIES)];
    if (used.length === 0) return [`no metric in ${query}`];
    const known: string[] = [...OF_THE_SCRAPE];
    const mistakes = used.flatMap(([text, matchers = '']) => {
      const name = text.replace(/\{.*/, '');
      const labels = exported.get(name);
      if (labels === undefined) return [`${name} is not exported`];
      known.push(...labels);
      const matched = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!);
      return matched
        .filter((label) => !labels.includes(label) && !OF_THE_SCRAPE.includes(label))
        .map((label) => `${name} has no label ${label}`);
    });
    const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/));
    return [
      ...mistakes,
      ...grouped.filter((label) => !known.includes(label)).map((label) => `by ${label}: ${query}`),
    ];
  });
}

describe('the alert rules', () => {
  it('use only metrics and labels that are exported', async () => {
    expect(await mistakesIn(alerts.map(({ expr }) => expr))).toEqual([]);
    expect(alerts.length).toBeGreaterThan(20);
  });

  it('have balanced expressions, unique names, a severity and a summary', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, expr, labels, annotations } of alerts) {
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      for (const pair of ['()', '{}', '[]']) {
        expect(expr.split(pair[0]!).length, `${alert}: ${pair}`).toBe(expr.split(pair[1]!).length);
      }
    }
  });

  it('S6: fire at once when a listing is held, and for an hour after the shard believed it', () => {
    const { for: pending, expr } = alerts.find(({ alert }) => alert === 'FlotillaListingSuspect')!;
    expect(pending).toBeUndefined();
    expect(expr.replace(/\s+/g, ' ').trim()).toBe(
      'flotilla_listing_suspect == 1 or time() - max_over_time(flotilla_removal_believed_timestamp_seconds[1h]) < 3600',
    );
  });

  it('have one paragraph each in docs/operating.md', () => {
    const headings = [...read('operating.md').matchAll(/^### (Flotilla\w+)\n(?=\S)/gm)].map(
      ([, name]) => name,
    );
    expect(headings).toEqual(alerts.map(({ alert }) => alert));
  });
});

describe('the dashboard', () => {
  it('uses only metrics and labels that are exported', async () => {
    expect(await mistakesIn(dashboardQueries)).toEqual([]);
    expect(dashboardQueries.length).toBeGreaterThan(40);
  });

  it('matches the file that npm run docs writes', () => {
    expect(read('ops/grafana-dashboard.generated.json')).toBe(dashboardJson());
  });

  it('has panels that do not overlap', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

describe('the check of queries', () => {
  for (const [query, mistake] of [
    ['sum(flotilla_no_such_thing)', 'flotilla_no_such_thing is not exported'],
    ['flotilla_ready{shard="a"} == 0', 'flotilla_ready has no label shard'],
    [
      'rate(bigfleet_shard_cycle_duration_seconds[5m])',
      'bigfleet_shard_cycle_duration_seconds is not exported',
    ],
    ['sum by (kind) (flotilla_ready)', 'by kind: sum by (kind) (flotilla_ready)'],
    ['vector(1)', 'no metric in vector(1)'],
  ] as const) {
    it(`names the mistake in ${query}`, async () => expect(await mistakesIn([query])).toEqual([mistake]));
  }
});

it('docs/operating.md names only metrics that exist', async () => {
  const exported = await exportedSeries();
  const names = (await allMetrics(true)).map(({ name }) => name);
  const used = [...read('operating.md').matchAll(/`((?:bigfleet|flotilla|nodejs|process)_\w+)`/g)].map(
    ([, name]) => name!,
  );
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((name) => !names.includes(name) && !exported.has(name))).toEqual([]);
});
