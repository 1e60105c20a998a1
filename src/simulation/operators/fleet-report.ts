/** The report of a fleet of operators: figures for programs, a progress line and a summary for people. */
import { status } from '@grpc/grpc-js';
import { MachineState } from '../../machine/state.ts';
import type { LatencySummary } from './latency-histogram.ts';
import type { OperatorFleet } from './operator-fleet.ts';

const S = MachineState;

export interface FleetReport {
  readonly elapsedSeconds: number;
  readonly sessions: {
    readonly standing: number;
    /** Open sessions whose resync is over: from then on their binding latencies are known. */
    readonly settled: number;
    readonly wanted: number;
    readonly opened: number;
    /** By the name of the gRPC status. */
    readonly ended: Readonly<Record<string, number>>;
    readonly lastEnding: string;
  };
  readonly rollups: {
    readonly sent: number;
    readonly acked: number;
    readonly heldBack: number;
    readonly rows: number;
    readonly bytes: number;
    readonly ackMs: LatencySummary;
  };
  readonly nodes: {
    readonly wanted: number;
    readonly configured: number;
    readonly configuring: number;
    readonly draining: number;
    readonly failed: number;
    readonly found: number;
    readonly forgotten: number;
    readonly updates: number;
  };
  readonly binds: {
    readonly count: number;
    readonly perSecond: number;
    /** From the first roll-up that asked for the machine until its node is Configured; see bind-tickets.ts. */
    readonly latencyMs: LatencySummary;
    /** The same since the previous report. */
    readonly latelyMs: LatencySummary;
    /** From the loss of a node that the cluster still asks for until its replacement is Configured. */
    readonly replacementMs: LatencySummary;
    /** The two parts of these latencies: until the shard asks for a blob, and from then on. */
    readonly untilBlobMs: LatencySummary;
    readonly fromBlobMs: LatencySummary;
    readonly extra: number;
    readonly withdrawn: number;
    readonly waiting: number;
    readonly oldestWaitingMs: number;
  };
  readonly bootstraps: {
    readonly requests: number;
    readonly answers: number;
    readonly errors: number;
    readonly silences: number;
  };
  readonly reclaims: { readonly instructions: number; readonly nodes: number; readonly preemptions: number };
  readonly capacityUpdates: number;
  readonly malformedFrames: number;
  readonly process: { readonly cpuSeconds: number; readonly residentMegabytes: number };
}

/** Makes reports. The `latelyMs` of each covers the time since the one before. */
export class FleetReporter {
  readonly #fleet: OperatorFleet;
  readonly #startedMs = Date.now();

  constructor(fleet: OperatorFleet) {
    this.#fleet = fleet;
  }

