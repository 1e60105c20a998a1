/** Faults of processes: killed, stopped, replaced and woken ones, ended threads, clocks that jump. */
import { join } from 'node:path';
import type { Fault } from './faults.ts';
import { pause } from './programs.ts';
import type { Stage } from './stage.ts';

export const FAULT_MS = 4_000;
const HOUR_MS = 3_600_000;
/** Of the fault in which calls wait for a slot. */
const IN_FLIGHT_MAX = 2;
/** X16: outcomes of actions that were decided before the stall and not sent. */
const DROPPED: ReadonlySet<string> = new Set(['dropped', 'rolled_back', 'stale_state', 'no_session', 'held']);
/** Longer than the back-off of an offering whose first Creates failed on a busy machine. */
const WAITING_MS_MAX = 90_000;

interface Status {
  readonly queue: { readonly queued: number; readonly inFlight: number };
}

interface Clusters {
  readonly clusters: readonly { readonly session: { readonly connected: boolean } | null }[];
}

/** Kills the shard (-9) and starts another process. */
export async function restart(stage: Stage): Promise<string> {
  await stage.shard.kill();
  await stage.startShard();
  return 'a new process with the next epoch';
}

/** N6: a new process reclaims nothing before the clusters have reported. I2: a restart itself causes no action. */
async function restartWithoutReports(stage: Stage): Promise<string> {
  await stage.shard.kill();
  stage.operatorProxy.be({ kind: 'reset' });
  const before = stage.audited().length;
  await stage.startShard();
  await pause(FAULT_MS);
  const actions = stage.audited().length - before;
  stage.operatorProxy.be({ kind: 'pass' });
  if (actions > 0) throw new Error(`the shard began ${actions} actions before any cluster had reported`);
  return 'no action until the clusters reported';
}

/** A second process with the same shard id takes over while the first is stopped; the operators follow it. */
async function replaceStopped(stage: Stage): Promise<{ wake: () => void; http: string; auditLog: string }> {
  const { shard: former, shardHttp: http, auditLog } = stage;
  former.signal('SIGSTOP');
  stage.formers.push(former);
  stage.formerAuditLogs.push(auditLog);
  stage.dataDir = join(stage.folder, 'other-data');
  stage.auditLog = join(stage.folder, 'other-audit.log');
  await stage.startShard('--min-epoch', '1000');
  stage.operatorProxy.be({ kind: 'reset' });
  stage.operatorProxy.be({ kind: 'pass' });
  return { wake: () => former.signal('SIGCONT'), http, auditLog };
}

/** Wakes the first process before or after the second has finished. If it has nothing left to do, it makes no call. */
async function replaceAndWake(stage: Stage): Promise<string> {
  const { wake, http } = await replaceStopped(stage);
  await pause(FAULT_MS);
  wake();
  await pause(FAULT_MS);
  const ready = await fetch(`${http}readyz`);
  return `the old process is ${ready.status === 503 ? 'fenced' : 'idle and has changed no machine of the new one'}`;
}

/**
 * X16: a process that stood still sends nothing that it decided before. The first process is stopped while creates wait for a slot,
 * and the second one serves its clusters. The first one, woken, learns that its sessions are gone, so it decides nothing either.
 */
async function replaceAndWakeWithCalls(stage: Stage): Promise<string> {
  await creatingAndWaiting(stage);
  stage.shardFlags = []; // the second process need not be slow
  const stoppedMs = performance.now();
  const { wake, http, auditLog } = await replaceStopped(stage);
  stage.providerProxy.be({ kind: 'pass' });
  await stage.settle();
  // On a quiet machine the second process is done before the first one has stood still for long enough.
  await pause(Math.max(0, FAULT_MS - (performance.now() - stoppedMs)));
  const before = stage.audited(auditLog).length;
  const stoodMs = Math.round(performance.now() - stoppedMs);
  wake();
  await pause(2 * FAULT_MS);
  const response = await fetch(`${http}metrics`);
  const stalls = /^flotilla_stalls_total.*/m.exec(await response.text())?.[0];
  if (!/ [1-9]/.test(stalls ?? ''))
    throw new Error(
      `the old process did not notice that it had stood still for ${stoodMs} ms: /metrics ${response.status}, ${stalls}`,
    );
  const ended = stage.audited(auditLog).slice(before);
  const dropped = ended.filter(({ outcome }) => DROPPED.has(outcome)).length;
  if (dropped === 0) throw new Error('the old process dropped no action');
  // The calls that were under way when it was stopped are answered now.
  if (ended.length - dropped > IN_FLIGHT_MAX)
    throw new Error(
      `the old process sent ${ended.length - dropped - IN_FLIGHT_MAX} calls after it was woken`,
    );
  await checkQuiet(stage, http, auditLog);
  const ready = await fetch(`${http}readyz`);
  return `it dropped ${dropped} actions, sent none, and is ${ready.status === 503 ? 'fenced' : 'idle'}`;
}

/** The old process lives, begins nothing more and has no session. */
async function checkQuiet(stage: Stage, http: string, auditLog: string): Promise<void> {
  const health = await fetch(`${http}healthz`);
  if (health.status !== 200) throw new Error(`/healthz of the old process is ${health.status}, not 200`);
  const done = stage.audited(auditLog).length;
  await pause(FAULT_MS);
  const more = stage.audited(auditLog).length - done;
  if (more > 0) throw new Error(`the old process began ${more} actions`);
  const { clusters } = (await (await fetch(`${http}api/v1/clusters`)).json()) as Clusters;
  const connected = clusters.filter(({ session }) => session?.connected === true).length;
  if (connected > 0) throw new Error(`the old process still has ${connected} sessions`);
}

