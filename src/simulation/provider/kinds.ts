/**
 * What machines have in common. Half a million machines are a few thousand kinds (an instance type in a
 * rack), so labels and quantities are kept once per kind, and a machine is a few columns that point to one.
 * An offering (type, zone, capacity type) is what quotas and prices are about; it has many kinds.
 */
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';

export type StringMap = Readonly<Record<string, string>>;

export interface MachineKind {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly labels: StringMap;
  /** Kubernetes resource name to quantity, as the wire has them. */
  readonly resources: StringMap;
  /** null: not told, so that `resources` counts. */
  readonly allocatable: StringMap | null;
}

/** The name under which quotas are set: `gpu-8x/zone-a/spot`. */
export function offeringName(kind: Pick<MachineKind, 'instanceType' | 'zone' | 'capacityType'>): string {
  return `${kind.instanceType}/${kind.zone}/${CAPACITY_TYPE_NAMES[kind.capacityType]}`;
}

export class KindTable {
  readonly kinds: MachineKind[] = [];
  /** By kind. */
  readonly offeringOf: number[] = [];
  /** By offering. */
  readonly offeringNames: string[] = [];
  readonly #kindByText = new Map<string, number>();
  /** Generators hand the same object over again and again: looked up before its text is built. */
  readonly #kindByObject = new WeakMap<MachineKind, number>();
  readonly #offeringByName = new Map<string, number>();

  intern(kind: MachineKind): number {
    const known = this.#kindByObject.get(kind);
    if (known !== undefined) return known;
    const text = textOf(kind);
    let ref = this.#kindByText.get(text);
    if (ref === undefined) {
      ref = this.kinds.length;
      this.kinds.push(frozenCopy(kind));
      this.offeringOf.push(this.#internOffering(offeringName(kind)));
      this.#kindByText.set(text, ref);
    }
    this.#kindByObject.set(kind, ref);
    return ref;
  }

  #internOffering(name: string): number {
    const known = this.#offeringByName.get(name);
    if (known !== undefined) return known;
    const offering = this.offeringNames.length;
    this.offeringNames.push(name);
    this.#offeringByName.set(name, offering);
    return offering;
  }
}

/** One text per meaning: map entries sorted, so that the order in which they were written does not matter. */
function textOf(kind: MachineKind): string {
  return JSON.stringify([
    kind.instanceType,
    kind.zone,
    kind.capacityType,
    sortedEntries(kind.labels),
    sortedEntries(kind.resources),
    kind.allocatable === null ? null : sortedEntries(kind.allocatable),
  ]);
}

function sortedEntries(map: StringMap): [string, string][] {
  return Object.entries(map).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
}

/** The caller may go on changing its object; ours stays. */
function frozenCopy(kind: MachineKind): MachineKind {
  return Object.freeze({
    ...kind,
    labels: Object.freeze({ ...kind.labels }),
    resources: Object.freeze({ ...kind.resources }),
    allocatable: kind.allocatable === null ? null : Object.freeze({ ...kind.allocatable }),
  });
}
