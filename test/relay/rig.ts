/** A standby with a real relay and a real server, and a source of the active replica that a test changes. */

import type { ActiveReplica, ActiveReplicaSource } from '../../src/relay/ports.ts';
import { Relay, type RelayEvent, type RelayOptions } from '../../src/relay/relay.ts';
import { OperatorServer, type OperatorServerOptions } from '../../src/session/server.ts';
import { FakeShard } from '../session/fake-shard.ts';
import { Operator, type OperatorOptions } from '../session/operator.ts';
import { closeAfterwards, NO_NEEDS } from '../session/rig.ts';

export class ActiveBoard implements ActiveReplicaSource {
  #active: ActiveReplica | null = null;
  #listeners: (() => void)[] = [];
  #epoch = 0;

  current(): ActiveReplica | null {
    return this.#active;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((known) => known !== listener);
    };
  }

  /** Another replica is active, at this address; null: none is. */
  show(address: string | null, instance = `instance-${address}`): void {
    const addresses = address === null ? [] : [address];
    this.#active =
      address === null
        ? null
        : { replica: 'other', instance, epoch: ++this.#epoch, addresses, isSelf: false };
    for (const listener of [...this.#listeners]) listener();
  }
}

export interface Standby {
  readonly board: ActiveBoard;
  readonly relay: Relay;
  readonly server: OperatorServer;
  readonly events: RelayEvent[];
  connect(options?: OperatorOptions): Operator;
  /** This replica becomes active. */
  takeOver(): FakeShard;
}

export async function startStandby(
  options: Partial<RelayOptions> = {},
  serverOptions: Partial<OperatorServerOptions> = {},
): Promise<Standby> {
  const board = new ActiveBoard();
  const events: RelayEvent[] = [];
  const relay = new Relay({
    active: board,
    holdMs: 20_000,
    deadPeerMs: 30_000,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const server = new OperatorServer({ listen: '127.0.0.1:0', tls: options.tls, ...serverOptions });
  server.standBy(relay);
  await server.listen({ shard: new FakeShard(), needs: NO_NEEDS });
  closeAfterwards(async () => {
    relay.close();
    await server.close();
  });
  return {
    board,
    relay,
    server,
    events,
    connect(operatorOptions = {}) {
      const operator = new Operator(server.address, operatorOptions);
      closeAfterwards(() => operator.close());
      return operator;
    },
    takeOver() {
      const shard = new FakeShard();
      shard.operators = server;
      server.replaceShard({ shard, needs: NO_NEEDS });
      return shard;
    },
  };
}
