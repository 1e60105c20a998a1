import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLUSTER_LABELS_MAX } from '../../src/observe/cluster-labels.ts';
import { labelDomain } from '../../src/observe/label-values.ts';
import { allMetrics, metricsPage } from '../../src/observe/metric-docs.ts';
import { ShardMetrics } from '../../src/observe/shard-metrics.ts';
import type { ActionOutcome } from '../../src/shard/ports/observer.ts';
import {
  actionRecord,
  cycleReport,
  listingReport,
  NO_ACTIONS,
  shardCounters,
  shardGauges,
} from './records.ts';

function metricsUnderTest(): ShardMetrics {
  const metrics = new ShardMetrics({ hasProcessMetrics: false });
  onTestFinished(() => metrics.close());
  return metrics;
}

/** Samples by name and labels as they are exposed: `name{a="b"}` → value. Every label value must be a documented one. */
async function samplesOf(metrics: ShardMetrics): Promise<Map<string, number>> {
  const { body } = await metrics.scrape();
  const samples = new Map(
    body
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
  for (const sample of samples.keys()) {
    const name = sample.replace(/(?:_bucket|_sum|_count)?(?:\{.*)?$/, '');
    for (const [, label, value] of sample.matchAll(/(\w+)="([^"]*)"/g)) {
      const domain = label === 'le' ? 'a bound' : labelDomain(name, label!);
      if (typeof domain !== 'string') expect(domain, sample).toContain(value);
    }
  }
  return samples;
}

/** Dashboards of the reference use exactly these names. */
const PROMISED =
  `cycle_duration_seconds cycle_phase_duration_seconds inventory_machines demand_machines shortfalls
  shortfalls_aged actions_total action_execute_outcomes_total actions_deferred_total actions_dropped_total
  actions_deduped_total action_queue_depth execute_inflight action_duration_seconds configure_phase_seconds
  request_bootstrap_seconds drain_phase_seconds provisioning_latency_seconds reclaims_capped_total rollup_quarantined
  actions_suppressed_total actuation_paused actions_dryrun_total idle_releases_total machines_rejected_total
  rollups_rejected_total shortfalls_by_priority active_sessions session_lifecycle_total session_identity_rejected_total`
    .split(/\s+/)
    .map((name) => `bigfleet_shard_${name}`);

describe('the metrics', () => {
  it('have exactly the names of the reference under its prefix', async () => {
    const names = (await allMetrics()).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('bigfleet_')).sort()).toEqual([...PROMISED].sort());
    expect(names.filter((name) => !/^(?:bigfleet_shard|flotilla)_/.test(name))).toEqual([]);
  });

  it('all have a help text, and counters end in _total', async () => {
    for (const { name, help, type } of await allMetrics()) {
      expect(help, name).toMatch(/\.$/);
      if (type === 'counter') expect(name).toMatch(/_total$/);
    }
  });

  it('match docs/ops/metrics.md, which npm run docs writes', async () => {
    const path = join(import.meta.dirname, '../../docs/ops/metrics.md');
    expect(readFileSync(path, 'utf8')).toBe(await metricsPage());
  });

  it('are exposed before the shard exists, without samples of missing sources', async () => {
    const samples = await samplesOf(metricsUnderTest());
    expect(samples.get('bigfleet_shard_actions_total{kind="Reclaim"}')).toBe(0);
    expect([...samples.keys()].filter((key) => key.startsWith('bigfleet_shard_shortfalls'))).toEqual([]);
    expect(samples.has('bigfleet_shard_actuation_paused')).toBe(false);
    expect(samples.has('bigfleet_shard_actions_dropped_total')).toBe(false);
  });

  it('include those of the process', async () => {
    const metrics = new ShardMetrics();
    onTestFinished(() => metrics.close());
    const { body, contentType } = await metrics.scrape();
    expect(body).toContain('process_cpu_seconds_total');
    expect(contentType).toContain('text/plain');
  });
});

