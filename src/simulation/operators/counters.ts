/** What operators did and saw. One object for one operator, or shared by two thousand. */
export class OperatorCounters {
  sessionsOpened = 0;
  /** Streams that ended, by gRPC status, whether they were ever greeted or not. */
  readonly endedByStatus = new Map<number, number>();
  /** Of the stream that ended last. */
  lastEnding = '';
  rollupsSent = 0;
  rollupsAcked = 0;
  /** Not sent when due, because the one before was still on its way. */
  rollupsHeldBack = 0;
  rowsSent = 0;
  bytesSent = 0;
  bootstrapRequests = 0;
  bootstrapAnswers = 0;
  bootstrapErrors = 0;
  bootstrapSilences = 0;
  reclaimInstructions = 0;
  /** Of them those for a need of higher priority. */
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
