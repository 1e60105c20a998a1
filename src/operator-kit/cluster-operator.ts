/**
 * The operator of one cluster: a session that reconnects, the cluster's needs, and handlers for what the shard sends. See
 * index.ts for an example and docs/writing-an-operator.md for the contract.
 *
 * The stream is never blocked by a handler. Every frame becomes an entry in a queue by key at once, and the queues call the
 * handlers (work-queue.ts).
 */
import { randomInt } from 'node:crypto';
import { DimensionTable } from '../base/dimensions.ts';
import type { ShardError } from '../base/errors.ts';
import { FRAME_BYTES_MAX, isClusterId, ROLLUP_ROWS_MAX, ROW_BYTES_MAX } from '../base/frame-limits.ts';
import { Random } from '../base/random.ts';
import { type Need, rollupRowOf } from '../needs/need.ts';
import { RollupRejectedError, RowChecker } from '../needs/rollup.ts';
import { tlsFilesOf } from '../tls/files.ts';
import type { Acknowledgement, ShardMessage } from '../wire/protocol.generated.ts';
import { ShardConnection } from './connection.ts';
import {
  HandlerFailedError,
  InvalidOperatorOptionError,
  MalformedShardFrameError,
  OperatorClosedError,
  SessionEndedError,
  SessionRefusedError,
} from './errors.ts';
import { EncodedRows, helloFrame } from './frames.ts';
import { Inbox } from './inbox.ts';
import type { ClusterOperatorOptions, Node } from './options.ts';
import { DEFAULT_ROLLUP, RollupSender } from './rollup-sender.ts';
import { DEFAULT_RECONNECT, SessionLink, type StreamEnd } from './session-link.ts';
import { ShardFrame, shardMessageOf } from './shard-frame.ts';

const CLOSE_GRACE_MS = 5_000;

export class ClusterOperator {
  readonly clusterId: string;
  readonly #options: ClusterOperatorOptions;
  readonly #connection: ShardConnection;
  readonly #link: SessionLink;
  readonly #rollups: RollupSender;
  readonly #inbox: Inbox;
  readonly #checker = new RowChecker(new DimensionTable());
  #starting: Promise<void> | null = null;
  #started: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null;
  #closing: Promise<void> | null = null;

