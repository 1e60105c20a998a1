/** A fake shard with a real server; closes its operators after each test. */
import { afterEach } from 'vitest';
import type { OperatorEvent } from '../../src/session/operators.ts';
import {
  type OperatorServer,
  type OperatorServerOptions,
  type ServedShard,
  startOperatorServer,
} from '../../src/session/server.ts';
import type { NeedsReader } from '../../src/shard/ports/view.ts';
import { FakeShard } from './fake-shard.ts';
import { Operator, type OperatorOptions } from './operator.ts';

export interface Rig {
  readonly shard: FakeShard;
  readonly server: OperatorServer;
  readonly events: OperatorEvent[];
  connect(options?: OperatorOptions): Operator;
  /** Connected, and its Hello acked. */
  greeted(clusterId: string): Promise<Operator>;
}

export const NO_NEEDS: Pick<NeedsReader, 'inspectNeeds'> = {
  inspectNeeds: async () => ({
    header: { cycle: 0, computedAtMs: 0, totalNeeds: 0, unmetNeeds: 0 },
    pages: (async function* () {})(),
  }),
};

const toClose: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

export async function startRig(options: Partial<OperatorServerOptions & ServedShard> = {}): Promise<Rig> {
  const shard = new FakeShard();
  const events: OperatorEvent[] = [];
  const server = await startOperatorServer({
    listen: '127.0.0.1:0',
    shard,
    needs: NO_NEEDS,
    clock: shard.clock,
    onEvent: (event) => events.push(event),
    ...options,
  });
  shard.operators = server;
  toClose.push(() => server.close());
  const connect = (operatorOptions: OperatorOptions = {}) => {
    const operator = new Operator(server.address, operatorOptions);
    toClose.push(() => operator.close());
    return operator;
  };
  return { shard, server, events, connect, greeted: (clusterId) => connect({ clusterId }).greeted() };
}

export function closeAfterwards(close: () => void | Promise<void>): void {
  toClose.push(close);
}
