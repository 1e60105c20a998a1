/** Kit providers for tests: clouds whose functions end when the test says so, and calls without gRPC. */
import type { Cloud, Offer, Order } from '../../src/provider-kit/cloud.ts';
import { Refusal } from '../../src/provider-kit/errors.ts';
import type { OperationName } from '../../src/provider-kit/operations.ts';
import {
  type Ack,
  type MutatingCall,
  Provider,
  type ProviderOptions,
} from '../../src/provider-kit/provider.ts';
import type { Outcome } from '../../src/provider-kit/runner.ts';
import { decode } from '../../src/wire/codec.ts';
import { bytesOf } from '../../src/wire/outgoing-message.ts';
import type { Machine } from '../../src/wire/protocol.generated.ts';

export function offer(id: string, change: Partial<Offer> = {}): Offer {
  return {
    id,
    instanceType: 'standard-16',
    zone: 'zone-a',
    capacityType: 'on-demand',
    pricePerHourUsd: 1,
    resources: { cpu: '16', memory: '64Gi' },
    ...change,
  };
}

/** Ends when the test calls `end`, with a value or an error. */
export interface Pending {
  readonly name: OperationName;
  readonly machineId: string;
  readonly operationId: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  end(error?: Error): void;
}

/** A cloud in which every function waits for the test. */
export class HeldCloud implements Cloud {
  readonly pending: Pending[] = [];

  create(order: Order): Promise<string> {
    return this.#hold('create', order);
  }

  async configure(order: Order): Promise<void> {
    await this.#hold('configure', order);
  }

  async drain(order: Order): Promise<void> {
    await this.#hold('drain', order);
  }

  async delete(order: Order): Promise<void> {
    await this.#hold('delete', order);
  }

  #hold(name: OperationName, { machine, operationId, attempt, signal }: Order): Promise<string> {
    return new Promise((resolve, reject) => {
      const held: Pending = {
        ...{ name, machineId: machine.id, operationId, attempt, signal },
        end: (error) => {
          this.pending.splice(this.pending.indexOf(held), 1);
          if (error === undefined) resolve(`host-of-${machine.id}`);
          else reject(error);
        },
      };
      this.pending.push(held);
    });
  }
}

export const LIMITS_MS = { create: 60_000, configure: 60_000, drain: 60_000, delete: 60_000 };

export function providerOf(
  cloud: Cloud,
  offers: Iterable<Offer>,
  change: Partial<ProviderOptions> = {},
): Provider {
  const onOutcome = (_operation: OperationName, _outcome: Outcome['kind']) => {};
  return new Provider({
    name: 'kit',
    cloud,
    offers,
    limitsMs: LIMITS_MS,
    ackWithinMs: 0,
    onOutcome,
    ...change,
  });
}

export const NO_TOKEN = { shardId: '', epoch: 0n, sequence: 0n };

/** The ack, or the code of the refusal. */
export async function call(provider: Provider, name: OperationName, change: Partial<MutatingCall>) {
  const usual = { machineId: 'm-1', token: NO_TOKEN, ...(name === 'configure' ? { cluster: 'blue' } : {}) };
  try {
    const ack: Ack = await provider.call(name, { ...usual, ...change });
    return { operationId: ack.operationId, machine: decode('Machine', ack.machine), code: 'ok' };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { operationId: '', machine: null, code: error.code, detail: error.message };
  }
}

export function machineOf(provider: Provider, id: string): Machine {
  return decode('Machine', provider.get(id));
}

export function listing(provider: Provider, filter: Parameters<Provider['list']>[0] = {}) {
  return decode('MachineList', bytesOf(provider.list(filter)));
}

/** Until everything that is ready to run has run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
