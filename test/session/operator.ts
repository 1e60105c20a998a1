/** An operator for tests: sends exactly what a test tells it to, and keeps everything that it receives. */
import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  Metadata,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { expect } from 'vitest';
import { encode, toPlain } from '../../src/wire/codec.ts';
import type {
  CapacityNeedInit,
  NodeStateUpdate,
  OperatorMessageInit,
  ShardMessage,
} from '../../src/wire/protocol.generated.ts';
import { rawShardService } from '../../src/wire/services.ts';

export interface OperatorOptions {
  readonly credentials?: ChannelCredentials;
  /** Sends Hello at once. */
  readonly clusterId?: string;
}

export class Operator {
  readonly received: ShardMessage[] = [];
  readonly client: Client;
  readonly stream: ClientDuplexStream<Uint8Array, ShardMessage>;
  ended: StatusObject | null = null;

  constructor(address: string, options: OperatorOptions = {}) {
    this.client = new Client(address, options.credentials ?? ChannelCredentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_send_message_length': -1,
      'grpc.max_reconnect_backoff_ms': 200,
    });
    const { path, requestSerialize, responseDeserialize } = rawShardService.Session;
    this.stream = this.client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      new Metadata(),
    );
    this.stream.on('data', (message: ShardMessage) => this.received.push(toPlain('ShardMessage', message)));
    this.stream.on('status', (ended: StatusObject) => {
      this.ended = ended;
    });
    this.stream.on('error', () => {}); // the status reports it
    if (options.clusterId !== undefined) this.hello(options.clusterId);
  }

  send(message: OperatorMessageInit): void {
    this.stream.write(encode('OperatorMessage', message));
  }

  hello(clusterId: string): void {
    this.send({ hello: { clusterId, protocolVersion: 'v1alpha1' } });
  }

  rollup(needs: readonly CapacityNeedInit[], clusterId = ''): void {
    this.send({ rollup: { clusterId, timestampUnixNanos: 1, needs } });
  }

  acks(echo: 'hello' | 'rollup'): number {
    return this.received.filter(({ ack }) => ack?.echo === echo).length;
  }

  nodes(): NodeStateUpdate[] {
    return this.received.flatMap(({ nodeStateUpdate }) => (nodeStateUpdate ? [nodeStateUpdate] : []));
  }

  /** State by machine, after all received frames. */
  states(): Record<string, number> {
    return Object.fromEntries(this.nodes().map(({ machineId, state }) => [machineId, state]));
  }

  async receives(what: (operator: Operator) => boolean): Promise<void> {
    await expect.poll(() => what(this), { interval: 5 }).toBe(true);
  }

  async greeted(): Promise<this> {
    await this.receives(() => this.acks('hello') > 0);
    return this;
  }

  async endedWith(): Promise<{ code: string; details: string }> {
    await expect.poll(() => this.ended, { interval: 5 }).not.toBe(null);
    return { code: status[this.ended!.code], details: this.ended!.details };
  }

  close(): void {
    this.stream.cancel();
    this.client.close();
  }
}

export function need(parts: CapacityNeedInit = {}): CapacityNeedInit {
  return { aggregateResources: { cpu: '8', memory: '16Gi' }, priority: 100, ...parts };
}

/** Needs that differ in their group. */
export function needs(count: number, prefix = 'g'): CapacityNeedInit[] {
  return Array.from({ length: count }, (_, index) => need({ group: `${prefix}-${index}` }));
}
