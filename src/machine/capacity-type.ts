/** How a machine is paid for. Numbers are the protocol's. */
export const CapacityType = {
  Unspecified: 0,
  BareMetal: 1,
  Reserved: 2,
  OnDemand: 3,
  Spot: 4,
} as const;
export type CapacityType = (typeof CapacityType)[keyof typeof CapacityType];

export const CAPACITY_TYPE_COUNT = 5;

export const CAPACITY_TYPE_NAMES: Readonly<Record<CapacityType, string>> = {
  [CapacityType.Unspecified]: 'unspecified',
  [CapacityType.BareMetal]: 'bare-metal',
  [CapacityType.Reserved]: 'reserved',
  [CapacityType.OnDemand]: 'on-demand',
  [CapacityType.Spot]: 'spot',
};

/** R3: the shard releases an Idle machine after its hold only if the machine costs money while it waits. */
export function isReleasable(capacityType: number): boolean {
  return capacityType === CapacityType.OnDemand || capacityType === CapacityType.Spot;
}

export function isCapacityType(value: number): value is CapacityType {
  return Number.isInteger(value) && value >= 0 && value < CAPACITY_TYPE_COUNT;
}
