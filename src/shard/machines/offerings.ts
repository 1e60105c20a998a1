/** An offering is a provider, instance type, zone and capacity type (X12). */
import type { Inventory } from '../../inventory/inventory.ts';
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import type { MachineState } from '../../machine/state.ts';

export interface OfferingRefs {
  readonly provider: number;
  /** Refs in the tables of shapes. */
  readonly instanceType: number;
  readonly zone: number;
  readonly capacityType: number;
}

export function offeringOf({ columns, shapes }: Inventory, slot: number): OfferingRefs {
  const shape = columns.shape[slot]!;
  return {
    provider: columns.provider[slot]!,
    instanceType: shapes.instanceTypeOf[shape]!,
    zone: shapes.zoneOf[shape]!,
    capacityType: shapes.capacityTypeOf[shape]!,
  };
}

export function offeringKey({ columns, shapes }: Inventory, slot: number): string {
  const shape = columns.shape[slot]!;
  return `${columns.provider[slot]}|${shapes.instanceTypeOf[shape]}|${shapes.zoneOf[shape]}|${shapes.capacityTypeOf[shape]}`;
}

/** `general-16/zone-a/spot` */
export function offeringName({ shapes }: Inventory, offering: OfferingRefs): string {
  return [
    shapes.instanceTypes.get(offering.instanceType),
    shapes.zones.get(offering.zone),
    CAPACITY_TYPE_NAMES[offering.capacityType as keyof typeof CAPACITY_TYPE_NAMES],
  ].join('/');
}

export function holdOffering({ shapes }: Inventory, { instanceType, zone }: OfferingRefs): void {
  shapes.instanceTypes.retain(instanceType);
  shapes.zones.retain(zone);
}

export function releaseOffering({ shapes }: Inventory, { instanceType, zone }: OfferingRefs): void {
  shapes.instanceTypes.release(instanceType);
  shapes.zones.release(zone);
}

/** Visits the machines of an offering in this state, or of its whole provider, until `visit` returns true. */
export function visitOffering(
  { columns, shapes, indexes }: Inventory,
  offering: OfferingRefs,
  isWholeProvider: boolean,
  state: MachineState,
  visit: (slot: number) => boolean,
): void {
  for (let shape = 1; shape < shapes.refLimit; shape++) {
    if (!shapes.isHeld(shape)) continue;
    const isOfIt =
      shapes.instanceTypeOf[shape] === offering.instanceType &&
      shapes.zoneOf[shape] === offering.zone &&
      shapes.capacityTypeOf[shape] === offering.capacityType;
    if (!isWholeProvider && !isOfIt) continue;
    const start = indexes.startOfShape(state, shape);
    const end = start + indexes.countOfShape(state, shape);
    for (let position = start; position < end; position++) {
      const slot = indexes.shapeSlots[position]!;
      if (columns.provider[slot] === offering.provider && visit(slot)) return;
    }
  }
}
