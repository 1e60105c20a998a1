/** A fleet with everything that a decision needs: inventory, needs and an engine over both. */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { Engine, type EngineOptions } from '../../src/decision/engine.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { placementOfRun } from '../conditions.ts';

export const START_MS = 1_700_000_000_000;
export const CYCLE_MS = 10_000;

/** Room for the strings of half a million machines and their needs; in proportion, with a floor, for smaller fleets. */
const LARGE_MACHINES = 500_000;
const STRING_BYTES = 256 << 20;
const FINGERPRINTS = 1 << 20;
const GROUPS = 4 << 20;
const SMALLEST_SHARE = 1 / 256;

export class EngineFleet {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly #options: Partial<EngineOptions>;
  nowMs = START_MS;
  readonly phaseMs = new Map<string, number>();

  constructor(machinesMax: number, options: Partial<EngineOptions> = {}) {
    const share = Math.min(1, Math.max(SMALLEST_SHARE, machinesMax / LARGE_MACHINES));
    const bytesMax = Math.ceil(STRING_BYTES * share);
    const vectors = new VectorTable(new DimensionTable());
    const clusters = StringTable.create({ name: 'clusters', entriesMax: 65_535, bytesMax: 8 << 20 });
    const fingerprints = StringTable.create({
      name: 'fingerprints',
      entriesMax: Math.ceil(FINGERPRINTS * share),
      bytesMax,
    });
    const groups = StringTable.create({ name: 'groups', entriesMax: Math.ceil(GROUPS * share), bytesMax });
    this.#options = options;
    this.inventory = new Inventory({ vectors, clusters, fingerprints, groups, machinesMax });
    this.needs = new NeedTable({ clusters, fingerprints, groups, vectors, quarantine: false });
    this.engine = this.newEngine();
  }

  newEngine(): Engine {
    return new Engine({
      inventory: this.inventory,
      needs: this.needs,
      hasSession: () => true,
      holds: { onDemandMs: 600_000, spotMs: 60_000 },
      placement: placementOfRun(),
      ...this.#options,
    });
  }

  insert(machine: Machine): void {
    this.inventory.insert(machine, 0, this.nowMs);
  }

  /** Applies a listed row of a known machine. */
  apply(machine: Machine): void {
    const { id, ...facts } = machine;
    this.inventory.apply(this.inventory.find(id), facts, this.nowMs, { force: true });
  }

  rollUp(clusterId: string, rows: readonly RollupRow[]): void {
    this.needs.accept(clusterId, rows, this.nowMs, 0);
  }

  /** One cycle, ordinary by default; the time of each phase is in `phaseMs`. */
  decide(engine: Engine = this.engine, fromScratch = false, isOrdinary = true): ReturnType<Engine['decide']> {
    this.phaseMs.clear();
    let last = performance.now();
    const onPhase = (phase: string): void => {
      const now = performance.now();
      this.phaseMs.set(phase, now - last);
      last = now;
    };
    const input = { nowMs: this.nowMs, isOrdinary };
    return fromScratch ? engine.decideFromScratch(input, onPhase) : engine.decide(input, onPhase);
  }
}
