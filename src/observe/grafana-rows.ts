/** The panels of the Grafana dashboard, from an overview to details: cycle, fleet, demand, actions, providers. */

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface Panel {
  readonly kind: 'stat' | 'timeseries';
  readonly title: string;
  readonly unit: string;
  readonly queries: readonly Query[];
  readonly isRedFrom?: number;
}

export interface Row {
  readonly title: string;
  /** The panels of a line share its width equally. */
  readonly lines: readonly { readonly height: number; readonly panels: readonly Panel[] }[];
}

/** `metric#` filters by the chosen shards; `metric#{more="matchers"}` adds matchers. */
function query(text: string, legend: string): Query {
  const expr = text.replaceAll(/#(?:\{([^}]*)\})?/g, (_, matchers: string | undefined) =>
    matchers === undefined ? '{instance=~"$instance"}' : `{instance=~"$instance",${matchers}}`,
  );
  return { expr, legend };
}

function quantile(fraction: number, metric: string, legend: string, label = ''): Query {
  const by = label === '' ? 'le' : `${label}, le`;
  return query(`histogram_quantile(${fraction}, sum by (${by}) (rate(${metric}_bucket#[10m])))`, legend);
}

const sumBy = (label: string, metric: string) => query(`sum by (${label}) (${metric}#)`, `{{${label}}}`);
const rateBy = (label: string, metric: string) =>
  query(`sum by (${label}) (rate(${metric}#[5m]))`, `{{${label}}}`);
const rate = (metric: string, legend: string) => query(`sum(rate(${metric}#[5m]))`, legend);
const sum = (metric: string, legend: string) => query(`sum(${metric}#)`, legend);
const increase = (metric: string, legend: string) => query(`sum(increase(${metric}#[1h]))`, legend);

const graph = (title: string, unit: string, ...queries: Query[]): Panel => ({
  kind: 'timeseries',
  title,
  unit,
  queries,
});

function stat(title: string, unit: string, text: string, isRedFrom?: number): Panel {
  const panel = { kind: 'stat', title, unit, queries: [query(text, title)] } as const;
  return isRedFrom === undefined ? panel : { ...panel, isRedFrom };
}

const EVENTS = 'cps';
const SECONDS = 's';
const COUNT = 'short';
const USD = 'currencyUSD';

const GLANCE: Row = {
  title: 'Overview',
  lines: [
    {
      height: 4,
      panels: [
        stat('Machines', COUNT, 'sum(bigfleet_shard_inventory_machines#)'),
        stat('Configured', COUNT, 'sum(bigfleet_shard_inventory_machines#{state="Configured"})'),
        stat('Unmet needs', COUNT, 'sum(flotilla_unmet_needs#)', 1),
        stat('Sessions', COUNT, 'sum(bigfleet_shard_active_sessions#)'),
        stat('Cost per hour', USD, 'sum(flotilla_cost_dollars_per_hour#)'),
        stat(
          'Paused, dry run or fenced',
          COUNT,
          'sum(bigfleet_shard_actuation_paused#) + sum(flotilla_dry_run#) + sum(flotilla_fenced#)',
          1,
        ),
      ],
    },
  ],
};

const CYCLE: Row = {
  title: 'Cycle',
  lines: [
    {
      height: 8,
      panels: [
        graph(
          'Cycle duration',
          SECONDS,
          quantile(0.5, 'bigfleet_shard_cycle_duration_seconds', 'p50'),
          quantile(0.99, 'bigfleet_shard_cycle_duration_seconds', 'p99'),
        ),
        graph(
          'Mean time by phase',
          SECONDS,
          query(
            'sum by (phase) (rate(bigfleet_shard_cycle_phase_duration_seconds_sum#[5m]))' +
              ' / sum by (phase) (rate(bigfleet_shard_cycle_phase_duration_seconds_count#[5m]))',
            '{{phase}}',
          ),
        ),
        graph(
          'Event loop delay in the last 10 s',
          SECONDS,
          query('max by (quantile) (flotilla_event_loop_delay_seconds#)', '{{quantile}}'),
        ),
      ],
    },
    {
      height: 6,
      panels: [
        graph('Cycles', EVENTS, rateBy('trigger', 'flotilla_cycles_total')),
        graph('Needs evaluated per cycle', COUNT, sum('flotilla_cycle_evaluated_needs', 'evaluated')),
        graph(
          'Self-checks per hour',
          COUNT,
          increase('flotilla_incremental_checks_total', 'checks'),
          increase('flotilla_incremental_check_differences_total', 'differences'),
        ),
      ],
    },
  ],
};

const FLEET: Row = {
  title: 'Fleet and cost',
  lines: [
    {
      height: 8,
      panels: [
        graph('Machines by state', COUNT, sumBy('state', 'bigfleet_shard_inventory_machines')),
        graph(
          'Machines by capacity type',
          COUNT,
          sumBy('capacity_type', 'bigfleet_shard_inventory_machines'),
        ),
        graph(
          'Cost per hour',
          USD,
          sumBy('capacity_type', 'flotilla_cost_dollars_per_hour'),
          sum('flotilla_idle_cost_dollars_per_hour', 'idle'),
        ),
      ],
    },
  ],
};

