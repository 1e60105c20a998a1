/** What the shard sends, by kind, and the author's handlers that it is for. */
import type { ShardError } from '../base/errors.ts';
import { BLOB_BYTES_MAX, ERROR_TEXT_MAX } from '../base/frame-limits.ts';
import { canBeBound, type MachineState } from '../machine/state.ts';
import type { Requirement } from '../needs/requirements.ts';
import type {
  AvailableCapacityUpdate,
  NodeStateUpdate,
  ReclaimInstruction,
  ShardMessage,
  BootstrapRequest as WireBootstrapRequest,
} from '../wire/protocol.generated.ts';
import { HandlerFailedError, textOf } from './errors.ts';
import { bootstrapFrame, reclaimAckFrame } from './frames.ts';
import type { BootstrapRequest, CapacityHint, ClusterOperatorOptions, Node, Reclaim } from './options.ts';
import type { SessionLink } from './session-link.ts';
import { WorkQueue } from './work-queue.ts';

/** A bootstrap handler usually makes a token at the API server, and a shard asks for up to 256 at a time. */
const BOOTSTRAPS_MAX = 64;
const CALLS_MAX = 16;
const NODE_RETRY = { initialMs: 1_000, maxMs: 60_000 };

/** Work on one session: its answer goes to the stream on which it came, or nowhere. */
interface Asked<Value> {
  readonly value: Value;
  readonly streamNumber: number;
}

export class Inbox {
  readonly nodes = new Map<string, Node>();
  readonly #options: ClusterOperatorOptions;
  readonly #link: SessionLink;
  readonly #report: (error: ShardError) => void;
  readonly #bootstraps: WorkQueue<Asked<BootstrapRequest>>;
  readonly #reclaims: WorkQueue<Asked<Reclaim>>;
  readonly #nodes: WorkQueue<Node>;
  readonly #hints: WorkQueue<CapacityHint>;
  #session = new AbortController();
  #isClosed = false;

