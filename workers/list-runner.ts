/**
 * Lists providers, for the thread that does nothing else: receives the answer, decodes it into columns, compares them
 * with the inventory and gives what is news. One decoder for all providers: between the answer's arrival and the
 * result nothing waits, so two listings never need it at a time. After a large answer decoder and comparison are made anew:
 * their columns for 500,000 rows are 70 MB, which would lie idle until the next one.
 */
import { systemClock } from '../src/base/clock.ts';
import { ShardError } from '../src/base/errors.ts';
import { boundedDetail } from '../src/base/outside-text.ts';
import type { SharedInventory } from '../src/inventory/inventory.ts';
import { ProviderDirectory } from '../src/provider/client/directory.ts';
import { MachineDecoder } from '../src/provider/decode/decoder.ts';
import { giveBack } from '../src/provider/give-back.ts';
import type { ListTask, ListTaskAnswer } from '../src/provider/pool/listing-lane.ts';
import type { ListSetup } from '../src/provider/pool/setup.ts';
import { collectGarbageOf, isLarge } from './garbage.ts';
import { ListingComparison } from './listing-comparison.ts';

const NO_BYTES = new Uint8Array(0);

export class ListRunner {
  readonly #names: readonly string[];
  readonly #directory: ProviderDirectory;
  readonly #inventory: SharedInventory;
  #comparison: ListingComparison;
  #decoder: MachineDecoder;

  constructor(setup: ListSetup) {
    this.#names = setup.endpoints.map(({ name }) => name);
    this.#directory = new ProviderDirectory(setup, { limits: setup.limits, clock: systemClock });
    this.#inventory = setup.inventory as SharedInventory;
    this.#comparison = this.#newComparison();
    this.#decoder = this.#newDecoder();
  }

  async list({ provider, sinceRevision, deadlineUnixMs }: ListTask): Promise<ListTaskAnswer> {
    const startedMs = performance.now();
    const { client } = this.#directory.reader(this.#names[provider]!);
    const outcome = await client.list({ sinceRevision, deadlineUnixMs });
    const transferMs = performance.now() - startedMs;
    if (outcome.kind !== 'answered') {
      const answer = { kind: outcome.kind, detail: outcome.detail };
      return { answer, timings: { transferMs, decodeMs: 0, compareMs: 0 } };
    }
    const { bytes } = outcome;
    await collectGarbageOf(bytes.length); // the pieces that it was joined from
    const answerBytes = bytes.length;
    const result = this.#compare(bytes, provider, sinceRevision.length === 0, transferMs);
    if (isLarge(answerBytes)) {
      this.#comparison = this.#newComparison();
      this.#decoder = this.#newDecoder();
    }
    void collectGarbageOf(answerBytes); // the answer itself, and what it was decoded into
    return result;
  }

  #newComparison(): ListingComparison {
    return new ListingComparison(this.#inventory, this.#names);
  }

  #newDecoder(): MachineDecoder {
    return new MachineDecoder({ ownLabelKeys: this.#comparison.ownLabelKeys });
  }

  #compare(bytes: Uint8Array, provider: number, isFull: boolean, transferMs: number): ListTaskAnswer {
    const startedMs = performance.now();
    let decodedMs = startedMs;
    let answer: ListTaskAnswer['answer'];
    try {
      const batch = this.#decoder.decodeList(bytes);
      decodedMs = performance.now();
      answer = this.#comparison.compare(batch, provider, isFull);
    } catch (error) {
      if (!(error instanceof ShardError)) throw error; // our own bug, not the provider's
      answer = { kind: 'malformed', detail: boundedDetail(error.message) };
    } finally {
      this.#decoder.decodeList(NO_BYTES); // lets go of the answer, which may be 400 MB, so that …
      giveBack(bytes); // … it is gone before the next one comes
    }
    const compareMs = performance.now() - decodedMs;
    return { answer, timings: { transferMs, decodeMs: decodedMs - startedMs, compareMs } };
  }
}
