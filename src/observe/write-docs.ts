/** Writes docs/ops/metrics.md and the Grafana dashboard. `npm run docs` runs it in the root of the repository. */
import { writeFileSync } from 'node:fs';
import { dashboardJson } from './grafana.ts';
import { metricsPage } from './metric-docs.ts';

writeFileSync('docs/ops/metrics.md', await metricsPage());
writeFileSync('docs/ops/grafana-dashboard.generated.json', dashboardJson());