describe('C6: a cycle', () => {
  it('is counted with its phases and its actions by kind', async () => {
    const metrics = metricsUnderTest();
    metrics.cycleEnded(
      cycleReport({
        durationMs: 40,
        unmetNeeds: 3,
        enqueued: { ...NO_ACTIONS, Bootstrap: 5 },
        suppressed: { ...NO_ACTIONS, Delete: 2 },
        dryRun: { ...NO_ACTIONS, Preempt: 1 },
      }),
    );
    metrics.cycleEnded(cycleReport({ isOrdinary: false, enqueued: { ...NO_ACTIONS, Bootstrap: 1 } }));
    const samples = await samplesOf(metrics);
    expect(Object.fromEntries(samples)).toMatchObject({
      bigfleet_shard_cycle_duration_seconds_count: 2,
      bigfleet_shard_cycle_duration_seconds_sum: 0.044,
      'bigfleet_shard_cycle_duration_seconds_bucket{le="0.005"}': 1,
      'bigfleet_shard_cycle_phase_duration_seconds_count{phase="phase1"}': 2,
      'bigfleet_shard_cycle_phase_duration_seconds_count{phase="snapread"}': 2,
      'bigfleet_shard_actions_total{kind="Bootstrap"}': 6,
      'bigfleet_shard_actions_total{kind="Delete"}': 0,
      'bigfleet_shard_actions_suppressed_total{kind="Delete"}': 2,
      'bigfleet_shard_actions_dryrun_total{kind="Preempt"}': 1,
      'flotilla_cycles_total{trigger="ordinary"}': 1,
      'flotilla_cycles_total{trigger="woken"}': 1,
      flotilla_last_cycle_timestamp_seconds: 1_000,
    });
  });

  it('shows whether actions are held back', async () => {
    const metrics = metricsUnderTest();
    metrics.cycleEnded(cycleReport({ heldBack: 'waiting for the first listing of rack-a' }));
    expect((await samplesOf(metrics)).get('flotilla_actions_held_back')).toBe(1);
    metrics.cycleEnded(cycleReport());
    expect((await samplesOf(metrics)).get('flotilla_actions_held_back')).toBe(0);
  });
});

