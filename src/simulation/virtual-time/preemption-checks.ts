/**
 * T9: no cluster loses more claimed machines to needs of higher priority than its bucket has tokens, unless one gang
 * overdraws a full bucket. The victims of a gang go all or none.
 */
import { Intent } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { CycleReport } from '../../shard/ports/observer.ts';
import { Violation } from './invariants.ts';
import { isHostile } from './scenery.ts';
import { needKey, type ServedNeed } from './served-needs.ts';
import type { Memory } from './watch.ts';
import type { Process } from './world.ts';

const ROUNDING = 1e-6;

/** What a cycle took from one cluster. */
interface Loss {
  machines: number;
  /** Of how many gangs and other needs. */
  readonly takers: Set<string>;
  readonly gangs: Set<string>;
}

export function checkPreemptionCap(
  process: Process,
  memory: Memory,
  report: CycleReport,
  served: ReadonlyMap<string, ServedNeed>,
  begunSlots: readonly number[],
): void {
  const { rails, engine, inventory } = process.shard;
  const isRestrained = report.heldBack !== '' || rails.isPaused || rails.isDryRun;
  if (rails.preemptionCapFraction === 0 || isRestrained) return;
  const { actions } = engine;
  const begun = new Set(begunSlots);
  const losses = new Map<number, Loss>();
  const byGang = new Map<string, { admitted: number; victims: number }>();
  for (let index = 0; index < actions.count; index++) {
    if (actions.kind[index] !== Intent.Preempt) continue; // intents have the numbers of their actions
    const slot = actions.slot[index]!;
    const isBegun = begun.has(slot) && inventory.columns.intent[slot] === Intent.Preempt;
    const taker = needKey({
      cluster: actions.forCluster[index]!,
      fingerprint: actions.fingerprint[index]!,
      group: actions.group[index]!,
    });
    const isGang = served.get(taker)?.isGang === true;
    if (isGang) {
      const { admitted, victims } = byGang.get(taker) ?? { admitted: 0, victims: 0 };
      byGang.set(taker, { admitted: admitted + (isBegun ? 1 : 0), victims: victims + 1 });
    }
    if (engine.claimOf(slot) === null) continue;
    const cluster = actions.cluster[index]!;
    if (isHostile(inventory.tables.clusters.get(cluster))) continue; // only gangs of honest clusters are known here
    const loss = losses.get(cluster) ?? { machines: 0, takers: new Set(), gangs: new Set() };
    losses.set(cluster, loss);
    if (!isBegun) continue;
    loss.machines++;
    loss.takers.add(taker);
    if (isGang) loss.gangs.add(taker);
  }
  for (const [cluster, loss] of losses) checkLoss(process, memory, cluster, loss, begun);
  if (report.dropped > 0 || report.deferred > 0) return; // the queue and C3 may split a gang
  for (const [, { admitted, victims }] of byGang) {
    if (admitted !== 0 && admitted !== victims)
      throw new Violation(`T9: the cycle preempts ${admitted} of the ${victims} victims of a gang`);
  }
}

function checkLoss(
  process: Process,
  memory: Memory,
  cluster: number,
  loss: Loss,
  begun: ReadonlySet<number>,
): void {
  const { rails, inventory, settings } = process.shard;
  const { columns, tables } = inventory;
  const clusterId = tables.clusters.get(cluster);
  let configured = 0;
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    const isOurs = columns.state[slot] === MachineState.Configured && columns.cluster[slot] === cluster;
    // X1: an action of an earlier cycle counts as its result.
    if (isOurs && (columns.intent[slot] === Intent.None || begun.has(slot))) configured++;
  }
  const size = Math.max(1, Math.floor(rails.preemptionCapFraction * configured + 1e-9));
  const nowMs = process.life.nowMs();
  const before = memory.preemptionTokens.get(clusterId) ?? { tokens: size, atMs: nowMs };
  const refill = (Math.max(0, nowMs - before.atMs) / settings.cycleIntervalMs) * size;
  const tokens = Math.min(size, before.tokens + refill);
  memory.preemptionTokens.set(clusterId, { tokens: tokens - loss.machines, atMs: nowMs });
  const isOneGang = loss.takers.size === 1 && loss.gangs.size === 1;
  const mayOverdraw = isOneGang && tokens + ROUNDING >= size;
  if (loss.machines > tokens + ROUNDING && !mayOverdraw)
    throw new Violation(
      `T9: the cycle preempts ${loss.machines} claimed machines of ${clusterId}, whose bucket has ${tokens} of ${size} tokens`,
    );
}