/** Waits until creates are in flight and more wait for a slot. */
async function creatingAndWaiting(stage: Stage): Promise<void> {
  const untilMs = performance.now() + WAITING_MS_MAX;
  for (;;) {
    const { queue } = (await (await fetch(`${stage.shardHttp}api/v1/status`)).json()) as Status;
    if (queue.inFlight > 0 && queue.queued > 0) return;
    if (performance.now() > untilMs)
      throw new Error(`no action waits for a slot; the queue is ${JSON.stringify(queue)}`);
    await pause(10);
  }
}

/** Ends all worker threads three times. */
async function endThreads(stage: Stage): Promise<string> {
  for (let time = 1; time <= 3; time++) {
    stage.tamper({ clockAheadMs: 0, threadEndings: time });
    await pause(FAULT_MS / 4);
  }
  const metrics = await (await fetch(`${stage.shardHttp}metrics`)).text();
  const restarts = Number(/^flotilla_worker_restarts_total\S* (\d+)/m.exec(metrics)?.[1] ?? 0);
  if (restarts === 0) throw new Error('the shard replaced no thread');
  return `the shard replaced ${restarts} threads and kept running`;
}

/** Idle holds (R3), back-offs (X12) and deadlines are durations and must not depend on the wall clock. */
async function jump(stage: Stage): Promise<string> {
  for (const hours of [1, -1, 0]) {
    stage.tamper({ clockAheadMs: hours * HOUR_MS, threadEndings: 0 });
    await pause(FAULT_MS / 2);
  }
  return 'the clock moved forward one hour, back two, forward one';
}

async function jumpInBurst(stage: Stage): Promise<string> {
  const moves = await jump(stage);
  const aheadMs = Date.now() + HOUR_MS / 2;
  const ahead = stage.audited().filter(({ time }) => Date.parse(time) > aheadMs).length;
  if (ahead === 0) throw new Error('no action has a time of the moved clock: it did not move');
  return `${moves}; ${ahead} actions are dated an hour ahead`;
}

async function jumpAtRest(stage: Stage): Promise<string> {
  const before = stage.audited().length;
  const moves = await jump(stage);
  const actions = stage.audited().length - before;
  if (actions > 0) throw new Error(`the shard began ${actions} actions because the clock jumped`);
  return `${moves}: no action`;
}

function tampered(stage: Stage): void {
  stage.isTampered = true;
  stage.tamper({ clockAheadMs: 0, threadEndings: 0 });
}

export const PROCESS_FAULTS: readonly Fault[] = [
  { name: 'shard killed (-9) in a burst', when: 'burst', inject: restart },
  { name: 'shard killed (-9) at rest, operators away', when: 'rest', inject: restartWithoutReports },
  {
    name: 'shard killed (-9) five times in a burst',
    when: 'burst',
    inject: async (stage) => {
      for (let time = 0; time < 5; time++) {
        await restart(stage);
        await pause(400);
      }
      return 'five processes, five epochs';
    },
  },
  {
    name: 'shard stopped and continued',
    when: 'burst',
    inject: async ({ shard }) => {
      shard.signal('SIGSTOP');
      await pause(FAULT_MS);
      shard.signal('SIGCONT');
      return 'no progress while stopped';
    },
  },
  { name: 'shard replaced while stopped, then woken', when: 'burst', inject: replaceAndWake },
  {
    name: 'shard replaced while stopped with calls to make, then woken',
    when: 'demand',
    prepare: (stage) => {
      stage.idleShare = 0;
      // A slow proxy on a busy machine: a Create that timed out would put its offering into back-off, and nothing would wait.
      stage.executeTimeout = '30s';
      stage.shardFlags = ['--execute-concurrency', String(IN_FLIGHT_MAX)];
    },
    beforeDemand: (stage) => stage.providerProxy.be({ kind: 'slow', delayMs: 500 }),
    inject: replaceAndWakeWithCalls,
  },
  { name: 'worker threads end, three times', when: 'burst', prepare: tampered, inject: endThreads },
  { name: 'clock jumps by hours in a burst', when: 'burst', prepare: tampered, inject: jumpInBurst },
  { name: 'clock jumps by hours at rest', when: 'rest', prepare: tampered, inject: jumpAtRest },
  {
    name: 'provider stopped and continued',
    when: 'burst',
    inject: async (stage) => {
      stage.providerProgram!.signal('SIGSTOP');
      await pause(FAULT_MS);
      const health = await fetch(`${stage.shardHttp}healthz`);
      stage.providerProgram!.signal('SIGCONT');
      return `/healthz ${health.status} meanwhile`;
    },
  },
  {
    name: 'provider killed (-9), back without memory',
    when: 'rest',
    inject: async (stage) => {
      await stage.providerProgram!.kill();
      await pause(FAULT_MS / 2);
      await stage.startProvider();
      return 'every machine is in its initial state again';
    },
  },
  {
    name: 'operators killed (-9) in a burst, back without memory',
    when: 'burst',
    prepare: (stage) => {
      stage.hasOperatorsApart = true;
    },
    inject: async (stage) => {
      await stage.operatorsProgram!.kill();
      await pause(FAULT_MS);
      const health = await fetch(`${stage.shardHttp}healthz`);
      await stage.startOperators();
      return `/healthz ${health.status} meanwhile; the shard reports every node again`;
    },
  },
  {
    name: 'operators break off, again and again',
    when: 'burst',
    inject: async ({ operators }) => {
      for (let time = 0; time < 10; time++) {
        for (const operator of operators) operator.breakOff();
        await pause(FAULT_MS / 10);
      }
      return '10 times each';
    },
  },
];
