/** Generates docs/ops/metrics.md from the metrics, and lists the names that dashboards and alerts may use. */
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
- \`cluster\` has at most 2,048 values; all further clusters share one value.
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
  ].join('\n');
}
