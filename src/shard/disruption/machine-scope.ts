/** Which machines a scope names, by refs: a scan compares numbers and no texts. */
import type { Inventory } from '../../inventory/inventory.ts';
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import type { ControlScope } from '../ports/controls.ts';

/** -1 = any. A text that no table has matches nothing. */
export interface ScopeRefs {
  readonly cluster: number;
  readonly provider: number;
  readonly zone: number;
  readonly instanceType: number;
  readonly capacityType: number;
  /** Its slot. */
  readonly machine: number;
}

/** Refs are given back and reused, so they hold until the tables change. */
export function scopeRefs(
  inventory: Inventory,
  providerNames: readonly string[],
  scope: ControlScope,
): ScopeRefs {
  const { tables, shapes } = inventory;
  const known = (ref: number) => (ref === 0 ? Number.NaN : ref);
  const capacityType = Object.values(CAPACITY_TYPE_NAMES).indexOf(scope.capacityType);
  return {
    cluster: scope.cluster === '' ? -1 : known(tables.clusters.find(scope.cluster)),
    provider: scope.provider === '' ? -1 : known(providerNames.indexOf(scope.provider) + 1) - 1,
    zone: scope.zone === '' ? -1 : known(shapes.zones.find(scope.zone)),
    instanceType: scope.instanceType === '' ? -1 : known(shapes.instanceTypes.find(scope.instanceType)),
    capacityType: scope.capacityType === '' ? -1 : capacityType,
    machine: scope.machine === '' ? -1 : known(inventory.find(scope.machine)),
  };
}

/** `cluster`: the one that has the machine, or had it until now. */
export function isInScope(
  { columns, shapes }: Inventory,
  refs: ScopeRefs,
  slot: number,
  cluster = columns.cluster[slot]!,
): boolean {
  const shape = columns.shape[slot]!;
  return (
    (refs.cluster === -1 || refs.cluster === cluster) &&
    (refs.provider === -1 || refs.provider === columns.provider[slot]) &&
    (refs.zone === -1 || refs.zone === shapes.zoneOf[shape]) &&
    (refs.instanceType === -1 || refs.instanceType === shapes.instanceTypeOf[shape]) &&
    (refs.capacityType === -1 || refs.capacityType === columns.capacityType[slot]) &&
    (refs.machine === -1 || refs.machine === slot)
  );
}