  constructor(options: ClusterOperatorOptions, link: SessionLink, report: (error: ShardError) => void) {
    this.#options = options;
    this.#link = link;
    this.#report = report;
    const { concurrency = {} } = options;
    this.#bootstraps = new WorkQueue({
      concurrencyMax: concurrency.bootstrap ?? BOOTSTRAPS_MAX,
      handle: (asked) => this.#bootstrap(asked),
      onFailed: (asked, error) => this.#bootstrapFailed(asked, error),
    });
    this.#reclaims = new WorkQueue({
      concurrencyMax: concurrency.onReclaim ?? CALLS_MAX,
      handle: (asked) => this.#reclaim(asked),
      onFailed: (asked, error) => this.#reclaimFailed(asked, error),
    });
    this.#nodes = new WorkQueue({
      concurrencyMax: concurrency.onNode ?? CALLS_MAX,
      handle: async (node) => options.onNode?.(node),
      retry: NODE_RETRY,
      onFailed: ({ machineId }, error, pauseMs) =>
        this.#failed(
          'onNode',
          `machine ${machineId}`,
          error,
          pauseMs === null
            ? 'The operator is closing.'
            : `It is called again in ${pauseMs} ms with the newest state.`,
        ),
    });
    this.#hints = new WorkQueue({
      concurrencyMax: CALLS_MAX,
      handle: async (hint) => options.onCapacity?.(hint),
      onFailed: ({ key }, error) =>
        this.#failed('onCapacity', key, error, 'The next hint replaces this one.'),
    });
  }

  /** X5: no answer to an open bootstrap request counts any more. Nodes and reclaims stay: their machines exist all the same. */
  sessionEnded(): void {
    this.#session.abort();
    this.#session = new AbortController();
    this.#bootstraps.clear();
  }

  put(message: ShardMessage): void {
    if (this.#isClosed) return;
    const { bootstrapRequest, reclaimInstruction, nodeStateUpdate, availableCapacity } = message;
    if (bootstrapRequest) this.#putBootstrap(bootstrapRequest);
    else if (reclaimInstruction) this.#putReclaim(reclaimInstruction);
    else if (nodeStateUpdate) this.#putNode(nodeOf(nodeStateUpdate));
    else if (availableCapacity) this.#hints.put(availableCapacity.supersedesKey, hintOf(availableCapacity));
  }

  /** Resolves when no handler runs, or after the grace. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    const queues = [this.#bootstraps, this.#reclaims, this.#nodes, this.#hints];
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([grace, Promise.all(queues.map((queue) => queue.close()))]);
    clearTimeout(timer);
  }

  #putBootstrap({ requestId, requirements }: WireBootstrapRequest): void {
    const value = { requestId, requirements: plain(requirements), signal: this.#session.signal };
    this.#bootstraps.put(requestId, { value, streamNumber: this.#link.streamNumber });
  }

  #putReclaim(instruction: ReclaimInstruction): void {
    const { instructionId, nodes, gracePeriodSeconds, preemptorPriority } = instruction;
    const value = { instructionId, nodes, graceSeconds: gracePeriodSeconds, preemptorPriority };
    this.#reclaims.put(instructionId, { value, streamNumber: this.#link.streamNumber });
  }

  #putNode(node: Node): void {
    if (node.hasLeft) this.nodes.delete(node.machineId);
    else this.nodes.set(node.machineId, node);
    if (this.#options.onNode !== undefined) this.#nodes.put(node.machineId, node);
  }

  async #bootstrap({ value, streamNumber }: Asked<BootstrapRequest>): Promise<void> {
    const answer = await this.#options.bootstrap(value);
    const isBare = typeof answer === 'string' || answer instanceof Uint8Array;
    const { userData, ttlSeconds = 0 } = isBare ? { userData: answer } : answer;
    const bytes = typeof userData === 'string' ? Buffer.from(userData) : userData;
    if (bytes.length > BLOB_BYTES_MAX)
      throw new RangeError(`the blob has ${bytes.length} bytes; the limit is ${BLOB_BYTES_MAX}`);
    const { requestId } = value;
    this.#answer(streamNumber, bootstrapFrame({ requestId, userData: bytes, ttlSeconds }));
  }

  #bootstrapFailed({ value, streamNumber }: Asked<BootstrapRequest>, error: unknown): void {
    const { requestId, signal } = value;
    if (signal.aborted) return; // the session ended, and the handler stopped as it should
    const text = textOf(error).slice(0, ERROR_TEXT_MAX) || 'the operator could not make a bootstrap blob';
    this.#answer(streamNumber, bootstrapFrame({ requestId, error: text }));
    const followUp = 'The shard got this text as answer, and leaves the need alone for a while.';
    this.#failed('bootstrap', `request ${requestId}`, error, followUp);
  }

  async #reclaim({ value, streamNumber }: Asked<Reclaim>): Promise<void> {
    const started = await this.#options.onReclaim?.(value);
    const startedCount = typeof started === 'number' ? started : value.nodes.length;
    this.#answer(streamNumber, reclaimAckFrame(value.instructionId, startedCount));
  }

  #reclaimFailed({ value, streamNumber }: Asked<Reclaim>, error: unknown): void {
    this.#answer(streamNumber, reclaimAckFrame(value.instructionId, 0));
    const followUp = `The shard takes the machines back in ${value.graceSeconds} s all the same.`;
    this.#failed('onReclaim', value.nodes.join(', '), error, followUp);
  }

  #answer(streamNumber: number, frame: Buffer): void {
    if (streamNumber === this.#link.streamNumber) this.#link.write(frame);
  }

  #failed(handler: string, what: string, error: unknown, followUp: string): void {
    this.#report(new HandlerFailedError(handler, what, error, followUp));
  }
}

// Fields of a decoded message may be on its prototype, where printing and comparing do not find them: these copy them.

function nodeOf(update: NodeStateUpdate): Node {
  const { machineId, nodeName, providerId, lastError, labels, resources } = update;
  const state = update.state as MachineState;
  return {
    ...{ machineId, nodeName, providerId, state, lastError, labels },
    hasLeft: !canBeBound(state),
    resources: resources?.resources ?? {},
    taints: update.taints.map(({ key, value, effect }) => ({ key, value, effect })),
  };
}

function hintOf(update: AvailableCapacityUpdate): CapacityHint {
  const { supersedesKey, requirements, availableCount, confidence, costPerHour } = update;
  return {
    key: supersedesKey,
    requirements: plain(requirements),
    ...{ availableCount, confidence, costPerHour },
  };
}

function plain(requirements: readonly Requirement[]): Requirement[] {
  return requirements.map(({ key, operator, values }) => ({ key, operator, values }));
}