  /** Throws if an option cannot be used. Nothing is dialled before `start`. */
  constructor(options: ClusterOperatorOptions) {
    const { shard, clusterId, tls } = options;
    if (!/^\S+:\d{1,5}$/.test(shard)) throw new InvalidOperatorOptionError('shard', shard, 'host:port');
    if (!isClusterId(clusterId))
      throw new InvalidOperatorOptionError('clusterId', clusterId, '1 to 253 printable ASCII characters');
    this.clusterId = clusterId;
    this.#options = options;
    const random = new Random(randomInt(2 ** 32)); // operators that start together must not draw the same pauses
    this.#connection = new ShardConnection(shard, tls && tlsFilesOf(tls), (error) => this.#report(error));
    this.#link = new SessionLink({
      clusterId,
      openStream: () => this.#connection.open(),
      events: {
        onStanding: (ack) => this.#stands(ack),
        onEnded: (end) => this.#ended(end),
        onUpdate: (field, frame) => this.#updated(field, frame),
        onMessage: (message) => this.#received(message),
      },
      reconnect: { ...DEFAULT_RECONNECT, ...options.reconnect, isEnabled: true },
      random,
      firstFrame: helloFrame(clusterId),
    });
    this.#rollups = new RollupSender({
      clusterId,
      settings: { ...DEFAULT_ROLLUP, ...options.rollup },
      random,
      write: ({ bytes, release }) => this.#link.write(bytes, release),
      onFailed: (error) => this.#report(error),
    });
    this.#inbox = new Inbox(options, this.#link, (error) => this.#report(error));
  }

  /** Whether a session stands. */
  get isConnected(): boolean {
    return this.#link.isStanding;
  }

  /** The newest state of every machine of the cluster, by machine id, as far as the shard has sent it. */
  get nodes(): ReadonlyMap<string, Node> {
    return this.#inbox.nodes;
  }

  /**
   * Connects, and keeps connecting. Resolves when the first session stands, or when the operator is closed before that. Rejects
   * if the shard refuses the first session (SessionRefusedError) or the TLS files cannot be used (UnusableTlsFileError): the
   * operator has then closed. A shard that cannot be reached is no refusal.
   */
  start(): Promise<void> {
    if (this.#closing !== null)
      return Promise.reject(new OperatorClosedError(this.clusterId, 'it cannot be started again'));
    this.#starting ??= new Promise((resolve, reject) => {
      this.#started = { resolve, reject };
      try {
        this.#link.start();
      } catch (error) {
        this.#giveUp(error as Error);
      }
    });
    return this.#starting;
  }

  /**
   * Replaces the whole demand of the cluster: the shard takes back machines of needs that are missing. Throws
   * RollupRejectedError, and keeps the needs that were set before, if the shard would refuse them. The operator sends no
   * roll-up before the first call.
   */
  setNeeds(needs: readonly Need[]): void {
    if (this.#closing !== null) throw new OperatorClosedError(this.clusterId, 'it sends no more needs');
    const refuse = (field: string, why: string): never => {
      throw new RollupRejectedError(this.clusterId, field, why);
    };
    if (needs.length > ROLLUP_ROWS_MAX)
      refuse('needs', `has ${needs.length} rows; the limit is ${ROLLUP_ROWS_MAX}`);
    const rows = needs.map(rollupRowOf);
    this.#checker.begin(this.clusterId);
    for (const [index, row] of rows.entries()) this.#checker.check(row, index);
    const encoded = new EncodedRows(rows);
    if (encoded.rowBytesMax > ROW_BYTES_MAX)
      refuse('needs', `has a row of ${encoded.rowBytesMax} bytes; the limit is ${ROW_BYTES_MAX}`);
    const frameBytes = encoded.bytes + FRAME_MARGIN_BYTES;
    if (frameBytes > FRAME_BYTES_MAX)
      refuse('needs', `make a frame of ${frameBytes} bytes; the limit is ${FRAME_BYTES_MAX}`);
    this.#rollups.set(encoded);
  }

  /**
   * Resolves when the shard has acked the needs that are set now, or newer ones: it has received and validated them. Rejects
   * with OperatorClosedError if the operator is closed first.
   */
  acknowledged(): Promise<void> {
    if (this.#closing !== null)
      return Promise.reject(new OperatorClosedError(this.clusterId, 'no ack follows'));
    return this.#rollups.acknowledged();
  }

  /**
   * Ends in order: no further handler is called, the handlers under way end and their answers are sent, then the stream ends
   * and the connection closes. After `closeGraceMs` it no longer waits for handlers. The shard keeps the cluster's demand and
   * machines.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#rollups.close(new OperatorClosedError(this.clusterId, 'no ack follows'));
    await this.#inbox.close(this.#options.closeGraceMs ?? CLOSE_GRACE_MS);
    await this.#link.close();
    this.#connection.close();
    this.#started?.resolve();
  }

  #giveUp(error: Error): void {
    this.#started?.reject(error);
    this.#started = null;
    void this.close();
  }

  #stands({ shardEpoch, coordinatorTerm }: Acknowledgement): void {
    this.#call('onConnected', () => this.#options.onConnected?.({ shardEpoch, coordinatorTerm }));
    if (this.#closing === null) this.#rollups.sessionStands();
    this.#started?.resolve();
    this.#started = null;
  }

  #ended({ status, details, isRefusal, pauseMs }: StreamEnd): void {
    this.#rollups.sessionEnded();
    this.#inbox.sessionEnded();
    // T14: a handshake checks the certificate, and the shard refuses every stream of a connection that it has judged.
    if (isRefusal) this.#connection.close();
    if (this.#closing !== null) return;
    const isFirst = this.#started !== null;
    const Ended = isRefusal ? SessionRefusedError : SessionEndedError;
    const error = new Ended(this.clusterId, status, details, isRefusal && isFirst ? null : pauseMs);
    if (isRefusal && isFirst) this.#giveUp(error);
    else this.#call('onDisconnected', () => this.#options.onDisconnected?.(error));
  }

  #updated(field: number, frame: Buffer): void {
    if (field === ShardFrame.Capacity && this.#options.onCapacity === undefined) return;
    this.#received(shardMessageOf(frame));
  }

  #received(message: ShardMessage | null): void {
    if (message === null) this.#report(new MalformedShardFrameError(this.clusterId));
    else if (message.ack?.echo === 'rollup') this.#rollups.acked();
    else this.#inbox.put(message); // an unknown message is ignored there: newer shards may send more kinds
  }

  #report(error: ShardError): void {
    const { onError = (unhandled) => process.emitWarning(unhandled) } = this.#options;
    try {
      onError(error);
    } catch (thrown) {
      process.emitWarning(new HandlerFailedError('onError', error.code, thrown, 'The operator goes on.'));
    }
  }

  /** The author's synchronous callbacks run within events of the stream, which must not throw. */
  #call(handler: 'onConnected' | 'onDisconnected', call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#report(
        new HandlerFailedError(handler, `cluster ${this.clusterId}`, error, 'The session goes on.'),
      );
    }
  }
}

/** Cluster id, timestamp, tags and lengths beside the rows: about 290 bytes. */
const FRAME_MARGIN_BYTES = 512;
