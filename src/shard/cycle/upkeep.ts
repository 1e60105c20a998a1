/**
 * What time alone changes, brought up to date before a cycle decides: back-offs, suspensions and controls end, machines become
 * stuck, and clusters that are away without needs or machines are forgotten.
 */
import type { ControlBook } from '../controls/control-book.ts';
import type { ForeignDrains } from '../controls/foreign-drains.ts';
import type { Pauses } from '../controls/pauses.ts';
import type { RetiredClusters } from '../controls/retired-clusters.ts';
import type { FailedAttempts } from '../execute/failed-attempts.ts';
import type { Backoffs } from '../machines/backoff.ts';
import type { StuckMachines } from '../machines/stuck.ts';
import type { AwayClusters } from '../operators/away-clusters.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { Suspensions } from './suspensions.ts';

export interface UpkeepParts {
  readonly backoffs: Backoffs;
  readonly failures: FailedAttempts;
  readonly suspensions: Suspensions;
  readonly controls: ControlBook;
  readonly pauses: Pauses;
  readonly foreignDrains: ForeignDrains;
  readonly retired: RetiredClusters;
  readonly stuck: StuckMachines;
  readonly away: AwayClusters;
  readonly isStandby: boolean;
}

export function bringUpToDate(
  parts: UpkeepParts,
  observer: ShardObserver,
  isOrdinary: boolean,
  nowMs: number,
): void {
  parts.backoffs.expire(nowMs);
  parts.failures.expire(nowMs);
  for (const clusterId of parts.suspensions.expire(nowMs))
    observer.happened({ kind: 'suspension_ended', level: 'info', clusterId });
  if (parts.isStandby) return;
  parts.controls.expire(nowMs);
  parts.foreignDrains.expire(nowMs);
  parts.retired.apply(parts.controls.inForce, nowMs);
  if (isOrdinary) {
    parts.stuck.scan();
    parts.away.forgetIdle();
  }
  parts.pauses.beginCycle(); // after clusters were forgotten
}
