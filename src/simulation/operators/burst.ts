/**
 * A burst: for a while some clusters need many machines of one type at the highest priority, more than are
 * unassigned. The shard must preempt lower priorities for some of them.
 */

import { Operator } from '../../needs/requirements.ts';
import { filled } from '../catalogue/demand.ts';
import { INSTANCE_TYPE_KEY, type MachineType } from '../catalogue/hardware.ts';
import type { EncodedParts } from './encoded-parts.ts';
import { LiveNeed } from './live-need.ts';

export const BURST_PRIORITY = 1_000_000;
/** Above every bucket of the plans, so that a burst never merges with one of their needs. */
const BURST_BUCKET = 26;

export function burstNeed(
  machineType: MachineType,
  type: number,
  machineCount: number,
  parts: EncodedParts,
): LiveNeed {
  const capacityType = machineType.offers[0]!.capacityType;
  const planned = {
    form: 'plain',
    profile: {
      requirements: [{ key: INSTANCE_TYPE_KEY, operator: Operator.In, values: [machineType.name] }],
      spread: [],
      priority: BURST_PRIORITY,
      interruptionPenalty: BURST_BUCKET,
      reclamationPenalty: BURST_BUCKET,
      capacityTypes: machineType.offers.map((offer) => offer.capacityType),
      zone: null,
    },
    aggregate: filled(machineType, machineCount),
    minUnit: filled(machineType, 0.25),
    groups: [''],
    places: Array.from({ length: machineCount }, () => ({ type: machineType, capacityType, zone: 0 })),
    gangsPerMachine: 1,
  } as const;
  return new LiveNeed({ ...planned, groups: [...planned.groups] }, type, parts);
}
