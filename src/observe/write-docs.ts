/** Writes docs/ops/metrics.md from the metrics: `npm run docs`, from the root of the repository. */
import { writeFileSync } from 'node:fs';
import { metricsPage } from './metric-docs.ts';

writeFileSync('docs/ops/metrics.md', await metricsPage());
