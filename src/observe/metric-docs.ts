/** Generates docs/ops/metrics.md from the metrics, and lists the names that dashboards and alerts may use. */
import { type LabelDomain, labelDomain } from './label-values.ts';
import { ABSENT_PREFIXES, ABSENT_SHARD_SERIES } from './reference-metrics.ts';
import { OWN_PREFIX, SHARD_PREFIX, ShardMetrics } from './shard-metrics.ts';

export interface MetricFacts {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** All metrics of this project, with those of the Node.js process if wanted. */
export async function allMetrics(hasProcessMetrics = false): Promise<MetricFacts[]> {
  const metrics = new ShardMetrics({ hasProcessMetrics });
  const labelsOf = new Map(
    metrics.registry.getMetricsAsArray().map((metric) => {
      const { name, labelNames = [] } = metric as unknown as { name: string; labelNames?: string[] };
      return [name, labelNames];
    }),
  );
  const found = await metrics.registry.getMetricsAsJSON();
  metrics.close();
  return found.map(({ name, type, help }) => ({
    name,
    type: String(type),
    help,
    labelNames: labelsOf.get(name) ?? [],
  }));
}

const PAGE_HEAD = `# Metrics

Generated from \`src/observe\` by \`npm run docs\`; do not edit.

The shard serves its metrics at \`/metrics\` on \`--metrics-addr\`. Names that begin with \`bigfleet_shard_\` are those of the
BigFleet reference; the others are Flotilla's own. Each scrape sums over the whole fleet, so scrape every 15 s or less often.

- \`kind\` is the kind of an action: Bootstrap, Provision, Reclaim, Preempt or Delete.
- \`path\` of a binding is *idle* (the first cycle that saw the need lack a machine found an Idle one), *created* (it found an offer),
  *drained* or *preempted* (the need waited, and got a machine that was taken from another need meanwhile) or *waited* (the need waited
  because nothing suitable was there, or because it was barred from acquiring). A binding that replaces a lost or failed machine counts from
  the cycle that found the machine missing.
- \`interruption_penalty_bucket\` is the upper bound of the bucket in dollars.
- \`outcome\` of an action that an asynchronous provider acknowledged is counted when its machine has left the transitional state:
  *success*, or *provider_error* if the machine failed, went back or is gone.
- The usual metrics of a Node.js process (\`process_…\`, \`nodejs_…\`) are served too.
`;

export async function metricsPage(): Promise<string> {
  const metrics = await allMetrics();
  const table = (title: string, prefix: string) => [
    `## ${title}`,
    '',
    '| name | type | labels | meaning |',
    '|---|---|---|---|',
    ...metrics
      .filter(({ name }) => name.startsWith(prefix))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(
        ({ name, type, labelNames, help }) =>
          `| \`${name}\` | ${type} | ${labelNames.join(', ')} | ${help} |`,
      ),
    '',
  ];
  return [
    PAGE_HEAD,
    ...table('As in the reference', SHARD_PREFIX),
    ...table("Flotilla's own", OWN_PREFIX),
    ...labelTable(metrics),
    ...absentTable(),
  ].join('\n');
}

/** One row for each label and set of values, with the metrics that have it. */
function labelTable(metrics: readonly MetricFacts[]): string[] {
  const rows = new Map<string, string[]>();
  for (const { name, labelNames } of metrics) {
    for (const label of labelNames) {
      const key = `| \`${label}\` | ${valuesText(labelDomain(name, label))} |`;
      rows.set(key, [...(rows.get(key) ?? []), `\`${name}\``]);
    }
  }
  return [
    '## Label values',
    '',
    'A label has these values and no others.',
    '',
    '| label | values | in |',
    '|---|---|---|',
    ...[...rows].map(([key, names]) => `${key} ${names.sort().join(', ')} |`).sort(),
    '',
  ];
}

/** In plain text, so that a phrase reads as one: names are code. */
function valuesText(domain: LabelDomain | undefined): string {
  if (domain === undefined) return '';
  return typeof domain === 'string' ? domain : domain.map((value) => `\`${value}\``).join(' ');
}

function absentTable(): string[] {
  return [
    '## Not applicable',
    '',
    'Series of the reference that a board may ask for and that Flotilla does not serve. A panel of them stays empty.',
    '',
    '| name | why |',
    '|---|---|',
    ...[...ABSENT_SHARD_SERIES, ...ABSENT_PREFIXES].map(({ name, reason }) => `| \`${name}\` | ${reason} |`),
    '',
  ];
}
