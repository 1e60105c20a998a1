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
