/**
 * Questions to a running shard (Y4). The main thread copies its tables in one piece, which takes as long as for a from-scratch
 * check, and a thread does the rest (docs/adr/0080). One question is answered at a time, and the shard changes nothing.
 */
import type { Clock, Scheduler, Stopwatch } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import { imageBytes } from '../../base/image.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import { restraintOf } from '../cycle/rails.ts';
import type {
  OpenWhatIf,
  WhatIfAnswer,
  WhatIfPhase,
  WhatIfPriority,
  WhatIfProgress,
  WhatIfTexts,
  WhatIfThreads,
} from '../ports/what-if.ts';
import type { Rails, ShardSettings } from '../settings.ts';
import type { CopiedAnswer } from './answer.ts';
import { copiedImage, planOf, type WhatIfSubject, whatIfImage } from './image.ts';
import { type Question, readQuestion, type WhatIfSettings } from './question.ts';
import type { RunState } from './run.ts';
import { sentenceOf } from './selection.ts';

/** The fleet may grow a little between the request for memory and the copy. */
const ROOM_FACTOR = 1.05;
const ROOM_BYTES = 1 << 20;

export class WhatIfBusyError extends ShardError {
  readonly code = 'what_if_busy';
  readonly next = 'retry-later';

  constructor(seconds: number) {
    super(
      `The shard answers another what-if question, for ${seconds} s now, and answers one at a time. ` +
        'It did not begin this one. Ask again in a minute.',
    );
  }
}

export class WhatIfFailedError extends ShardError {
  readonly code = 'what_if_failed';
  readonly next = 'retry-later';
}

export interface WhatIfsOptions extends WhatIfSubject {
  /** Null: the shard answers no questions. */
  readonly threads: WhatIfThreads | null;
  readonly shardId: string;
  readonly settings: ShardSettings;
  readonly rails: () => Rails;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly scheduler: Scheduler;
  /** Why the shard cannot be asked now; ''. */
  readonly refusal: () => string;
}

/** The settings of a question, read by the part that knows how settings are written. */
export type ReadSettings = (now: WhatIfSettings) => WhatIfSettings;

interface Copied {
  readonly image: object;
  readonly atMs: number;
  readonly copyMs: number;
  readonly unmetBefore: ReadonlyMap<number, number>;
}

export class WhatIfs {
  readonly #options: WhatIfsOptions;
  #open: OpenWhatIf | null = null;
  /** When the question arrived that is being answered; null: none is. */
  #sinceMs: number | null = null;
  #isStopped = false;

  constructor(options: WhatIfsOptions) {
    this.#options = options;
  }