  report(): FleetReport {
    const { counters, binds, nodes, acks, clusters, settings } = this.#fleet;
    const nowMs = Date.now();
    const elapsedSeconds = Math.max(0.001, (nowMs - this.#startedMs) / 1_000);
    let waiting = 0;
    let oldestMs = nowMs;
    for (const { tickets } of clusters) {
      waiting += tickets.openCount;
      oldestMs = Math.min(oldestMs, tickets.oldestMs());
    }
    const latelyMs = binds.askedLately.summary();
    binds.askedLately.clear();
    const { user, system } = process.cpuUsage();
    return {
      elapsedSeconds: round(elapsedSeconds),
      sessions: {
        standing: this.#fleet.standingCount,
        settled: clusters.filter(({ isSettled }) => isSettled).length,
        wanted: settings.clusterCount,
        opened: counters.sessionsOpened,
        ended: Object.fromEntries(
          [...counters.endedByStatus].map(([code, count]) => [status[code] ?? String(code), count]),
        ),
        lastEnding: counters.lastEnding,
      },
      rollups: {
        sent: counters.rollupsSent,
        acked: counters.rollupsAcked,
        heldBack: counters.rollupsHeldBack,
        rows: counters.rowsSent,
        bytes: counters.bytesSent,
        ackMs: acks.summary(),
      },
      nodes: {
        wanted: this.#fleet.wantedCount,
        configured: nodes.byState[S.Configured]!,
        configuring: nodes.byState[S.Configuring]!,
        draining: nodes.byState[S.Draining]!,
        failed: nodes.byState[S.Failed]!,
        found: binds.found,
        forgotten: nodes.forgotten,
        updates: counters.nodeUpdates,
      },
      binds: {
        count: binds.bindCount,
        perSecond: round(binds.bindCount / elapsedSeconds),
        latencyMs: binds.asked.summary(),
        latelyMs,
        replacementMs: binds.lost.summary(),
        untilBlobMs: binds.untilBlob.summary(),
        fromBlobMs: binds.fromBlob.summary(),
        extra: binds.extra,
        withdrawn: binds.withdrawn,
        waiting,
        oldestWaitingMs: Math.round(nowMs - oldestMs),
      },
      bootstraps: {
        requests: counters.bootstrapRequests,
        answers: counters.bootstrapAnswers,
        errors: counters.bootstrapErrors,
        silences: counters.bootstrapSilences,
      },
      reclaims: {
        instructions: counters.reclaimInstructions,
        nodes: counters.reclaimedNodes,
        preemptions: counters.preemptions,
      },
      capacityUpdates: counters.capacityUpdates,
      malformedFrames: counters.malformedFrames,
      process: {
        cpuSeconds: round((user + system) / 1e6),
        residentMegabytes: Math.round(process.memoryUsage.rss() / 1e6),
      },
    };
  }
}

/** One line of progress. */
export function progressLine(now: FleetReport, before: FleetReport | null): string {
  const seconds = now.elapsedSeconds - (before?.elapsedSeconds ?? 0);
  const rate = (of: (report: FleetReport) => number) =>
    (of(now) - (before === null ? 0 : of(before))) / Math.max(seconds, 0.001);
  const { sessions, nodes, binds, reclaims } = now;
  const { p50Ms, p90Ms, p99Ms, count } = binds.latelyMs;
  return [
    `${Math.round(now.elapsedSeconds)}s`,
    `sessions ${sessions.standing}/${sessions.wanted}${sessions.settled < sessions.standing ? ` (${sessions.settled} settled)` : ''}`,
    `${rate(({ rollups }) => rollups.sent).toFixed(0)} roll-ups/s (${grouped(rate(({ rollups }) => rollups.rows))} rows/s)`,
    `nodes ${grouped(nodes.configured)} of ${grouped(nodes.wanted)}`,
    `binds ${grouped(binds.count)} (${rate((report) => report.binds.count).toFixed(1)}/s)`,
    count === 0
      ? 'latency: no new bind'
      : `latency p50 ${spanOf(p50Ms)} p90 ${spanOf(p90Ms)} p99 ${spanOf(p99Ms)}`,
    binds.waiting === 0
      ? 'missing 0'
      : `missing ${grouped(binds.waiting)} (the oldest for ${spanOf(binds.oldestWaitingMs)})`,
    `reclaims ${grouped(reclaims.nodes)} (${grouped(reclaims.preemptions)} by preemption)`,
  ].join('  ');
}

/** The summary at the end of a run. */
export function summaryText(report: FleetReport): string {
  const { sessions, rollups, nodes, binds, bootstraps, reclaims } = report;
  const ended = Object.entries(sessions.ended).map(([name, count]) => `${count} ${name}`);
  const latency = ({ count, p50Ms, p90Ms, p99Ms, maxMs }: LatencySummary) =>
    count === 0
      ? 'none'
      : `${grouped(count)}: p50 ${spanOf(p50Ms)}, p90 ${spanOf(p90Ms)}, p99 ${spanOf(p99Ms)}, longest ${spanOf(maxMs)}`;
  const lines: readonly (readonly [string, string])[] = [
    ['sessions', `${sessions.opened} opened, ended: ${ended.join(', ') || 'none'}`],
    [
      'roll-ups',
      `${grouped(rollups.sent)} sent (${grouped(rollups.rows)} rows, ${grouped(rollups.bytes / 1e6)} MB), ${grouped(rollups.acked)} acked, ${grouped(rollups.heldBack)} postponed; ack latency of ${latency(rollups.ackMs)}`,
    ],
    [
      'nodes',
      `${grouped(nodes.configured)} Configured of ${grouped(nodes.wanted)} wanted; ${grouped(nodes.found)} were already bound at the start of a session; ${grouped(nodes.updates)} updates`,
    ],
    ['bindings', `${grouped(binds.count)}, ${binds.perSecond.toFixed(1)} per second`],
    ['  for new demand', latency(binds.latencyMs)],
    ['  to replace a loss', latency(binds.replacementMs)],
    ['  waiting for one', latency(binds.untilBlobMs)],
    ['  binding it', latency(binds.fromBlobMs)],
    ['  without demand', `${grouped(binds.extra)}`],
    [
      'machines',
      `${grouped(binds.waiting)} still missing; ${grouped(binds.withdrawn)} withdrawn from the demand before they were bound`,
    ],
    [
      'bootstraps',
      `${grouped(bootstraps.requests)} requested, ${grouped(bootstraps.answers)} answered with a blob, ${grouped(bootstraps.errors)} with an error, ${grouped(bootstraps.silences)} not answered`,
    ],
    ['reclaims', `${grouped(reclaims.nodes)} nodes, ${grouped(reclaims.preemptions)} by preemption`],
    [
      'this process',
      `${report.process.cpuSeconds} s of CPU time in ${report.elapsedSeconds} s, ${grouped(report.process.residentMegabytes)} MB`,
    ],
  ];
  return lines.map(([name, text]) => `${name.padEnd(22)}${text}\n`).join('');
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function spanOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)}s` : `${(ms / 60_000).toFixed(1)}m`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
