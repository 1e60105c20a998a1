/**
 * One machine as numbers and refs, for the paths that must not make an object per machine: one MachineRow is filled
 * again and again. Refs are borrowed: whoever fills the row holds a reference during the call, and the inventory takes its
 * own. What a row does not say (`says… = false`) stays as it is, as far as the rules let it.
 */
import type { PenaltyBucket } from '../machine/penalty.ts';
import type { Binding } from './binding.ts';

const NO_BYTES = new Uint8Array(0);

export class MachineRow implements Binding {
  state = 0;
  pricePerHourUsd = 0;
  interruptionProbability = 0;
  shape = 0;
  ownLabels = 0;

  saysHost = false;
  hasHost = false;
  hostProviderBytes: Uint8Array = NO_BYTES;
  hostProviderStart = 0;
  hostProviderEnd = 0;
  hostRefBytes: Uint8Array = NO_BYTES;
  hostRefStart = 0;
  hostRefEnd = 0;

  saysCluster = false;
  cluster = 0;

  /** If not said, the assignment lasts as long as the cluster stays the same (S3). */
  saysAssignment = false;
  need = 0;
  group = 0;
  priority = 0;
  interruptionPenalty: PenaltyBucket = 0;
  reclamationPenalty: PenaltyBucket = 0;

  /** If not said, it is cleared with leaving Failed. */
  saysLastError = false;
  lastError = 0;
}
