/**
 * From-scratch checks of a running shard. Incremental and from-scratch decisions must be identical, but the incremental one
 * has a hundred conditions, and a missing one shows only much later as a misplaced machine. So every so many ordinary
 * cycles another thread derives a cycle again on a copy and counts differences (docs/adr/0027). Any difference is a defect.
 *
 * One check runs at a time, and no part waits for it: the main thread spends only the time of the copy.
 */
import { copyImage, imageBytes } from '../../base/image.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import type { CycleInput } from '../../decision/engine.ts';
import { CORE_WORDS, Core } from '../../inventory/columns.ts';
import type { CheckExample, CheckPort, CheckResult, OpenCheck } from '../ports/check.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import { type CheckImage, type CheckSubject, imageOfCycle } from './image.ts';

/** The fleet may grow a little between the request for memory and the copy. */
const ROOM_FACTOR = 1.05;
const ROOM_BYTES = 1 << 20;

export interface ChecksContext extends CheckSubject {
  /** Null: no checks. */
  readonly port: CheckPort | null;
  /** Ordinary cycles between two checks; 0 = never. */
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
    // Memory is requested a cycle ahead, so that the checked cycle itself allocates none.
    else if (!this.#isBusy && this.#cyclesSince >= everyCycles - 1) void this.#prepare(port);
  }

  /** After the decision, before any write. */
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
      check.close(); // the fleet has outgrown the buffer; the next one will fit
      this.#isBusy = false;
    }
  }

  /** T2: the decision threw; the next cycle is checked instead. */
  abandon(): void {
    this.#remembered?.letGo();
    this.#remembered = null;
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

  /** The copy has no ids. A slot may be empty by now, or hold another machine. */
  #textOf({ slot, text }: CheckExample, { inventory: { columns } }: CheckImage): string {
    if (slot === 0) return text;
    const { inventory } = this.#context.options;
    const isHere = inventory.isCurrent(slot, columns.core[slot * CORE_WORDS + Core.Generation]!);
    return `${isHere ? inventory.idOf(slot) : 'a removed machine'}: ${text}`;
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
