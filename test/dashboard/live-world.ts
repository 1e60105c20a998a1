/**
 * A simulated fleet with its dashboard: machines and demand of the catalogue, cycles whose actions are carried out, machines
 * that fail and recover, demand that grows and shrinks. Each call of `step` advances the clock by ten seconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FleetChurn } from '../../bench/catalogue/churn.ts';
import { systemScheduler } from '../../src/base/clock.ts';
import { Random } from '../../src/base/random.ts';
import { createDashboard } from '../../src/dashboard/dashboard.ts';
import { ShardHistory } from '../../src/dashboard/history.ts';
import { ACTION_NAMES, ACTION_REASONS, type ActionKind } from '../../src/decision/actions.ts';
import { EventLog } from '../../src/events/event-log.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { ActionName, ActionOutcome, CyclePhase, KindCounts } from '../../src/shard/ports/observer.ts';
import type { SpendingPast } from '../../src/shard/ports/spending.ts';
import type { WhatIfPort } from '../../src/shard/ports/what-if.ts';
import { SHARD_DEFAULTS } from '../../src/shard/settings.ts';
import { WhatIfs } from '../../src/shard/what-if/what-ifs.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { ViewWorld } from '../shard/view/view-world.ts';
import { InPlace } from '../shard/what-if/in-place.ts';

const S = MachineState;
const CYCLE_MS = 10_000;
const PHASES: Readonly<Record<string, CyclePhase>> = {
  sync: 'snapread',
  credit: 'phase1',
  acquire: 'phase1',
  preempt: 'phase2',
  reclaim: 'phase3',
  verdicts: 'phase3',
};
export const DISCONNECTED = 'cluster-0001';

export class LiveWorld {
  /** Answer what-if questions. */
  readonly threads = new InPlace();
  readonly world: ViewWorld;
  readonly history = new ShardHistory();
  readonly events: EventLog;
  readonly #folder = mkdtempSync(join(tmpdir(), 'flotilla-live-'));
  readonly fleet: SteadyFleet;
  readonly #churn: FleetChurn;
  readonly #random = new Random(11);
  readonly #failed: number[] = [];
  #server: Server | null = null;

  constructor(machineCount: number) {
    this.fleet = new SteadyFleet(machineCount);
    this.#churn = new FleetChurn(this.fleet);
    this.world = new ViewWorld({ machinesMax: machineCount + 1_000 });
    const { world } = this;
    for (const machine of this.fleet.machines()) world.inventory.insert(machine, 0, world.clock.nowMs());
    world.disconnected.add(DISCONNECTED);
    for (const { clusterId, rows } of this.fleet.rollups()) {
      world.rollUp(clusterId, rows);
      const isConnected = clusterId !== DISCONNECTED;
      world.sessions.set(clusterId, {
        clusterId,
        isConnected,
        sinceMs: world.clock.nowMs() - 3_600_000,
        peer: '10.0.0.7:41022',
        outboxFrames: isConnected ? 0 : 3,
        lastRollupAtMs: world.clock.nowMs(),
      });
    }
    this.history.watch(world.view);
    this.events = new EventLog({
      folder: this.#folder,
      bytesMax: 1_048_576,
      epoch: () => 1,
      program: fileURLToPath(new URL('../../dist/workers/history.js', import.meta.url)),
      clock: world.clock,
      onFailing: () => {},
      onRecovered: () => {},
    });
  }

  /** Ten seconds pass: machines fail and recover, demand changes, one cycle decides, and its actions settle. */
  step(): void {
    const { world } = this;
    world.clock.advance(CYCLE_MS);
    this.#failAndHeal();
    for (const { clusterId, rows } of this.#churn.churnRollups(0.05, 0.05)) world.rollUp(clusterId, rows);
    const phaseMs = { reconcile: 0, snapread: 0, phase1: 0, phase2: 0, phase3: 0, emit: 0.2, execute: 0.3 };
    const beganMs = performance.now();
    let markMs = beganMs;
    const cost = world.decide(true, (phase) => {
      const nowMs = performance.now();
      phaseMs[PHASES[phase]!] += nowMs - markMs;
      markMs = nowMs;
    });
    const decided = this.#counts();
    world.gauges = { queueDepth: this.#random.below(30), inFlight: world.engine.actions.count };
    this.history.cycleEnded({
      ...cost,
      cycle: world.cycle,
      atMs: world.clock.nowMs(),
      isOrdinary: true,
      durationMs: performance.now() - beganMs,
      phaseMs,
      decided,
      enqueued: decided,
      suppressed: decided,
      dryRun: decided,
      capped: 0,
      preemptionsCapped: 0,
      deferred: 0,
      dropped: 0,
      deduped: 0,
      withdrawn: 0,
      heldBack: '',
    });
    this.#endActions();
  }

  /** What-if questions, answered on this thread. */
  #whatIf(): WhatIfPort {
    const { inventory, needs, engine, clock } = this.world;
    const whatIfs = new WhatIfs({
      engine,
      options: { inventory, needs, hasSession: () => true, holds: { onDemandMs: 600_000, spotMs: 60_000 } },
      barredNeeds: () => [],
      providerNames: ['test'],
      neverDelete: () => [],
      areCountsHeld: () => false,
      threads: this.threads,
      shardId: 'shard-test',
      settings: SHARD_DEFAULTS,
      rails: () => SHARD_DEFAULTS,
      clock,
      stopwatch: () => performance.now(),
      scheduler: systemScheduler,
      refusal: () => '',
    });
    return {
      ask: (texts, onProgress, signal) => whatIfs.ask(texts, (now) => now, onProgress, signal),
    };
  }

  /** Serves the dashboard and resolves with its address. */
  async serve(spending: SpendingPast | null = null): Promise<string> {
    const handler = createDashboard({
      view: () => this.world.view,
      history: this.history,
      spending,
      events: this.events,
      whatIf: this.#whatIf(),
      version: '0.0.0-test',
      nowMs: () => this.world.clock.nowMs(),
    });
    const server = createServer((request, response) => {
      handler(request, response, new URL(request.url!, 'http://localhost')).catch((error: Error) => {
        response.destroy(error);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await this.events.close();
    rmSync(this.#folder, { recursive: true, force: true });
    const server = this.#server;
    if (server === null) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  #failAndHeal(): void {
    const { inventory, clock } = this.world;
    while (this.#failed.length > 12) inventory.move(this.#failed.shift()!, S.Idle, clock.nowMs(), true);
    const bound = inventory.indexes.slotsInState(S.Configured);
    for (let count = 0; count < 3; count++) {
      const slot = bound[this.#random.below(bound.length)]!;
      if (inventory.stateOf(slot) !== S.Configured) continue;
      const change = { state: S.Failed, lastError: 'instance lost: host power failure' };
      this.events.note({
        kind: 'interrupted',
        cycle: this.world.cycle,
        machineId: inventory.idOf(slot),
        clusterId: inventory.tables.clusters.get(inventory.columns.cluster[slot]!),
        detail: change.lastError,
      });
      inventory.apply(slot, change, clock.nowMs(), { force: true });
      this.#failed.push(slot);
    }
  }

  #counts(): KindCounts {
    const { actions } = this.world.engine;
    const counts = { Bootstrap: 0, Provision: 0, Reclaim: 0, Preempt: 0, Delete: 0 };
    for (let index = 0; index < actions.count; index++) {
      counts[ACTION_NAMES[actions.kind[index] as ActionKind] as ActionName]++;
    }
    return counts;
  }

  #endActions(): void {
    const { world } = this;
    const { actions } = world.engine;
    const { clusters, fingerprints, groups } = world.inventory.tables;
    for (let index = 0; index < actions.count; index++) {
      const kind = actions.kind[index] as ActionKind;
      const outcome: ActionOutcome = this.#random.chance(0.04) ? 'provider_error' : 'success';
      this.history.actionEnded({
        atMs: world.clock.nowMs() + this.#random.below(900),
        cycle: world.cycle,
        kind: ACTION_NAMES[kind] as ActionName,
        machineId: world.inventory.idOf(actions.slot[index]!),
        clusterId: clusters.get(actions.cluster[index]!),
        forClusterId: '',
        fingerprint: fingerprints.get(actions.fingerprint[index]!),
        group: groups.get(actions.group[index]!),
        reason: ACTION_REASONS[kind],
        graceSeconds: actions.graceSeconds[index]!,
        outcome,
        detail: outcome === 'success' ? '' : 'quota of instance family exceeded',
        durationMs: 120 + this.#random.below(2_000),
        blobMs: 40,
        callMs: 80,
      });
    }
    world.carryOut();
  }
}