describe('X9: an action', () => {
  it('X9: is counted by kind and outcome, with what it waited for', async () => {
    const metrics = metricsUnderTest();
    metrics.actionEnded(
      actionRecord({ kind: 'Bootstrap', outcome: 'accepted', blobMs: 200, callMs: 300, durationMs: 600 }),
    );
    metrics.actionEnded(
      actionRecord({ kind: 'Bootstrap', outcome: 'blob_timeout', blobMs: 30_000, callMs: 0 }),
    );
    metrics.machineBound({ path: 'created', neededMs: 2_600, enqueuedMs: 600 });
    metrics.actionEnded(actionRecord({ kind: 'Preempt', callMs: 20 }));
    metrics.actionEnded(actionRecord({ kind: 'Delete' }));
    metrics.actionEnded(actionRecord({ kind: 'Delete', outcome: 'provider_error' }));
    const samples = await samplesOf(metrics);
    expect(Object.fromEntries(samples)).toMatchObject({
      'flotilla_actions_accepted_total{kind="Bootstrap"}': 1,
      'flotilla_actions_accepted_total{kind="Delete"}': 0,
      'bigfleet_shard_action_execute_outcomes_total{kind="Bootstrap",outcome="blob_timeout"}': 1,
      'bigfleet_shard_action_execute_outcomes_total{kind="Delete",outcome="provider_error"}': 1,
      'bigfleet_shard_action_duration_seconds_count{kind="Bootstrap"}': 2,
      bigfleet_shard_request_bootstrap_seconds_count: 2,
      bigfleet_shard_configure_phase_seconds_count: 1,
      bigfleet_shard_configure_phase_seconds_sum: 0.3,
      bigfleet_shard_drain_phase_seconds_count: 1,
      bigfleet_shard_provisioning_latency_seconds_count: 1,
      bigfleet_shard_provisioning_latency_seconds_sum: 0.6,
      'flotilla_binding_seconds_sum{path="created"}': 2.6,
      'flotilla_binding_seconds_count{path="created"}': 1,
      'flotilla_binding_seconds_count{path="waited"}': 0,
      bigfleet_shard_idle_releases_total: 1,
    });
    expect([...samples.keys()].filter((key) => key.includes('outcome="accepted"'))).toEqual([]);
  });

  it('X9: that a provider carries out after its ack counts as an outcome when it has ended', async () => {
    const metrics = metricsUnderTest();
    const success = 'bigfleet_shard_action_execute_outcomes_total{kind="Delete",outcome="success"}';
    metrics.actionEnded(actionRecord({ kind: 'Delete', outcome: 'accepted' }));
    const before = await samplesOf(metrics);
    expect([before.get(success), before.get('bigfleet_shard_idle_releases_total')]).toEqual([undefined, 0]);
    metrics.acceptedActionEnded({ kind: 'Delete', outcome: 'success' });
    metrics.acceptedActionEnded({ kind: 'Delete', outcome: 'provider_error' });
    const after = await samplesOf(metrics);
    expect([after.get(success), after.get('bigfleet_shard_idle_releases_total')]).toEqual([1, 1]);
    expect(after.get(success.replace('success', 'provider_error'))).toBe(1);
    expect(after.get('flotilla_actions_accepted_total{kind="Delete"}')).toBe(1);
  });

  for (const outcome of [
    'dropped',
    'deduped',
    'suppressed',
    'dryrun',
    'stale_state',
  ] as const satisfies ActionOutcome[]) {
    it(`that was not executed (${outcome}) has no duration`, async () => {
      const metrics = metricsUnderTest();
      metrics.actionEnded(actionRecord({ outcome }));
      const samples = await samplesOf(metrics);
      expect([...samples.keys()].filter((key) => key.startsWith('bigfleet_shard_action_duration'))).toEqual(
        [],
      );
    });
  }
});

describe('listings', () => {
  it('show the last successful listing of each provider, and whether it was suspect', async () => {
    const metrics = metricsUnderTest();
    metrics.listingEnded(listingReport());
    metrics.listingEnded(listingReport({ provider: 'rack-b', failure: 'gone' }));
    metrics.listingEnded(listingReport({ provider: 'rack-c', isSuspect: true }));
    const samples = await samplesOf(metrics);
    expect(samples.get('flotilla_last_listing_timestamp_seconds{provider="rack-a"}')).toBeGreaterThan(1e9);
    expect(samples.has('flotilla_last_listing_timestamp_seconds{provider="rack-b"}')).toBe(false);
    expect(samples.get('flotilla_listing_duration_seconds_count{provider="rack-b"}')).toBe(1);
    expect(samples.get('flotilla_listing_suspect{provider="rack-c"}')).toBe(1);
    expect(samples.get('flotilla_listing_suspect{provider="rack-a"}')).toBe(0);
  });

  it('S6: keep a held listing over a failed one, and the time at which it was believed', async () => {
    const metrics = metricsUnderTest();
    const name = 'flotilla_removal_believed_timestamp_seconds{provider="rack-a"}';
    metrics.listingEnded(listingReport({ isSuspect: true }));
    metrics.listingEnded(listingReport({ failure: 'gone' }));
    const held = await samplesOf(metrics);
    expect([held.get('flotilla_listing_suspect{provider="rack-a"}'), held.has(name)]).toEqual([1, false]);
    metrics.listingEnded(listingReport({ isRemovalBelieved: true }));
    const believed = await samplesOf(metrics);
    expect(believed.get('flotilla_listing_suspect{provider="rack-a"}')).toBe(0);
    expect(believed.get(name)).toBeGreaterThan(1e9);
  });
});

