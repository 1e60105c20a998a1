/**
 * Reports to the coordinator and receives its instructions. K1: report every few seconds, off the hot path; a failure
 * changes nothing else. There is one call at a time, with its own deadline, on a timer that does not keep the process
 * alive. A coordinator that is slow, down, wrong or hostile costs a failed report; the code that decides and executes does
 * not know the coordinator (docs/adr/0017).
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { boundedDetail } from '../base/outside-text.ts';
import type { ReportFacts } from '../shard/ports/view.ts';
import type { TlsFiles } from '../tls/files.ts';
import type { ReportAck } from '../wire/protocol.generated.ts';
import { CoordinatorChannel } from './channel.ts';
import type { AssignedDomain } from './domain-record.ts';
import { type InstructionCounts, Instructions } from './instructions.ts';
import { CALL_TIMEOUT_MS } from './limits.ts';
import { type ReportAddresses, reportOf } from './report.ts';

export interface ReportSource {
  reportFacts(): ReportFacts;
}

export interface ReporterOptions extends ReportAddresses {
  readonly coordinatorAddress: string;
  readonly source: ReportSource;
  readonly intervalMs: number;
  /** Absent: plaintext. */
  readonly tls?: TlsFiles | undefined;
  /** T14: with TLS, the reporter dials again after about this time. */
  readonly connectionAgeMs?: number;
  readonly callTimeoutMs?: number;
  readonly clock?: Clock;
  /** Called with each term that is higher than all before. */
  readonly onTerm?: (term: number) => void;
  /** Must not throw. */
  readonly onEvent?: (event: CoordinationEvent) => void;
}

/** For the log: changes, not every report. */
export type CoordinationEvent =
  | { readonly kind: 'coordinator_lost'; readonly level: 'warn'; readonly detail: string }
  | { readonly kind: 'coordinator_found'; readonly level: 'info'; readonly failedReports: number }
  | {
      readonly kind: 'instruction';
      readonly level: 'info';
      readonly instructionId: string;
      /** The payload's name in the protocol: `assignDomain`, … */
      readonly what: string;
      /** A number of the protocol's InstructAck.Outcome. */
      readonly outcome: number;
      readonly reason: string;
    };

/** Plain data, made on request. */
export interface CoordinationStatus {
  readonly coordinatorAddress: string;
  /** 0: never. */
  readonly lastAnswerAtMs: number;
  /** Reports that failed since the last successful one. */
  readonly failedInARow: number;
  /** Why the last report failed; '' if it succeeded. */
  readonly lastFailure: string;
  readonly reportsAnswered: number;
  readonly reportsFailed: number;
  readonly highestTerm: number;
  readonly waitingAcks: number;
  readonly domains: readonly AssignedDomain[];
  readonly instructions: Readonly<InstructionCounts>;
}

export class CoordinatorReporter {
  readonly #options: ReporterOptions;
  readonly #clock: Clock;
  readonly #channel: CoordinatorChannel;
  readonly #instructions = new Instructions();
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | null = null;
  #lastAnswerAtMs = 0;
  #failedInARow = 0;
  #lastFailure = '';
  #reportsAnswered = 0;
  #reportsFailed = 0;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { coordinatorAddress, tls, connectionAgeMs } = options;
    this.#channel = new CoordinatorChannel(coordinatorAddress, tls, this.#clock, connectionAgeMs);
  }

  /** Reports now, and then every interval. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), this.#options.intervalMs).unref();
    this.#tick();
  }

  /** The highest term of any coordinator so far; 0 if there was none. */
  get term(): number {
    return this.#instructions.highestTerm;
  }

  status(): CoordinationStatus {
    return {
      coordinatorAddress: this.#options.coordinatorAddress,
      lastAnswerAtMs: this.#lastAnswerAtMs,
      failedInARow: this.#failedInARow,
      lastFailure: this.#lastFailure,
      reportsAnswered: this.#reportsAnswered,
      reportsFailed: this.#reportsFailed,
      highestTerm: this.#instructions.highestTerm,
      waitingAcks: this.#instructions.waitingCount,
      domains: this.#instructions.domains.list(),
      instructions: { ...this.#instructions.counts },
    };
  }

  /** Cancels the report in flight and sends no more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#channel.close();
    await this.#underWay;
  }

  /** Reports never overlap: an answer would be older than the state it is applied to. */
  #tick(): void {
    if (this.#underWay !== null) return;
    this.#underWay = this.#report().finally(() => {
      this.#underWay = null;
    });
  }

  async #report(): Promise<void> {
    const { source, callTimeoutMs = CALL_TIMEOUT_MS } = this.#options;
    const acks = this.#instructions.acksToSend();
    const report = reportOf(source.reportFacts(), acks, this.#options, this.#clock.nowMs());
    const outcome = await this.#channel.report(report, callTimeoutMs);
    if (outcome.kind === 'failed') {
      this.#failed(outcome.detail);
      return;
    }
    this.#lastAnswerAtMs = this.#clock.nowMs();
    if (outcome.reply.acknowledged) {
      this.#instructions.delivered(acks);
      this.#succeeded();
    } else {
      this.#failed('the coordinator answered, but did not acknowledge the report');
    }
    this.#follow(outcome.reply);
  }

  #follow(reply: ReportAck): void {
    const termBefore = this.#instructions.highestTerm;
    this.#instructions.seeTerm(reply.coordinatorTerm);
    this.#receive(reply);
    const { highestTerm } = this.#instructions;
    if (highestTerm > termBefore) this.#options.onTerm?.(highestTerm);
  }

  #receive(reply: ReportAck): void {
    for (const instruction of reply.instructions) {
      const repeatedBefore = this.#instructions.counts.repeated;
      const ack = this.#instructions.receive(instruction, this.#clock.nowMs());
      if (ack === null || this.#instructions.counts.repeated > repeatedBefore) continue;
      this.#options.onEvent?.({
        kind: 'instruction',
        level: 'info',
        instructionId: boundedDetail(ack.instructionId),
        what: instruction.payload ?? 'unknown',
        outcome: ack.outcome,
        reason: ack.reason,
      });
    }
  }

  #failed(detail: string): void {
    this.#reportsFailed++;
    this.#lastFailure = detail;
    if (this.#failedInARow++ === 0) {
      this.#options.onEvent?.({ kind: 'coordinator_lost', level: 'warn', detail });
    }
  }

  #succeeded(): void {
    this.#reportsAnswered++;
    this.#lastFailure = '';
    if (this.#failedInARow > 0) {
      const failedReports = this.#failedInARow;
      this.#options.onEvent?.({ kind: 'coordinator_found', level: 'info', failedReports });
    }
    this.#failedInARow = 0;
  }
}
