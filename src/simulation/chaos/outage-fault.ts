/**
 * All of etcd is away while demand goes up and down, for as long as one wants (`--outage`). The active replica must go on binding machines,
 * must start no removal later than a lease after the stop, and must agree with the standby within two cycles when etcd is back.
 *
 * Each cluster's demand grows slowly, so that there are machines to bind until the end, and falls every other second, so that there are always
 * machines to reclaim. Idle machines are due for release after a short hold.
 */
import { NODES_PER_CLUSTER, rows } from './clusters.ts';
import type { Fault } from './faults.ts';
import { pause } from './programs.ts';
import { LEASE_MS, type Replica, ReplicaStage } from './replica-stage.ts';
import type { AuditLine } from './stage.ts';

export const OUTAGE_MS = 20_000;
const CYCLE_MS = 4_000;
const LOAD_EVERY_MS = 1_000;
const CALM_MS = 12_000;
const NODES_MIN = 10;
/** Of the demand that falls again, and of the demand at the end of the outage: three clusters leave some machines Idle. */
const NODES_MAX = 45;
/** The answer to a call that was sent in time. */
const ANSWER_MS_MAX = 1_000;
/** Bindings in each of so many parts of the outage. */
const PARTS = 4;
const AGREE_CYCLES_MAX = 2;

const REMOVALS: ReadonlySet<string> = new Set(['Reclaim', 'Preempt', 'Delete']);
const BINDINGS: ReadonlySet<string> = new Set(['Bootstrap', 'Provision']);
/** Outcomes of actions of which a provider was told. */
const SENT: ReadonlySet<string> = new Set(['success', 'accepted', 'timeout']);

const FLAGS = [
  ...['--reclaim-cap-fraction', 'unlimited', '--empty-rollup-guard=false'],
  ...['--idle-hold-on-demand', '5s', '--idle-hold-spot', '5s'],
];

export function etcdAwayUnderLoad(outageMs = OUTAGE_MS): Fault {
  return {
    name: 'replicas: etcd away under load',
    when: 'rest',
    stage: () => new ReplicaStage(),
    prepare: (stage) => {
      stage.cycleInterval = `${CYCLE_MS}ms`;
      stage.shardFlags = FLAGS;
    },
    inject: (stage) => inject(stage as ReplicaStage, outageMs),
    removes: true,
    withOutage: etcdAwayUnderLoad,
  };
}

async function inject(stage: ReplicaStage, outageMs: number): Promise<string> {
  const load = new Load(stage, outageMs);
  try {
    await pause(CALM_MS);
    const active = await stage.active();
    const stoppedMs = Date.now();
    load.grow();
    for (const member of stage.etcd) await member.kill();
    const killedMs = Date.now();
    await pause(outageMs);
    const [role, endedMs] = [await active.role(), Date.now()];
    if (role !== 'adrift') throw new Error(`a replica without a directory is ${role}, not adrift`);
    await Promise.all(stage.etcd.map((member) => member.resume()));
    const backMs = Date.now();
    await agree(stage);
    const agreedMs = Date.now() - backMs;
    if (agreedMs > AGREE_CYCLES_MAX * CYCLE_MS)
      throw new Error(`the replicas agreed ${agreedMs} ms after etcd was back, not within two cycles`);
    await pause(CALM_MS);
    const lines = auditedBy(stage);
    checkRemovals(lines, killedMs, backMs);
    const bound = checkBindings(lines, stoppedMs, endedMs);
    const [before, after] = [sentBefore(lines, stoppedMs), lines.length - sentBefore(lines, backMs)];
    return (
      `away for ${Math.round((backMs - killedMs) / 1_000)} s: ${bound} bindings, and the last removal ` +
      `${lastRemoval(lines, killedMs, backMs)}; agreed after ${(agreedMs / 1_000).toFixed(1)} s; ` +
      `${before} actions before, ${after} after`
    );
  } finally {
    load.stop();
  }
}