  async ask(
    texts: WhatIfTexts,
    readSettings: ReadSettings,
    onProgress: (progress: WhatIfProgress) => void,
    signal?: AbortSignal,
  ): Promise<WhatIfAnswer> {
    const question = readQuestion(texts);
    const { stopwatch } = this.#options;
    const settings = readSettings(this.#settingsNow());
    this.#refuseIfBusy();
    planOf(question, settings, this.#options); // refuses unknown names before a thread starts
    const beganMs = stopwatch();
    this.#sinceMs = beganMs;
    const tell = (state: Omit<WhatIfProgress, 'elapsedMs'>) =>
      onProgress({ ...state, elapsedMs: stopwatch() - beganMs });
    const stop = () => this.#open?.close();
    signal?.addEventListener('abort', stop);
    try {
      tell(idle('copying'));
      const copied = await this.#copy(question, settings, signal);
      let firstDecisionMs = 0;
      const answer = await this.#open!.run(copied.image, (progress) => {
        const state = progress as RunState;
        if (firstDecisionMs === 0 && state.cycles > 0) firstDecisionMs = stopwatch() - beganMs;
        tell(state);
      });
      const times = { copyMs: copied.copyMs, firstDecisionMs, elapsedMs: stopwatch() - beganMs };
      return { ...times, ...this.#answer(question, texts, settings, copied, answer as CopiedAnswer) };
    } catch (error) {
      throw this.#explained(error, signal?.aborted ?? false);
    } finally {
      signal?.removeEventListener('abort', stop);
      this.#open?.close();
      this.#open = this.#sinceMs = null;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#open?.close();
  }

  #refuseIfBusy(): void {
    const { threads, refusal, stopwatch } = this.#options;
    if (threads === null || this.#isStopped)
      throw new WhatIfFailedError('This shard answers no what-if questions. Ask the active replica.');
    const why = refusal();
    if (why !== '')
      throw new WhatIfFailedError(`The shard cannot answer what-if questions now: ${why}. Ask again later.`);
    if (this.#sinceMs !== null) throw new WhatIfBusyError(Math.round((stopwatch() - this.#sinceMs) / 1_000));
  }

  async #copy(question: Question, settings: WhatIfSettings, signal?: AbortSignal): Promise<Copied> {
    const { threads, options, engine, stopwatch, clock, scheduler } = this.#options;
    const { inventory } = options;
    const sized = whatIfImage(this.#options, planOf(question, settings, this.#options), 0);
    const open = await threads!.open(Math.ceil(imageBytes(sized) * ROOM_FACTOR + ROOM_BYTES));
    this.#open = open;
    if (this.#isStopped || signal?.aborted === true)
      throw new WhatIfFailedError('The question was given up before it was answered.');
    inventory.ensureRanks();
    const unmetBefore = engine.unmetByPriority();
    await scheduler.yield();
    // From here to the copy no other code runs, so all tables are of one moment.
    const beganMs = stopwatch();
    inventory.ensureRanks();
    const atMs = clock.nowMs();
    const plan = planOf(question, settings, this.#options);
    const image = copiedImage(whatIfImage(this.#options, plan, atMs), open.buffer);
    if (image === null)
      throw new WhatIfFailedError('The fleet grew while the shard was being copied. Ask again.');
    return { image, atMs, copyMs: stopwatch() - beganMs, unmetBefore };
  }

  #settingsNow(): WhatIfSettings {
    const { settings, rails } = this.#options;
    const { isPaused, isDryRun, actionsPerCycleMax, reclaimCapFraction, preemptionCapFraction } = rails();
    const { idleHoldOnDemandMs, idleHoldSpotMs } = rails();
    const { cycleIntervalMs, executeConcurrency } = settings;
    return {
      ...{ isPaused, isDryRun, actionsPerCycleMax, reclaimCapFraction, preemptionCapFraction },
      ...{ cycleIntervalMs, idleHoldOnDemandMs, idleHoldSpotMs, executeConcurrency },
      placement: settings.placement,
      preemptionWeights: settings.preemptionWeights,
      tenants: rails().tenants,
      ceilings: rails().ceilings,
    };
  }

  #answer(
    question: Question,
    texts: WhatIfTexts,
    settings: WhatIfSettings,
    { atMs, unmetBefore }: Copied,
    { unmetByPriority, ...answer }: CopiedAnswer,
  ): Omit<WhatIfAnswer, 'copyMs' | 'firstDecisionMs' | 'elapsedMs'> {
    const priorities = prioritiesOf(unmetBefore, new Map(unmetByPriority));
    const sum = (of: (one: WhatIfPriority) => number) =>
      priorities.reduce((total, one) => total + of(one), 0);
    return {
      ...answer,
      shardId: this.#options.shardId,
      atMs,
      question: sentencesOf(question, texts),
      priorities,
      unmetBefore: sum((one) => one.unmetBefore),
      unmetAfter: sum((one) => one.unmetAfter),
      notes: notesOf(settings, answer.isAtRest),
    };
  }

  #explained(error: unknown, isAborted: boolean): ShardError {
    if (isAborted) return new WhatIfFailedError('The question was given up before it was answered.');
    if (error instanceof ShardError) return error;
    const detail = boundedDetail(error instanceof Error ? error.message : String(error));
    return new WhatIfFailedError(`The what-if thread failed: ${detail}. The shard is unchanged. Ask again.`);
  }
}

function idle(phase: WhatIfPhase): Omit<WhatIfProgress, 'elapsedMs'> {
  return { phase, virtualMs: 0, cycles: 0, actions: 0, inFlight: 0, unmetNeeds: 0 };
}

/** The highest first. */
function prioritiesOf(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
): WhatIfPriority[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort((a, b) => b - a)
    .map((priority) => ({
      priority,
      unmetBefore: before.get(priority) ?? 0,
      unmetAfter: after.get(priority) ?? 0,
    }));
}

function sentencesOf({ without, demand, add, prices, rollups }: Question, { set }: WhatIfTexts): string[] {
  return [
    ...without.map((machines) => `without ${sentenceOf(machines)}`),
    ...demand.map(({ cluster, factor }) => `demand of ${cluster} × ${factor}`),
    ...rollups.map(({ cluster, rows }) => `demand of ${cluster} as in the file, ${rows.length} needs`),
    ...add.map(({ count, like }) => `${count} more machines like ${sentenceOf(like)}`),
    ...prices.map(({ machines, factor, usd }) =>
      usd === null
        ? `price of ${sentenceOf(machines)} × ${factor}`
        : `price of ${sentenceOf(machines)} $${usd}/h`,
    ),
    ...set.map((text) => `with ${text}`),
  ];
}

function notesOf(settings: WhatIfSettings, isAtRest: boolean): string[] {
  const restraint = restraintOf(settings);
  return [
    ...(restraint === 'suppressed'
      ? ['The kill switch is on, so the shard would do nothing. Ask with --set actuation-paused=false.']
      : restraint === 'dryrun'
        ? ['The shard is in a dry run, so it would do nothing. Ask with --set dry-run=false.']
        : []),
    ...(isAtRest ? [] : ['The copy was not at rest after the time or cycles that one answer may take.']),
    'Demand and sessions stay as they are, no action fails, and back-offs and pauses in force stay in force.',
  ];
}