const DEMAND: Row = {
  title: 'Demand',
  lines: [
    {
      height: 8,
      panels: [
        graph(
          'Demand in machines, by interruption penalty in dollars',
          COUNT,
          sumBy('interruption_penalty_bucket', 'bigfleet_shard_demand_machines'),
        ),
        graph(
          'Shortfalls by priority',
          COUNT,
          sumBy('priority_class', 'bigfleet_shard_shortfalls_by_priority'),
        ),
        graph('Shortfalls by age in cycles', COUNT, sumBy('bucket', 'bigfleet_shard_shortfalls_aged')),
      ],
    },
    {
      height: 6,
      panels: [
        graph(
          'Roll-ups',
          EVENTS,
          rateBy('result', 'flotilla_rollups_total'),
          rate('bigfleet_shard_rollups_rejected_total', 'rejected'),
        ),
        graph(
          'Consecutive roll-ups in quarantine',
          COUNT,
          sumBy('cluster', 'bigfleet_shard_rollup_quarantined'),
        ),
        graph(
          'Sessions',
          COUNT,
          sum('bigfleet_shard_active_sessions', 'active'),
          query(
            'sum by (event) (increase(bigfleet_shard_session_lifecycle_total#[5m]))',
            '{{event}} in 5 min',
          ),
        ),
      ],
    },
  ],
};

const ACTIONS: Row = {
  title: 'Actions',
  lines: [
    {
      height: 8,
      panels: [
        graph('Actions enqueued', EVENTS, rateBy('kind', 'bigfleet_shard_actions_total')),
        graph(
          'Outcomes other than success',
          EVENTS,
          query(
            'sum by (outcome) (rate(bigfleet_shard_action_execute_outcomes_total#{outcome!="success"}[5m]))',
            '{{outcome}}',
          ),
        ),
        graph(
          'Queues and actions in flight',
          COUNT,
          sum('bigfleet_shard_action_queue_depth', 'queued'),
          sum('bigfleet_shard_execute_inflight', 'in flight'),
          sum('flotilla_reads_waiting', 'reads waiting'),
        ),
      ],
    },
    {
      height: 8,
      panels: [
        graph(
          'Action duration, p95',
          SECONDS,
          quantile(0.95, 'bigfleet_shard_action_duration_seconds', '{{kind}}', 'kind'),
        ),
        graph(
          'Steps of an action, p95',
          SECONDS,
          quantile(0.95, 'bigfleet_shard_request_bootstrap_seconds', 'bootstrap blob'),
          quantile(0.95, 'bigfleet_shard_configure_phase_seconds', 'configure'),
          quantile(0.95, 'bigfleet_shard_drain_phase_seconds', 'drain'),
          quantile(0.95, 'bigfleet_shard_provisioning_latency_seconds', 'provisioning'),
        ),
        graph(
          'From need to node, p95',
          SECONDS,
          quantile(0.95, 'flotilla_binding_seconds', '{{path}}', 'path'),
        ),
        graph(
          'Actions stopped by rails',
          EVENTS,
          rate('bigfleet_shard_reclaims_capped_total', 'reclaims capped'),
          rate('flotilla_preemptions_capped_total', 'preemptions capped'),
          rate('bigfleet_shard_actions_deferred_total', 'deferred'),
          rate('bigfleet_shard_actions_dropped_total', 'dropped'),
          rate('bigfleet_shard_actions_suppressed_total', 'suppressed'),
          rate('bigfleet_shard_actions_dryrun_total', 'dry run'),
        ),
      ],
    },
  ],
};

const PROVIDERS: Row = {
  title: 'Providers and process',
  lines: [
    {
      height: 8,
      panels: [
        graph(
          'Listing duration, p95',
          SECONDS,
          quantile(0.95, 'flotilla_listing_duration_seconds', '{{provider}}', 'provider'),
        ),
        graph(
          'Age of the last listing',
          SECONDS,
          query('time() - max by (provider) (flotilla_last_listing_timestamp_seconds#)', '{{provider}}'),
        ),
        graph(
          'Listed rows that differ',
          EVENTS,
          rateBy('fate', 'flotilla_reconcile_rows_total'),
          query(
            'sum by (reason) (rate(bigfleet_shard_machines_rejected_total#[5m]))',
            'rejected: {{reason}}',
          ),
        ),
      ],
    },
    {
      height: 8,
      panels: [
        graph(
          'Stuck, in back-off, deferred',
          COUNT,
          sum('flotilla_stuck_machines', 'stuck machines'),
          sum('flotilla_machines_in_backoff', 'machines in back-off'),
          sum('flotilla_offerings_in_backoff', 'offerings in back-off'),
          sum('flotilla_parked_rows', 'deferred rows'),
          increase('flotilla_worker_restarts_total', 'worker restarts per hour'),
        ),
        graph(
          'Happens repeatedly',
          COUNT,
          increase('flotilla_churned_machines_total', 'machines given up within 10 min, per hour'),
          sum('flotilla_flipping_needs', 'needs that flip'),
          sum('flotilla_failing_machines', 'machines that fail'),
          sum('flotilla_failing_offerings', 'offerings that fail'),
        ),
        graph(
          'Memory',
          'bytes',
          sumBy('instance', 'process_resident_memory_bytes'),
          query('sum by (instance) (nodejs_heap_size_used_bytes#)', '{{instance}} heap'),
        ),
      ],
    },
  ],
};

export const DASHBOARD_ROWS: readonly Row[] = [GLANCE, CYCLE, FLEET, DEMAND, ACTIONS, PROVIDERS];
