/** The operator's end of a session, on a connection of its own. Frames of the shard are counted by kind, not decoded. */
import { ChannelCredentials, Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { encode } from '../../src/wire/codec.ts';
import type { CapacityNeedInit } from '../../src/wire/protocol.generated.ts';
import { rawShardService } from '../../src/wire/services.ts';

/** First byte of a frame. */
export const ACK = 0x0a;
export const NODE_UPDATE = 0x22;

export interface OperatorStream {
  readonly client: Client;
  readonly stream: ClientDuplexStream<Uint8Array, Buffer>;
}

/** Connects and sends Hello, which the shard acks. */
export function openStream(
  address: string,
  clusterId: string,
  onFrame: (kind: number) => void,
): OperatorStream {
  const client = new Client(address, ChannelCredentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1, // a connection of its own
    'grpc.enable_channelz': 0,
  });
  const { path, requestSerialize } = rawShardService.Session;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, (bytes) => bytes, new Metadata());
  stream.on('data', (frame: Buffer) => onFrame(frame[0]!));
  stream.on('error', () => {});
  stream.write(encode('OperatorMessage', { hello: { clusterId } }));
  return { client, stream };
}

/** A session that sends a roll-up and waits for its ack. */
export class RollupSession {
  readonly #opened: OperatorStream;
  #acks = 0;
  #wake = () => {};

  constructor(address: string, clusterId: string) {
    this.#opened = openStream(address, clusterId, (kind) => {
      if (kind !== ACK) return;
      this.#acks++;
      this.#wake();
    });
  }

  /** After Hello. */
  async ready(): Promise<void> {
    await this.#until(1);
  }

  /** Resolves when the shard has acked as many frames as were sent, but for `unacked` of them. */
  async send(frame: Uint8Array, sentBefore: number, unacked = 0): Promise<void> {
    this.#opened.stream.write(frame);
    await this.#until(1 + sentBefore + 1 - unacked);
  }

  close(): void {
    this.#opened.stream.cancel();
    this.#opened.client.close();
  }

  #until(acks: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        if (this.#acks >= acks) resolve();
      };
      this.#wake();
    });
  }
}

export function rollupFrame(clusterId: string, rows: readonly RollupRow[]): Buffer {
  return encode('OperatorMessage', { rollup: { clusterId, needs: rows.map(needOf) } });
}

function needOf(row: RollupRow): CapacityNeedInit {
  return {
    requirements: row.requirements,
    aggregateResources: row.aggregate,
    minUnit: row.minUnit,
    priority: row.priority,
    spread: row.spread,
    interruptionPenaltyBucket: row.interruptionBucket,
    reclamationPenaltyBucket: row.reclamationBucket,
    group: row.group,
  };
}
