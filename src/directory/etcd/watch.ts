/**
 * One watch, on a stream of its own. It ends with a gap at the first doubt: a broken stream, a lost leader, a compacted revision,
 * or silence. TCP alone shows a dead host after a quarter of an hour, and a watch of a quiet prefix is silent too; so the
 * client asks for a sign of progress, and takes any message as one. It uses no revision from such a sign: some versions of
 * etcd send it ahead of events.
 */
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import type { Scheduler, Timer } from '../../base/clock.ts';
import { etcdMethods, type MessageInits, type Messages } from '../../wire/etcd.ts';
import { REVISION_BYTES_MAX } from '../limits.ts';
import type { DirectoryEvent, Watch, WatchGap, WatchListener } from '../port.ts';
import { leaderMetadata, statusName } from './calls.ts';
import type { EtcdChannels } from './channels.ts';
import { bytesOf, endOfPrefix, eventOf } from './messages.ts';

type Stream = ClientDuplexStream<MessageInits['WatchRequest'], Messages['WatchResponse']>;

export interface EtcdWatchOptions {
  readonly channels: EtcdChannels;
  readonly scheduler: Scheduler;
  readonly prefix: string;
  readonly afterRevision: number;
  readonly listener: WatchListener;
  readonly silenceMsMax: number;
  readonly onOver: (watch: Watch) => void;
}

export class EtcdWatch implements Watch {
  readonly #options: EtcdWatchOptions;
  #stream: Stream | null = null;
  #timer: Timer | null = null;
  /** Signs of progress that were asked for since the last message. */
  #asked = 0;
  #parts: DirectoryEvent[] = [];
  #partBytes = 0;
  #isOver = false;

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    try {
      this.#open();
    } catch (error) {
      // For example unreadable certificates. The listener is not called before the caller has its watch.
      const detail = (error as Error).message;
      this.#timer = options.scheduler.after(0, () => this.#end('disconnected', detail));
    }
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#stream?.cancel();
    this.#options.onOver(this);
  }

  #open(): void {
    const { channels, prefix, afterRevision } = this.#options;
    const { path, requestSerialize, responseDeserialize } = etcdMethods.Watch;
    const client = channels.current();
    const stream = client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      leaderMetadata(),
    );
    this.#stream = stream;
    stream.on('data', (message: Messages['WatchResponse']) => this.#receive(message));
    stream.on('error', (error: ServiceError) => {
      if (this.#isOver) return;
      channels.abandon(client);
      this.#end('disconnected', `${statusName(error)}: ${error.details}`);
    });
    stream.on('end', () => this.#end('disconnected', 'the server ended the watch'));
    stream.write({
      createRequest: {
        key: bytesOf(prefix),
        rangeEnd: endOfPrefix(prefix),
        startRevision: afterRevision + 1,
        fragment: true,
      },
    });
    this.#listen(() => channels.abandon(client));
  }

  /** Asks for a sign of progress after a third of the longest silence, and again after two thirds. */
  #listen(abandon: () => void): void {
    const { scheduler, silenceMsMax } = this.#options;
    this.#timer = scheduler.after(silenceMsMax / 3, () => {
      if (this.#asked >= 2) {
        abandon();
        this.#end('silent', `no message in ${silenceMsMax} ms`);
        return;
      }
      this.#asked++;
      this.#stream!.write({ progressRequest: {} });
      this.#listen(abandon);
    });
  }

  #receive(message: Messages['WatchResponse']): void {
    if (this.#isOver) return;
    this.#asked = 0;
    const { events, fragment, canceled, compactRevision, cancelReason } = message;
    if (compactRevision > 0) {
      this.#end('compacted', `revisions below ${compactRevision} were compacted`);
      return;
    }
    if (canceled) {
      this.#end('disconnected', `the server cancelled the watch: ${cancelReason}`);
      return;
    }
    for (const event of events) {
      this.#partBytes += event.kv!.key.length + event.kv!.value.length;
      this.#parts.push(eventOf(event));
    }
    if (this.#partBytes > REVISION_BYTES_MAX && fragment) {
      this.#end('too-large', `one revision has more than ${REVISION_BYTES_MAX} bytes`);
      return;
    }
    if (fragment || this.#parts.length === 0) return;
    const whole = this.#parts;
    this.#parts = [];
    this.#partBytes = 0;
    this.#options.listener.onEvents(whole);
  }

  #end(gap: WatchGap, detail: string): void {
    if (this.#isOver) return;
    this.close();
    this.#options.listener.onGap(gap, detail);
  }
}
