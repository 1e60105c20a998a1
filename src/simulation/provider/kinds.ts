/**
 * Data that machines share. Half a million machines have a few thousand kinds (an instance type in a rack),
 * so labels and quantities are stored once per kind, and a machine is a few columns that refer to its kind.
 * Quotas and prices apply to an offering (type, zone, capacity type), which has many kinds.
 */
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';

export type StringMap = Readonly<Record<string, string>>;

export interface MachineKind {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly labels: StringMap;
  /** Kubernetes resource name to quantity, as on the wire. */
  readonly resources: StringMap;
  /** null: unset, so `resources` is the capacity. */
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
  /** Generators pass the same object many times: found here without building its text. */
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

/** Map entries are sorted, so equal kinds have equal texts. */
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

/** The caller may change its object later. */
function frozenCopy(kind: MachineKind): MachineKind {
  return Object.freeze({
    ...kind,
    labels: Object.freeze({ ...kind.labels }),
    resources: Object.freeze({ ...kind.resources }),
    allocatable: kind.allocatable === null ? null : Object.freeze({ ...kind.allocatable }),
  });
}
