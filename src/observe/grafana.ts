/**
 * Generates docs/ops/grafana-dashboard.generated.json. Its two thousand lines of JSON are hard to review, so the source is
 * rows of panels (grafana-rows.ts), each with a title, a unit and queries. `npm run docs` writes the file.
 */
import { DASHBOARD_ROWS, type Panel } from './grafana-rows.ts';

const COLUMNS = 24;
const DATA_SOURCE = { type: 'prometheus', uid: '$datasource' } as const;

export function dashboardJson(): string {
  const panels: object[] = [];
  let top = 0;
  for (const { title, lines } of DASHBOARD_ROWS) {
    const gridPos = { x: 0, y: top, w: COLUMNS, h: 1 };
    panels.push({ id: panels.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] });
    top += 1;
    for (const { height, panels: inLine } of lines) {
      const width = Math.floor(COLUMNS / inLine.length);
      inLine.forEach((panel, index) => {
        const position = { x: index * width, y: top, w: width, h: height };
        panels.push({ id: panels.length + 1, ...panelJson(panel), gridPos: position });
      });
      top += height;
    }
  }
  const dashboard = {
    title: 'Flotilla shard',
    uid: 'flotilla-shard',
    tags: ['flotilla'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: VARIABLES },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 1)}\n`;
}

const INSTANCES = 'label_values(flotilla_build_info, instance)';

const VARIABLES = [
  { name: 'datasource', type: 'datasource', label: 'Data source', query: 'prometheus' },
  {
    name: 'instance',
    type: 'query',
    label: 'Shard',
    datasource: DATA_SOURCE,
    query: INSTANCES,
    definition: INSTANCES,
    refresh: 2,
    multi: true,
    includeAll: true,
    current: { text: 'All', value: '$__all' },
  },
] as const;

function panelJson({ kind, title, unit, queries, isRedFrom }: Panel): object {
  const thresholds = {
    mode: 'absolute',
    steps: [
      { color: 'green', value: null },
      { color: 'red', value: isRedFrom },
    ],
  };
  return {
    type: kind,
    title,
    datasource: DATA_SOURCE,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(isRedFrom === undefined ? {} : { thresholds }),
        ...(kind === 'timeseries' ? { custom: { fillOpacity: 10, showPoints: 'never' } } : {}),
      },
      overrides: [],
    },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      expr,
      legendFormat: legend,
    })),
  };
}
