/** A reporter with short intervals; everything is closed when a test ends. */
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach } from 'vitest';
import {
  type CoordinationEvent,
  CoordinatorReporter,
  type ReporterOptions,
} from '../../src/coordination/reporter.ts';
import type { ReportFacts } from '../../src/shard/ports/view.ts';
import type { MessageInits, Messages } from '../../src/wire/protocol.generated.ts';
import { coordinatorService } from '../../src/wire/services.ts';
import { type CoordinatorState, TestCoordinator } from './coordinator.ts';

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

export function closeAfterwards<Closable extends { close(): Promise<void> | void }>(
  closable: Closable,
): Closable {
  closing.push(() => closable.close());
  return closable;
}

export function factsOf(changes: Partial<ReportFacts> = {}): ReportFacts {
  return {
    shardId: 'shard-1',
    epoch: 7,
    cycle: 42,
    totalMachines: 10,
    freeMachines: 4,
    perInstanceType: { 'm5.large': 6, 'p4d.24xlarge': 4 },
    perZone: { 'us-1a': 10 },
    shortfalls: [],
    ...changes,
  };
}

export interface Rig {
  readonly coordinator: TestCoordinator;
  readonly state: CoordinatorState;
  readonly reporter: CoordinatorReporter;
  readonly events: CoordinationEvent[];
}

/** Starts a reporter, with its own coordinator unless one is given. */
export async function rig(
  options: Partial<ReporterOptions> & { readonly coordinator?: TestCoordinator } = {},
): Promise<Rig> {
  const { coordinator = closeAfterwards(await TestCoordinator.serve()), ...others } = options;
  const events: CoordinationEvent[] = [];
  const reporter = closeAfterwards(
    new CoordinatorReporter({
      coordinatorAddress: coordinator.address,
      shardAddress: '127.0.0.1:7780',
      providerAddress: '127.0.0.1:7790',
      source: { reportFacts: () => factsOf() },
      intervalMs: 10,
      onEvent: (event) => events.push(event),
      ...others,
    }),
  );
  reporter.start();
  return { coordinator, state: coordinator.state, reporter, events };
}

type MethodName = Exclude<keyof typeof coordinatorService, 'ReportShard'>;

/** The coordinator's calls for administrators. */
export function ask<Name extends MethodName>(
  coordinator: TestCoordinator,
  name: Name,
  request: MessageInits[`${Name}Request`],
): Promise<Messages[`${Name}Response`]> {
  const client = closeAfterwards(new Client(coordinator.address, credentials.createInsecure()));
  const { path, requestSerialize, responseDeserialize } = coordinatorService[name];
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize as (message: MessageInits[`${Name}Request`]) => Buffer,
      responseDeserialize as (bytes: Buffer) => Messages[`${Name}Response`],
      request,
      (error, response) => (error === null ? resolve(response!) : reject(error)),
    );
  });
}
