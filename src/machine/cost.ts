import { CapacityType } from './capacity-type.ts';

/**
 * What an hour of a machine costs a need: its price plus the expected damage of losing it. A probability of 0
 * makes the damage 0 even for an infinite penalty (0 × ∞ would be NaN).
 */
export function effectiveCostUsd(
  pricePerHourUsd: number,
  interruptionProbability: number,
  interruptionPenaltyUsd: number,
): number {
  if (interruptionProbability === 0) return pricePerHourUsd;
  return pricePerHourUsd + interruptionProbability * interruptionPenaltyUsd;
}

/** The expected damage of losing a machine, per hour. */
export function riskUsd(interruptionProbability: number, interruptionPenaltyUsd: number): number {
  return interruptionProbability === 0 ? 0 : interruptionProbability * interruptionPenaltyUsd;
}

/** Bare metal and reserved machines are paid for whether they are used or not. */
export function isCommitted(capacityType: number): boolean {
  return capacityType === CapacityType.BareMetal || capacityType === CapacityType.Reserved;
}

/** What using a machine adds to the bill per hour: nothing if it is Idle and paid for anyway. */
export function marginalUsd(isIdle: boolean, capacityType: number, pricePerHourUsd: number): number {
  return isIdle && isCommitted(capacityType) ? 0 : pricePerHourUsd;
}
