/**
 * The shard's providers in the simulator: simulated providers behind a simulated network. Encoding, decoding and comparison of
 * listings are the real ones, on one thread.
 */

import type { Clock } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import type { SharedInventory } from '../../inventory/inventory.ts';
import { ListingComparison } from '../../listing/compare/comparison.ts';
import { FirstListing } from '../../listing/compare/first-listing.ts';
import { INVALID_REASONS } from '../../listing/decode/batch.ts';
import { MachineDecoder } from '../../listing/decode/decoder.ts';
import { machineAt } from '../../listing/decode/rows.ts';
import type { FencingTokens } from '../../provider/client/fencing.ts';
import type {
  ListAnswer,
  ListRequest,
  ProviderAnswer,
  ProviderCall,
  ProviderFailureKind,
  ProviderPort,
  ProviderRead,
} from '../../shard/ports/providers.ts';
import { encode } from '../../wire/codec.ts';
import { bytesOf } from '../../wire/outgoing-message.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { MachineListing, SimulatedProvider } from '../provider/provider.ts';
import type { Ack, Answer } from '../provider/requests.ts';
import type { Network, Undelivered } from './network.ts';

export interface SimulatedLink {
  readonly name: string;
  readonly provider: SimulatedProvider;
  readonly network: Network;
  /** What the provider says later of an operation that it accepts now; '' if that succeeds. */
  breaks?: ((call: ProviderCall) => { readonly error: string; readonly afterMs: number } | null) | null;
  /** Changes the bytes of a listing. */
  bendListing?: (bytes: Uint8Array) => Uint8Array;
  /** Changes the machines of a listing, for a provider that lies or answers with old data. */
  bend?: ((listing: MachineListing, isFull: boolean) => MachineListing) | null;
  /** Whether it tells a replaced process only that the call failed. */
  readonly hidesFence?: boolean;
  /** By machine: an impossible state that one listing has shown, unless the next one repeated it. */
  readonly lies?: Map<string, Lie>;
  /** By machine: the last lie, even if later listings were true. */
  readonly latestLies?: Map<string, Lie>;
}

export interface Lie {
  readonly state: number;
  readonly atMs: number;
}

export interface PortOptions {
  readonly links: readonly SimulatedLink[];
  readonly inventory: SharedInventory;
  readonly tokens: FencingTokens;
  /** The way of a call to the thread that sends it. Default: none. */
  readonly handOver?: () => Promise<void>;
  /** The thread sends the call. */
  readonly onSent?: (call: ProviderCall) => void;
  /** The clock of the process, which its deadlines refer to. */
  readonly clock: Clock;
  /** A larger first listing comes in parts of about this many bytes. Default: no parts. */
  readonly listingPartBytes?: number;
}

const FAILURE_KINDS: Readonly<Record<string, ProviderFailureKind>> = {
  not_found: 'not_found',
  invalid_argument: 'invalid',
  unimplemented: 'unsupported',
  failed_precondition: 'fenced',
  aborted: 'other',
  resource_exhausted: 'other',
};

export class SimulatedProviderPort implements ProviderPort {
  readonly names: readonly string[];
  readonly #options: PortOptions;
  readonly #decoder = new MachineDecoder();
  readonly #comparison: ListingComparison;

  constructor(options: PortOptions) {
    this.#options = options;
    this.names = options.links.map(({ name }) => name);
    this.#comparison = new ListingComparison(options.inventory, this.names);
  }

  async call(call: ProviderCall): Promise<ProviderAnswer> {
    const { links, tokens, handOver, onSent } = this.#options;
    const link = links[call.provider]!;
    const { provider, network, hidesFence = false } = link;
    const { machineId } = call;
    await handOver?.();
    if (this.#leftMs(call) <= 0)
      return { kind: 'timeout', detail: 'the deadline passed before the call was sent' };
    const removes = call.kind === 'drain' || call.kind === 'delete';
    const held = tokens.whyHeld(removes, call.stretch ?? 0);
    if (held !== '') return { kind: 'held', detail: held };
    const token = { machineId, ...tokens.take() };
    onSent?.(call);
    const answer = await network.call<Answer<Ack>>(this.#leftMs(call), machineId, () => {
      const answered = send(provider, call, token);
      if (answered.kind === 'ok') breakLater(link, call);
      return answered.kind === 'silent' ? null : answered;
    });
    if (isUndelivered(answer)) return undelivered(answer);
    if (answer.kind !== 'ok') {
      const refusal = refusalOf(answer);
      return hidesFence && refusal.kind === 'fenced' ? { ...refusal, kind: 'other' } : refusal;
    }
    const { operationId, machine } = answer.value;
    this.#decoder.decodeAck(encode('TransitionAck', { operationId, machine }), machineId);
    return this.#decoded();
  }

