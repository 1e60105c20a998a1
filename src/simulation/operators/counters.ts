/** Counters of one operator, or of two thousand that share the object. */
export class OperatorCounters {
  sessionsOpened = 0;
  /** Ended streams by gRPC status, with and without an ack of Hello. */
  readonly endedByStatus = new Map<number, number>();
  /** How the last stream ended. */
  lastEnding = '';
  rollupsSent = 0;
  rollupsAcked = 0;
  /** Roll-ups that were due while the previous one was still being sent. */
  rollupsHeldBack = 0;
  rowsSent = 0;
  bytesSent = 0;
  bootstrapRequests = 0;
  bootstrapAnswers = 0;
  bootstrapErrors = 0;
  bootstrapSilences = 0;
  reclaimInstructions = 0;
  /** Reclaim instructions for a need of higher priority. */
  preemptions = 0;
  reclaimedNodes = 0;
  nodeUpdates = 0;
  capacityUpdates = 0;
  malformedFrames = 0;

  countEnding(status: number, details: string): void {
    this.endedByStatus.set(status, (this.endedByStatus.get(status) ?? 0) + 1);
    this.lastEnding = `status ${status}: ${details}`;
  }
}
