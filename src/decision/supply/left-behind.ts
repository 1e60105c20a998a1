/**
 * T12: families and domains that no machine has any more and that the engine still tolerates; past this number, it groups all
 * shapes again. Grouping costs a pass over the fleet, so the number grows with the fleet: 4,096 for 524,288 machines, about
 * 4 MB, and 64 for a small one, which groups in less than a millisecond.
 */
export function leftBehindMax(machineCount: number): number {
  return Math.max(LEFT_BEHIND_MIN, Math.floor(machineCount / MACHINES_EACH));
}

const LEFT_BEHIND_MIN = 64;
const MACHINES_EACH = 128;