describe('T10: records of machines that another provider owns', () => {
  it('T10: are counted by the provider that lists them', async () => {
    const metrics = metricsUnderTest();
    metrics.listingEnded(listingReport({ foreignCount: 3 }));
    metrics.listingEnded(listingReport({ foreignCount: 2 }));
    metrics.listingEnded(listingReport({ provider: 'rack-b' }));
    metrics.watch({ gauges: () => shardGauges({ disputedMachines: 7 }) });
    const samples = await samplesOf(metrics);
    expect(samples.get('flotilla_foreign_records_total{provider="rack-a"}')).toBe(5);
    expect(samples.get('flotilla_foreign_records_total{provider="rack-b"}')).toBe(0);
    expect(samples.get('flotilla_disputed_machines')).toBe(7);
  });
});

describe('values read at scrape time', () => {
  it('are the counters and gauges of that moment', async () => {
    const metrics = metricsUnderTest();
    const counters = shardCounters({
      actionsDropped: 4,
      rowsDeferred: 2,
      rollupsAccepted: 3,
      rollupsUnchanged: 9,
    });
    counters.rejected.price = 5;
    let isPaused = true;
    metrics.watch({
      counters: () => counters,
      gauges: () => shardGauges({ isPaused, queueDepth: 11, inFlight: 7 }),
    });
    expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject({
      bigfleet_shard_actions_dropped_total: 4,
      'bigfleet_shard_machines_rejected_total{reason="price"}': 5,
      'bigfleet_shard_machines_rejected_total{reason="structural"}': 0,
      'flotilla_reconcile_rows_total{fate="parked"}': 2,
      'flotilla_rollups_total{result="changed"}': 3,
      'flotilla_rollups_total{result="unchanged"}': 9,
      bigfleet_shard_action_queue_depth: 11,
      bigfleet_shard_execute_inflight: 7,
      bigfleet_shard_actuation_paused: 1,
    });
    counters.actionsDropped = 6;
    isPaused = false;
    const later = await samplesOf(metrics);
    expect(later.get('bigfleet_shard_actions_dropped_total')).toBe(6);
    expect(later.get('bigfleet_shard_actuation_paused')).toBe(0);
  });

  it('P5: include shortfalls by age and by priority class', async () => {
    const metrics = metricsUnderTest();
    const shortfalls = [
      { priority: 2_000_000, ageCycles: 1 },
      { priority: 1_000_000, ageCycles: 9 },
      { priority: 999_999, ageCycles: 10 },
      { priority: 1_000, ageCycles: 59 },
      { priority: 999, ageCycles: 60 },
      { priority: 99, ageCycles: 299 },
      { priority: -5, ageCycles: 300 },
    ];
    metrics.watch({ shortfalls: () => shortfalls });
    expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject({
      bigfleet_shard_shortfalls: 7,
      'bigfleet_shard_shortfalls_aged{bucket="1-9"}': 2,
      'bigfleet_shard_shortfalls_aged{bucket="10-59"}': 2,
      'bigfleet_shard_shortfalls_aged{bucket="60-299"}': 2,
      'bigfleet_shard_shortfalls_aged{bucket="300+"}': 1,
      'bigfleet_shard_shortfalls_by_priority{priority_class="critical"}': 2,
      'bigfleet_shard_shortfalls_by_priority{priority_class="service"}': 2,
      'bigfleet_shard_shortfalls_by_priority{priority_class="batch"}': 1,
      'bigfleet_shard_shortfalls_by_priority{priority_class="other"}': 2,
    });
  });

  it('include sessions, workers, the audit log and readiness', async () => {
    const metrics = metricsUnderTest();
    metrics.watch({
      sessions: () => ({
        ...{
          active: 2,
          installed: 5,
          removed: 2,
          replaced: 1,
          identityRejected: 3,
          refused: { stream_total: 4 },
          connectionsEnded: { age: 7, expired: 1 },
        },
        rollupBytesWaiting: 4,
      }),
      workerRestarts: () => 1,
    });
    metrics.watch({ audit: () => ({ written: 10, lost: 2, isFailing: true }), isReady: () => true });
    expect(Object.fromEntries(await samplesOf(metrics))).toMatchObject({
      bigfleet_shard_active_sessions: 2,
      'bigfleet_shard_session_lifecycle_total{event="installed"}': 5,
      'bigfleet_shard_session_lifecycle_total{event="replaced"}': 1,
      bigfleet_shard_session_identity_rejected_total: 3,
      flotilla_rollup_bytes_waiting: 4,
      'flotilla_connections_ended_total{reason="age"}': 7,
      'flotilla_connections_ended_total{reason="expired"}': 1,
      flotilla_worker_restarts_total: 1,
      flotilla_audit_records_lost_total: 2,
      flotilla_audit_failing: 1,
      flotilla_ready: 1,
    });
  });

  it('T14: include the expiry of the TLS files, and none without TLS', async () => {
    const metrics = metricsUnderTest();
    const ofTls = async () => [...(await samplesOf(metrics))].filter(([name]) => name.includes('_tls_'));
    expect(await ofTls()).toEqual([]);
    const files = [
      { file: 'certificate', validFromMs: 1_000, expiresMs: 90_000 },
      { file: 'ca', validFromMs: 0, expiresMs: 500_000 },
    ];
    metrics.watch({ tls: () => ({ files, reloadFailures: 2, isFailing: true }) });
    expect(Object.fromEntries(await ofTls())).toEqual({
      'flotilla_tls_expiry_timestamp_seconds{file="certificate"}': 90,
      'flotilla_tls_expiry_timestamp_seconds{file="ca"}': 500,
      'flotilla_tls_valid_from_timestamp_seconds{file="certificate"}': 1,
      'flotilla_tls_valid_from_timestamp_seconds{file="ca"}': 0,
      flotilla_tls_reload_failures_total: 2,
      flotilla_tls_reload_failing: 1,
    });
  });

  it('N7: include quarantined roll-ups until the quarantine ends', async () => {
    const metrics = metricsUnderTest();
    let held: [string, number][] = [['c-1', 2]];
    metrics.watch({ heldRollups: () => held });
    expect((await samplesOf(metrics)).get('bigfleet_shard_rollup_quarantined{cluster="c-1"}')).toBe(2);
    held = [];
    expect((await samplesOf(metrics)).has('bigfleet_shard_rollup_quarantined{cluster="c-1"}')).toBe(false);
  });
});

