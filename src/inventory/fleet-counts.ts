/**
 * Counts of machines per (state, instance type), (state, zone) and (state, capacity type), which metrics, the coordinator
 * and the dashboard read every few seconds at most. The indexes count the machines of each shape and state, and a fleet has
 * only thousands of shapes; so these counts are sums over shapes, made when read and kept until an index changes. Updating
 * them with every write would cost each transition a dozen loads.
 *
 *   by instance type   ref × 9 + state      u32
 *   by zone            ref × 9 + state      u32
 *   by capacity type   number × 9 + state   u32
 */
import { CAPACITY_TYPE_COUNT } from '../machine/capacity-type.ts';
import { STATE_COUNT } from '../machine/state.ts';
import type { FleetIndexes } from './indexes.ts';
import type { ShapeTable } from './shapes.ts';

export class FleetCounts {
  readonly #indexes: FleetIndexes;
  readonly #shapes: ShapeTable;
  #byInstanceType = new Uint32Array(0);
  #byZone = new Uint32Array(0);
  readonly #byCapacityType = new Uint32Array(CAPACITY_TYPE_COUNT * STATE_COUNT);
  #version = -1;

  constructor(indexes: FleetIndexes, shapes: ShapeTable) {
    this.#indexes = indexes;
    this.#shapes = shapes;
  }

  /** `instanceType` is a ref in `shapes.instanceTypes`. */
  ofInstanceType(state: number, instanceType: number): number {
    this.#refresh();
    return this.#byInstanceType[instanceType * STATE_COUNT + state] ?? 0;
  }

  /** `zone` is a ref in `shapes.zones`. */
  ofZone(state: number, zone: number): number {
    this.#refresh();
    return this.#byZone[zone * STATE_COUNT + state] ?? 0;
  }

  ofCapacityType(state: number, capacityType: number): number {
    this.#refresh();
    return this.#byCapacityType[capacityType * STATE_COUNT + state]!;
  }

  #refresh(): void {
    const indexes = this.#indexes;
    if (this.#version === indexes.version) return;
    this.#version = indexes.version;
    const shapes = this.#shapes;
    this.#byInstanceType = new Uint32Array(shapes.instanceTypes.refLimit * STATE_COUNT);
    this.#byZone = new Uint32Array(shapes.zones.refLimit * STATE_COUNT);
    this.#byCapacityType.fill(0);
    for (let shape = 1; shape < shapes.refLimit; shape++) {
      if (!shapes.isHeld(shape)) continue;
      const type = shapes.instanceTypeOf[shape]! * STATE_COUNT;
      const zone = shapes.zoneOf[shape]! * STATE_COUNT;
      const capacityType = shapes.capacityTypeOf[shape]! * STATE_COUNT;
      for (let state = 1; state < STATE_COUNT; state++) {
        const count = indexes.countOfShape(state, shape);
        this.#byInstanceType[type + state]! += count;
        this.#byZone[zone + state]! += count;
        this.#byCapacityType[capacityType + state]! += count;
      }
    }
  }
}
