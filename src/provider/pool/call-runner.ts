/**
 * Makes the calls of a thread. Several batches run at a time. All calls that finish in one event-loop turn, of any
 * batch, go back as one message, so a slow call delays no other result.
 */
import { systemClock } from '../../base/clock.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import type { ProviderAnswer } from '../../shard/ports/providers.ts';
import { ProviderDirectory } from '../client/directory.ts';
import type { CallOutcome, ProviderReader } from '../client/reader.ts';
import { decodeCalls, type IncomingCall } from './call-batch.ts';
import { type CallResult, ResultEncoder } from './result-batch.ts';
import type { CallsSetup } from './setup.ts';

export class CallRunner {
  readonly #directory: ProviderDirectory;
  readonly #names: readonly string[];
  readonly #post: (message: Uint8Array<ArrayBuffer>) => void;
  readonly #encoder = new ResultEncoder();
  #finished: CallResult[] = [];
  #whenPosted: Promise<void> | null = null;

  constructor(setup: CallsSetup, post: (message: Uint8Array<ArrayBuffer>) => void) {
    this.#names = setup.endpoints.map(({ name }) => name);
    this.#directory = new ProviderDirectory(setup, { limits: setup.limits, clock: systemClock });
    this.#post = post;
  }

  /** Resolves when the result of the batch's last call has been posted. */
  async run(message: Uint8Array): Promise<void> {
    const calls = decodeCalls(message);
    await Promise.all(calls.map((call) => this.#make(call)));
    message.fill(0); // bootstrap blobs
    await this.#whenPosted;
  }

  async #make(call: IncomingCall): Promise<void> {
    const answer = await this.#answerTo(call);
    this.#finished.push({ call: call.call, answer });
    this.#whenPosted ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#postFinished();
        resolve();
      });
    });
  }

  async #answerTo(call: IncomingCall): Promise<ProviderAnswer> {
    try {
      return answerOf(await perform(this.#directory.reader(this.#names[call.provider]!), call));
    } catch (error) {
      // A bug of this shard that the answer triggers: the thread's other calls must survive it.
      return { kind: 'malformed', detail: boundedDetail(`the answer could not be read: ${String(error)}`) };
    }
  }

  #postFinished(): void {
    const finished = this.#finished;
    this.#finished = [];
    this.#whenPosted = null;
    this.#post(this.#encoder.encode(finished));
  }
}

function perform(reader: ProviderReader, call: IncomingCall): Promise<CallOutcome> {
  const { machineId, deadlineUnixMs, stretch } = call;
  const target = { machineId, deadlineUnixMs, stretch };
  switch (call.kind) {
    case 'create':
      return reader.create(target);
    case 'configure': {
      const { clusterId, bootstrapBlob, shardMetadata } = call;
      return reader.configure({ ...target, clusterId, bootstrapBlob, shardMetadata });
    }
    case 'drain':
      return reader.drain({ ...target, gracePeriodSeconds: call.graceSeconds });
    case 'delete':
      return reader.delete(target);
    case 'get':
      return reader.get(target);
  }
}

function answerOf(outcome: CallOutcome): ProviderAnswer {
  if (outcome.kind === 'accepted') return { kind: 'accepted', machine: outcome.machine };
  const { kind, detail, reason } = outcome;
  return reason === undefined ? { kind, detail } : { kind, detail, reason };
}