describe('I4: labels that clients choose', () => {
  it('are bounded in number, and no count is lost', async () => {
    const metrics = metricsUnderTest();
    const clusterCount = CLUSTER_LABELS_MAX + 500;
    for (let index = 0; index < clusterCount; index++) {
      metrics.happened({ kind: 'rollup_rejected', level: 'warn', clusterId: `c-${index}`, detail: '' });
    }
    metrics.happened({ kind: 'rollup_rejected', level: 'warn', clusterId: 'c-0', detail: '' });
    metrics.watch({
      heldRollups: () => Array.from({ length: clusterCount }, (_, index) => [`c-${index}`, 1] as const),
    });
    const samples = await samplesOf(metrics);
    for (const name of ['bigfleet_shard_rollups_rejected_total', 'bigfleet_shard_rollup_quarantined']) {
      const ofName = [...samples].filter(([key]) => key.startsWith(name));
      expect(ofName).toHaveLength(CLUSTER_LABELS_MAX + 1);
      const total = ofName.reduce((sum, [, value]) => sum + value, 0);
      expect(total).toBe(name.endsWith('_total') ? clusterCount + 1 : clusterCount);
    }
    expect(samples.get('bigfleet_shard_rollups_rejected_total{cluster="c-0"}')).toBe(2);
  });

  it('cannot break the exposition format', async () => {
    const metrics = metricsUnderTest();
    metrics.happened({ kind: 'rollup_rejected', level: 'warn', clusterId: 'a"}\nforged 1\\', detail: '' });
    const { body } = await metrics.scrape();
    expect(body).not.toMatch(/^forged/m);
    expect(body).toContain('cluster="a\\"}\\nforged 1\\\\"');
  });
});
