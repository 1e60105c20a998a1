/** docs/ops/metrics.md, from the metrics themselves; also the names that dashboards and alerts may use. */
import { OWN_PREFIX, SHARD_PREFIX, ShardMetrics } from './shard-metrics.ts';

export interface MetricFacts {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Of this project, and of the process if wanted. */
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

Served at \`/metrics\` on \`--metrics-addr\`. Names that begin with \`bigfleet_shard_\` are those that users of the reference know;
the others are Flotilla's own. Gauges over the fleet are added up when somebody scrapes: an interval of 15 s is fine.
Labels: \`kind\` is an action (Bootstrap, Provision, Reclaim, Preempt, Delete), \`interruption_penalty_bucket\` the upper bound in
dollars, \`cluster\` has at most 2,048 values, and the rest share one. Besides these there are the usual metrics of a Node process
(\`process_…\`, \`nodejs_…\`).
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
