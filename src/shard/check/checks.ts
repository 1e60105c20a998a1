/**
 * From-scratch checks of a running shard. Repair is an optimisation with a hundred conditions, and one that is missing
 * shows as a machine in the wrong hands long after; so every so many ordinary cycles a cycle is derived again, elsewhere,
 * on a copy, and differences are counted (docs/adr/0027). Any count above zero is a defect.
 *
 * One check at a time, and nothing ever waits for one: the copy is the only time that the main thread spends.
 */
import { copyImage, imageBytes } from '../../base/image.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import type { CycleInput } from '../../decision/engine.ts';
import { CORE_WORDS, Core } from '../../inventory/columns.ts';
import type { CheckExample, CheckPort, CheckResult, OpenCheck } from '../ports/check.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import { type CheckImage, type CheckSubject, imageOfCycle } from './image.ts';

/** Between the request for memory and the copy a fleet may grow a little. */
const ROOM_FACTOR = 1.05;
const ROOM_BYTES = 1 << 20;

export interface ChecksContext extends CheckSubject {
  /** Null: nobody checks. */
  readonly port: CheckPort | null;
  /** In ordinary cycles; 0 = never. */
  readonly everyCycles: number;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
}

type Memory = ReturnType<ChecksContext['engine']['remember']>;

export class ScratchChecks {
  readonly #context: ChecksContext;
  #cyclesSince = 0;
  #isBusy = false;
  #open: OpenCheck | null = null;
  #remembered: Memory | null = null;
  #isStopped = false;

  constructor(context: ChecksContext) {
    this.#context = context;
  }

  /** Before the engine decides, with the snapshot open. */
  beforeDecision({ isOrdinary }: CycleInput): void {
    const { port, everyCycles, engine } = this.#context;
    if (port === null || everyCycles === 0 || !isOrdinary || this.#isStopped) return;
    this.#cyclesSince++;
    if (this.#open !== null) this.#remembered = engine.remember();
    // The memory is asked for a cycle ahead; a checked cycle itself asks for none.
    else if (!this.#isBusy && this.#cyclesSince >= everyCycles - 1) void this.#prepare(port);
  }

  /** After it has decided, and before anything is written. */
  afterDecision(input: CycleInput): void {
    const remembered = this.#remembered;
    const check = this.#open;
    if (remembered === null || check === null) return;
    this.#remembered = this.#open = null;
    this.#cyclesSince = 0;
    const image = copyImage(imageOfCycle(this.#context, remembered.memory, input), check.buffer);
    remembered.letGo();
    if (image !== null) void this.#run(check, image);
    else {
      check.close(); // the fleet has outgrown it meanwhile: the next ones will fit
      this.#isBusy = false;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#open?.close();
    this.#open = null;
  }

  async #prepare(port: CheckPort): Promise<void> {
    this.#isBusy = true;
    try {
      const input = { nowMs: 0, isOrdinary: true };
      const { memory, letGo } = this.#context.engine.remember();
      letGo();
      const bytes = imageBytes(imageOfCycle(this.#context, memory, input)) * ROOM_FACTOR + ROOM_BYTES;
      const check = await port.open(Math.ceil(bytes));
      if (this.#isStopped) check.close();
      else this.#open = check;
    } catch (error) {
      this.#failed(error);
    }
  }

  async #run(check: OpenCheck, image: CheckImage): Promise<void> {
    try {
      this.#report(await check.run(image), image);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isBusy = false;
    }
  }

  #report(result: CheckResult, image: CheckImage): void {
    const { counters, observer } = this.#context;
    const { actions, claims, verdicts } = result;
    counters.checksRun++;
    if (actions + claims + verdicts === 0) return;
    counters.checkDifferences += actions + claims + verdicts;
    const examples = result.examples.map((example) => this.#textOf(example, image));
    observer.happened({ kind: 'check_differs', level: 'error', actions, claims, verdicts, examples });
  }

  /** Ids stayed here. A machine that went since has left its slot to nobody, or to another one. */
  #textOf({ slot, text }: CheckExample, { inventory: { columns } }: CheckImage): string {
    if (slot === 0) return text;
    const { inventory } = this.#context.options;
    const isHere = inventory.isCurrent(slot, columns.core[slot * CORE_WORDS + Core.Generation]!);
    return `${isHere ? inventory.idOf(slot) : 'a machine that is gone'}: ${text}`;
  }

  #failed(error: unknown): void {
    const { counters, observer } = this.#context;
    this.#isBusy = false;
    this.#cyclesSince = 0;
    if (this.#isStopped) return;
    counters.checksFailed++;
    const detail = boundedDetail(error instanceof Error ? error.message : String(error));
    observer.happened({ kind: 'check_failed', level: 'warn', detail });
  }
}
