/**
 * One machine as numbers and refs, for code that must not make an object per machine: it fills one MachineRow again and
 * again. Refs are borrowed: the caller holds a reference during the call, and the inventory takes its own. A field with
 * `says… = false` keeps its value, unless a rule clears it.
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

  /** S3: if false, the assignment stays while the cluster stays the same. */
  saysAssignment = false;
  need = 0;
  group = 0;
  priority = 0;
  interruptionPenalty: PenaltyBucket = 0;
  reclamationPenalty: PenaltyBucket = 0;

  /** If false, the error is cleared when the machine leaves Failed. */
  saysLastError = false;
  lastError = 0;
}