  async read(read: ProviderRead): Promise<ProviderAnswer> {
    const { provider, network } = this.#options.links[read.provider]!;
    const answer = await network.call<Answer<Machine>>(this.#leftMs(read), read.machineId, () =>
      provider.get({ id: read.machineId }),
    );
    if (isUndelivered(answer)) return undelivered(answer);
    if (answer.kind !== 'ok') return refusalOf(answer);
    this.#decoder.decodeMachine(encode('Machine', answer.value), read.machineId);
    return this.#decoded();
  }

  async list(request: ListRequest): Promise<ListAnswer> {
    const link = this.#options.links[request.provider]!;
    const { sinceRevision } = request;
    const isFull = sinceRevision.length === 0;
    const answer = await link.network.call<Answer<Uint8Array>>(this.#leftMs(request), '', () =>
      listBytes(link, sinceRevision, isFull),
    );
    if (isUndelivered(answer)) return { ...undelivered(answer), durationMs: 0 };
    if (answer.kind !== 'ok') return { ...refusalOf(answer), durationMs: 0 };
    const bytes = link.bendListing?.(answer.value) ?? answer.value;
    const { listingPartBytes = bytes.length } = this.#options;
    if (isFull && bytes.length > listingPartBytes && this.#comparison.knowsNothing) {
      return nextPart(new FirstListing(bytes, new MachineDecoder(), listingPartBytes));
    }
    return orMalformed(() => {
      const batch = this.#decoder.decodeList(bytes);
      const compared = this.#comparison.compare(batch, {
        provider: request.provider,
        isFull,
        wantsAllRows: request.wantsAllRows === true && !isFull,
      });
      return { ...compared, durationMs: 0 };
    });
  }

  #leftMs({ deadlineUnixMs }: { readonly deadlineUnixMs: number }): number {
    return deadlineUnixMs - this.#options.clock.nowMs();
  }

  #decoded(): ProviderAnswer {
    const { batch } = this.#decoder;
    if (batch.rowCount === 1) return { kind: 'accepted', machine: machineAt(batch, 0) };
    const reason = INVALID_REASONS.find((_, index) => batch.rejectedCounts[index]! > 0) ?? 'structural';
    return { kind: 'malformed', detail: batch.rejectionTexts[0] ?? '', reason };
  }
}

function nextPart(listing: FirstListing): ListAnswer {
  return orMalformed(() => {
    const part = { ...listing.next(), durationMs: 0 };
    return listing.hasMore ? { ...part, next: async () => nextPart(listing) } : part;
  });
}

function orMalformed(read: () => ListAnswer): ListAnswer {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    return { kind: 'malformed', detail: error.message, durationMs: 0 };
  }
}

function listBytes({ provider, bend }: SimulatedLink, sinceRevision: Uint8Array, isFull: boolean) {
  if (bend === undefined || bend === null) {
    const answer = provider.encodeList({ sinceRevision });
    return answer.kind === 'ok' ? ({ kind: 'ok', value: bytesOf(answer.value) } as const) : answer;
  }
  const answer = provider.list({ sinceRevision });
  if (answer.kind !== 'ok') return answer;
  const { machines, revision, deletedIds } = bend(answer.value, isFull);
  return {
    kind: 'ok',
    value: encode('MachineList', { machines, revision, deletedIds: [...deletedIds] }),
  } as const;
}

type Token = { machineId: string; shardId: string; shardEpoch: number; sequenceNumber: number };

function send(provider: SimulatedProvider, call: ProviderCall, token: Token): Answer<Ack> {
  switch (call.kind) {
    case 'create':
      return provider.create(token);
    case 'configure':
      return provider.configure({
        ...token,
        clusterId: call.clusterId!,
        bootstrapBlob: call.bootstrapBlob!,
        shardMetadata: call.shardMetadata!,
      });
    case 'drain':
      return provider.drain({ ...token, gracePeriodSeconds: call.graceSeconds! });
    case 'delete':
      return provider.delete(token);
  }
}

/** An operation that ends asynchronously, in FAILED. One that has ended already stays as it is. */
function breakLater({ breaks, provider }: SimulatedLink, call: ProviderCall): void {
  const fault = breaks?.(call) ?? null;
  if (fault === null) return;
  provider.world.timers.after(fault.afterMs, () => provider.world.finish(call.machineId, fault.error));
}

function isUndelivered(answer: unknown): answer is Undelivered {
  return typeof answer === 'string';
}

function undelivered(kind: Undelivered): ProviderAnswer & { kind: Undelivered } {
  return { kind, detail: `simulated network: ${kind}` };
}

function refusalOf(answer: Exclude<Answer<unknown>, { kind: 'ok' }>) {
  if (answer.kind === 'silent') return { kind: 'timeout', detail: 'no answer' } as const;
  return { kind: FAILURE_KINDS[answer.code]!, detail: answer.detail };
}
