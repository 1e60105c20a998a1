/** Which machines a selector means. Provider, type, zone and capacity type are those of shapes, so a fleet is matched by numbers. */

import type { ColumnsImage } from '../../inventory/columns.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import { type MachineSelector, quoted, refuse } from './question.ts';

/** A selector with numbers for names. A part that is -1 fits every machine. */
export interface SelectorRefs {
  readonly provider: number;
  /** By shape ref: 1 = type, zone and capacity type fit. */
  readonly shapes: Uint8Array;
  /** 0: any machine. */
  readonly slot: number;
}

/** Names that an error lists. */
const SHOWN_MAX = 12;

/** Refuses names that the shard does not know: a typing error would be answered with "nothing changes". */
export function checkNames(
  selector: MachineSelector,
  inventory: Inventory,
  providerNames: readonly string[],
): void {
  const { provider, type, zone, machine } = selector;
  const { instanceTypes, zones } = inventory.shapes;
  if (provider !== '' && !providerNames.includes(provider)) refuseName('provider', provider, providerNames);
  if (type !== '' && instanceTypes.find(type) === 0)
    refuseName('instance type', type, textsOf(instanceTypes));
  if (zone !== '' && zones.find(zone) === 0) refuseName('zone', zone, textsOf(zones));
  if (machine !== '' && inventory.find(machine) === 0)
    refuse(`There is no machine ${quoted(machine)}`, 'List machines with flotilla machines');
}

function refuseName(what: string, name: string, known: readonly string[]): never {
  const shown = known.toSorted().slice(0, SHOWN_MAX).join(', ');
  const more = known.length > SHOWN_MAX ? ` and ${known.length - SHOWN_MAX} others` : '';
  refuse(
    `There is no ${what} ${quoted(name)}`,
    known.length === 0 ? 'The shard knows none yet' : `There are ${shown}${more}`,
  );
}

function textsOf(table: { readonly refLimit: number; get(ref: number): string }): string[] {
  const texts: string[] = [];
  for (let ref = 1; ref < table.refLimit; ref++) {
    const text = table.get(ref);
    if (text !== '') texts.push(text);
  }
  return texts;
}

export function refsOf(
  selector: MachineSelector,
  inventory: Inventory,
  providerNames: readonly string[],
): SelectorRefs {
  const { provider, type, zone, capacityType, machine } = selector;
  const { shapes } = inventory;
  const fits = new Uint8Array(shapes.refLimit);
  const typeRef = type === '' ? 0 : shapes.instanceTypes.find(type);
  const zoneRef = zone === '' ? 0 : shapes.zones.find(zone);
  for (let ref = 1; ref < shapes.refLimit; ref++) {
    if (!shapes.isHeld(ref)) continue;
    const isFitting =
      (type === '' || shapes.instanceTypeOf[ref] === typeRef) &&
      (zone === '' || shapes.zoneOf[ref] === zoneRef) &&
      (capacityType === null || shapes.capacityTypeOf[ref] === capacityType);
    if (isFitting) fits[ref] = 1;
  }
  return {
    provider: provider === '' ? -1 : providerNames.indexOf(provider),
    shapes: fits,
    slot: machine === '' ? 0 : inventory.find(machine),
  };
}

/** Calls `visit` for each machine of the columns that fits, in order of slots. */
export function forEachFitting(
  { provider, shapes, slot: only }: SelectorRefs,
  columns: ColumnsImage,
  visit: (slot: number) => void,
): void {
  const { state, shape, provider: providerOf } = columns;
  const first = only === 0 ? 1 : only;
  const end = only === 0 ? state.length : Math.min(state.length, only + 1);
  for (let slot = first; slot < end; slot++) {
    if (state[slot] === 0 || shapes[shape[slot]!] !== 1) continue;
    if (provider === -1 || providerOf[slot] === provider) visit(slot);
  }
}

export function sentenceOf({ provider, type, zone, capacityType, machine }: MachineSelector): string {
  const parts = [
    machine === '' ? '' : `machine ${machine}`,
    provider === '' ? '' : `provider ${provider}`,
    type === '' ? '' : `type ${type}`,
    zone === '' ? '' : `zone ${zone}`,
    capacityType === null ? '' : CAPACITY_TYPE_NAMES[capacityType],
  ];
  return parts.filter((part) => part !== '').join(', ');
}
