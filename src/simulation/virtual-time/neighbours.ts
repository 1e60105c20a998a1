/**
 * One history beside a hostile tenant, and the same history without it: the actions on the machines of all others must be
 * the same, one by one, with their times and outcomes. Supply is disjoint: the tenant has machines that only it can use.
 *
 * A change for one tenant wakes the shard, and the woken cycle decides for all tenants. So the history without the tenant
 * wakes the shard at the same moments. Cycles have another number there only if the shard woke twice at one moment.
 */
import { Random } from '../../base/random.ts';
import type { ActionRecord, CycleReport, ListingReport } from '../../shard/ports/observer.ts';
import { calm } from './accidents.ts';
import { drawWorld, type HistoryOptions, INTERVAL_MS, runAccidents, settle } from './history.ts';
import { SHARE_ROWS_MIN } from './hostile-demand.ts';
import { HOSTILE_PREFIX } from './hostile-listing.ts';
import { HostileTenant, NEIGHBOUR_SETTINGS } from './hostile-tenant.ts';
import { Violation } from './invariants.ts';
import { PROFILES, planAccidents } from './profiles.ts';
import { HOSTILE } from './scenery.ts';
import { Watch } from './watch.ts';
import type { Process, SimulatedWorld } from './world.ts';

export interface NeighboursResult {
  readonly cycles: number;
  /** Compared. */
  readonly actions: number;
  /** Of the tenant: actions on its machines, and its refused roll-ups by what was wrong with them. */
  readonly hostileActions: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** Cycles without accidents, in which the tenant goes on: others come to rest meanwhile. */
const CALM_CYCLES = 20;
/** Turns of virtual time within one moment: to resume, to receive, to decide. */
const TURNS = 4;
/** N7 and S6: the shard believes an empty roll-up after three in a row, and empty listings after a minute. */
const LEAVING_CYCLES = 12;
const VANISHING_HOLD_MS = 60_000;

/** The calls of a process have one sequence for all tenants, and a fenced answer shows it. */
const SEQUENCE = / of shard .* is not newer than \(\d+, \d+\)|, sequence \d+/g;

/** A woken cycle of the process with this epoch. */
interface Wake {
  readonly atMs: number;
  readonly epoch: number;
}

class NeighbourWatch extends Watch {
  readonly lines: string[] = [];
  readonly wakes: Wake[] = [];
  /** By epoch. */
  readonly lastCycleAtMs = new Map<number, number>();
  hostileActions = 0;
  isComparing = true;
  tenant: HostileTenant | null = null;

  override actionEnded(process: Process, record: ActionRecord): void {
    super.actionEnded(process, record);
    if (!this.isComparing) return;
    const { cycle: _, ...line } = record;
    if (record.machineId.startsWith(HOSTILE_PREFIX)) this.hostileActions++;
    else this.lines.push(JSON.stringify({ epoch: process.epoch, ...line }).replace(SEQUENCE, ''));
  }

  override cycleEnded(process: Process, report: CycleReport): void {
    super.cycleEnded(process, report);
    this.lastCycleAtMs.set(process.epoch, this.world.time.nowMs());
    if (!report.isOrdinary) this.wakes.push({ atMs: this.world.time.nowMs(), epoch: process.epoch });
    this.note(() => this.tenant?.checkLimit(process));
  }

  override listingEnded(process: Process, report: ListingReport): void {
    super.listingEnded(process, report);
    this.note(() => this.tenant?.listingEnded(process, report));
  }
}

/** Throws a Violation if the tenant had an effect on others. */
export async function runNeighbours(options: HistoryOptions): Promise<NeighboursResult> {
  const beside = await run(options, null);
  const alone = await run(options, beside.wakes);
  const { lines, cycles, hostileActions } = beside;
  const at = lines.findIndex((line, index) => line !== alone.lines[index]);
  if (at >= 0 || lines.length !== alone.lines.length)
    throw new Violation(
      `T: action ${at >= 0 ? at : lines.length} differs beside a hostile tenant.\n` +
        `  with it: ${lines[at] ?? 'none'}\n  without: ${alone.lines[at >= 0 ? at : lines.length] ?? 'none'}`,
    );
  return { cycles, actions: lines.length, hostileActions, refused: beside.tenant!.refused };
}

/** `wakes`: of the history with the tenant; null: this is the one. */
async function run(options: HistoryOptions, wakes: readonly Wake[] | null): Promise<NeighbourWatch> {
  const { seed, cycles, profile, only = null } = options;
  const random = new Random(seed);
  const plan = planAccidents(PROFILES[profile], cycles * INTERVAL_MS, random.fork());
  const watch = new NeighbourWatch(options.trace ?? null);
  const hasPrefix = seed % 2 === 0;
  const world = drawWorld(random, options, watch, {
    shareRowsMin: SHARE_ROWS_MIN,
    // The shard reads machines that are due at one moment in any order.
    isNetworkByMachine: true,
    settings: {
      ...NEIGHBOUR_SETTINGS,
      vanishingHoldMs: VANISHING_HOLD_MS,
      providerIdPrefixes: hasPrefix ? [{ name: HOSTILE, prefix: HOSTILE_PREFIX }] : [],
    },
    probe: (stage, clusterId) => watch.tenant?.probe(stage, clusterId),
  });
  const look = () => {
    if (watch.violation !== null) throw watch.violation;
  };
  const onUnhandled = (error: unknown) => {
    watch.violation ??= error as Error;
  };
  process.on('unhandledRejection', onUnhandled);
  try {
    if (wakes === null) {
      watch.tenant = new HostileTenant(world, seed, hasPrefix, onUnhandled);
      world.join(watch.tenant);
      watch.tenant.begin();
    } else {
      const beganMs = world.time.nowMs();
      const accidents = new Set(plan.map(({ atMs }) => beganMs + atMs));
      // An accident wakes the shard itself, and not before it happens.
      wakeAt(
        world,
        wakes.filter(({ atMs }) => !accidents.has(atMs)),
        watch,
      );
    }
    world.startShard();
    await runAccidents(world, watch, plan, only, look);
    calm(world);
    await world.time.advance(CALM_CYCLES * INTERVAL_MS, look);
    watch.isComparing = false;
    if (watch.tenant !== null) await depart(world, watch, watch.tenant, look);
    return watch;
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

/** When the tenant has left, the others agree, and the shard has forgotten it. */
async function depart(
  world: SimulatedWorld,
  watch: NeighbourWatch,
  tenant: HostileTenant,
  look: () => void,
): Promise<void> {
  tenant.leave();
  await world.time.advance(LEAVING_CYCLES * INTERVAL_MS, look);
  await settle(world, watch, look);
  tenant.checkGone(world.process!);
}

/** After all that happens at the same moment: a process that resumes receives what waited for it, one by one. */
function wakeAt(world: SimulatedWorld, wakes: readonly Wake[], watch: NeighbourWatch): void {
  const wake = (epoch: number, turns: number): void => {
    const woken = [world.process, world.former].find((known) => known?.epoch === epoch);
    if (woken == null || watch.lastCycleAtMs.get(epoch) === world.time.nowMs()) return;
    if (turns > 0) world.time.after(0, () => wake(epoch, turns - 1));
    else if (!woken.life.isStopped() && !woken.life.isOver()) woken.shard.setRails(woken.shard.rails);
  };
  for (const { atMs, epoch } of wakes) {
    world.time.after(atMs - world.time.nowMs(), () => wake(epoch, TURNS));
  }
}