/** Demand of all clusters, until `stop`. */
class Load {
  readonly #stage: ReplicaStage;
  readonly #outageMs: number;
  readonly #timer: NodeJS.Timeout;
  #growsSinceMs: number | null = null;
  #step = 0;

  constructor(stage: ReplicaStage, outageMs: number) {
    this.#stage = stage;
    this.#outageMs = outageMs;
    this.#timer = setInterval(() => this.#change(), LOAD_EVERY_MS);
  }

  /** From now on the highest demand grows. */
  grow(): void {
    this.#growsSinceMs = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const operator of this.#stage.operators) operator.setDemand(rows(NODES_PER_CLUSTER));
  }

  #change(): void {
    const grownMs = this.#growsSinceMs === null ? 0 : performance.now() - this.#growsSinceMs;
    const share = Math.min(1, grownMs / this.#outageMs);
    const highest = Math.round(NODES_PER_CLUSTER + share * (NODES_MAX - NODES_PER_CLUSTER));
    this.#step++;
    for (const [index, operator] of this.#stage.operators.entries())
      operator.setDemand(rows((this.#step + index) % 2 === 0 ? highest : NODES_MIN));
  }
}

/** One replica is confirmed, and the other one knows it. */
async function agree(stage: ReplicaStage): Promise<void> {
  const active = await stage.confirmed();
  const other = stage.replicas.find((replica) => replica !== active)!;
  await stage.knows(other, active.name);
}

interface TimedLine extends AuditLine {
  readonly atMs: number;
}

/** Actions of which a provider was told, by when they ended. */
function auditedBy(stage: ReplicaStage): TimedLine[] {
  return stage.replicas
    .flatMap(({ auditLog }: Replica) => stage.audited(auditLog))
    .filter(({ outcome }) => SENT.has(outcome))
    .map((line) => ({ ...line, atMs: Date.parse(line.time) }))
    .sort((a, b) => a.atMs - b.atMs);
}

function sentBefore(lines: readonly TimedLine[], atMs: number): number {
  return lines.filter((line) => line.atMs < atMs).length;
}

function removalsIn(lines: readonly TimedLine[], fromMs: number, untilMs: number): readonly TimedLine[] {
  return lines.filter(({ kind, atMs }) => REMOVALS.has(kind) && atMs > fromMs && atMs < untilMs);
}

function lastRemoval(lines: readonly TimedLine[], killedMs: number, backMs: number): string {
  const last = removalsIn(lines, killedMs, backMs).at(-1);
  return last === undefined ? 'before the stop' : `${last.atMs - killedMs} ms after the stop`;
}

/** F2, F3. */
function checkRemovals(lines: readonly TimedLine[], killedMs: number, backMs: number): void {
  if (removalsIn(lines, 0, killedMs).length === 0) throw new Error('no machine was removed before the stop');
  const late = removalsIn(lines, killedMs + LEASE_MS + ANSWER_MS_MAX, backMs);
  if (late.length > 0)
    throw new Error(
      `${late.length} removals began later than a lease after the stop, the first ${late[0]!.atMs - killedMs} ms`,
    );
  if (removalsIn(lines, backMs, Number.POSITIVE_INFINITY).length === 0)
    throw new Error('no machine was removed after etcd was back');
}

/** F3: until the end. Returns how many there were. */
function checkBindings(lines: readonly TimedLine[], fromMs: number, untilMs: number): number {
  const partMs = (untilMs - fromMs) / PARTS;
  const parts = Array.from({ length: PARTS }, (_, part) => {
    const beginMs = fromMs + part * partMs;
    return lines.filter(({ kind, atMs }) => BINDINGS.has(kind) && atMs >= beginMs && atMs < beginMs + partMs)
      .length;
  });
  if (parts.some((count) => count === 0))
    throw new Error(`bindings did not go on while etcd was away: ${parts.join(', ')} in its four parts`);
  return parts.reduce((sum, count) => sum + count, 0);
}
