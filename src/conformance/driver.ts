/**
 * Drives machines through their lifecycle: sends a call, checks the ack, and polls the machine with Get
 * until the transition ends, at once or minutes later. Every wait is bounded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailedError, must, skip } from './check.ts';
import type { AckReply, ConfigureParameters, ListQuery, MutatingMethod, ProviderClient } from './client.ts';
import { codeName, RESOURCE_EXHAUSTED, UNIMPLEMENTED } from './codes.ts';
import type { Custody } from './custody.ts';
import type { MachineListView } from './machine-list-view.ts';
import type { Settings } from './settings.ts';
import type { Sightings } from './sightings.ts';
import { quote, type Snapshot, shorten, stateName } from './snapshot.ts';
import { STEPS } from './steps.ts';
import { FencedShard, type Token } from './token.ts';

export interface CallOptions {
  /** Default: the next token of the suite's own shard. */
  readonly token?: Token;
  readonly binding?: ConfigureParameters;
  readonly isRacing?: boolean;
}

/** A transition that the provider has accepted. */
export interface Begun {
  readonly method: MutatingMethod;
  readonly machineId: string;
  readonly operationId: string;
  /** The machine as the ack shows it. */
  readonly machine: Snapshot;
}

export interface Passage extends Begun {
  /** Every snapshot seen during the transition, the ack's first. */
  readonly seen: readonly Snapshot[];
  readonly end: Snapshot;
}

const POLL_FIRST_MS = 10;
const POLL_LONGEST_MS = 1_000;

export class Driver {
  readonly #client: ProviderClient;
  readonly #custody: Custody;
  readonly #sightings: Sightings;
  readonly #settings: Settings;
  readonly #own: FencedShard;
  #sequence = 0;
  #shardCount = 0;

  constructor(client: ProviderClient, custody: Custody, sightings: Sightings, settings: Settings) {
    this.#client = client;
    this.#custody = custody;
    this.#sightings = sightings;
    this.#settings = settings;
    this.#own = new FencedShard(settings.shardId);
  }

  /** A token of the suite's own shard, newer than all before it. */
  nextToken(): Token {
    return this.#own.token(this.#settings.epoch, ++this.#sequence);
  }

  /** A shard id that this provider has never seen; the epoch keeps two runs apart. */
  newShard(): FencedShard {
    return new FencedShard(`${this.#settings.shardId}/${this.#settings.epoch}/${++this.#shardCount}`);
  }

  /** An id that no machine has. */
  unknownId(): string {
    return `no-such-machine-${this.#settings.epoch}-${++this.#shardCount}`;
  }

  send(method: MutatingMethod, machineId: string, options: CallOptions = {}): Promise<AckReply> {
    if (method === 'Delete' && !this.#custody.mayDelete(machineId)) {
      skip(
        `the suite did not create machine ${quote(machineId)}; use --allow-delete to let it delete machines that it found`,
      );
    }
    this.#custody.touch(machineId);
    const token = options.token ?? this.nextToken();
    return this.#client.mutate({ ...options, method, machineId, token });
  }

  async begin(method: MutatingMethod, machineId: string, options: CallOptions = {}): Promise<Begun> {
    const reply = await this.send(method, machineId, options);
    const { through, to } = STEPS[method];
    const outlook = `${stateName(through)} or ${stateName(to)}`;
    if (!reply.ok) {
      if (reply.code === UNIMPLEMENTED) skip(`the provider does not support ${method} (UNIMPLEMENTED)`);
      if (method === 'Create' && reply.code === RESOURCE_EXHAUSTED) {
        skip(`the provider has no capacity for machine ${quote(machineId)} now (RESOURCE_EXHAUSTED)`);
      }
      throw new CheckFailedError({
        expected: `an ack for ${method} of a machine that is ${stateName(STEPS[method].from)}`,
        came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
        change: `accept ${method} in this state and return the machine as ${outlook}`,
      });
    }
    const { operationId, machine } = reply.value;
    must(machine !== null, {
      expected: `the ack of ${method} to carry the machine`,
      came: 'an ack without a machine',
      change:
        'set TransitionAck.machine to the machine as it is after the call; the shard applies this record',
    });
    must(machine.state === through || machine.state === to, {
      expected: `the ack of ${method} to show the machine as ${outlook}`,
      came: stateName(machine.state),
      change: 'return the machine as it is after the call, not as it was before',
    });
    this.#sightings.sawAck(method, machine.state === to);
    if (operationId === '') {
      this.#sightings.sawViolation('lifecycle/operation-id', `the ack of ${method} has no operation_id`);
    }
    return { method, machineId, operationId, machine };
  }

  /** Waits until the machine is in the state that the call leads to. */
  async finish(begun: Begun): Promise<Passage> {
    const { through, to } = STEPS[begun.method];
    const seen: Snapshot[] = [begun.machine];
    const deadlineMs = Date.now() + this.#settings.transitionTimeoutMs;
    let pauseMs = POLL_FIRST_MS;
    for (let latest = begun.machine; latest.state !== to; ) {
      must(Date.now() < deadlineMs, {
        expected: `${begun.method} to end in ${stateName(to)} within ${this.#settings.transitionTimeoutMs} ms`,
        came: `Get still shows ${stateName(latest.state)}`,
        change: 'finish the operation; if it is only slow, give the suite more time with --timeout',
      });
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, POLL_LONGEST_MS);
      latest = await this.get(begun.machineId);
      seen.push(latest);
      must(latest.state === through || latest.state === to, {
        expected: `${begun.method} to move the machine through ${stateName(through)} to ${stateName(to)}`,
        came: `Get shows ${stateName(latest.state)}${latest.lastError === '' ? '' : `: ${shorten(quote(latest.lastError))}`}`,
        change: `find out why the machine left ${stateName(through)} for another state than ${stateName(to)}`,
      });
    }
    // The ack already showed the terminal state: Get must agree.
    if (seen.length === 1) seen.push(await this.get(begun.machineId));
    const end = seen.at(-1)!;
    must(end.state === to, {
      expected: `Get to show ${stateName(to)}, as the ack of ${begun.method} did`,
      came: stateName(end.state),
      change: 'make the change visible to reads before you acknowledge the call',
    });
    return { ...begun, seen, end };
  }

  async perform(method: MutatingMethod, machineId: string, options: CallOptions = {}): Promise<Passage> {
    return this.finish(await this.begin(method, machineId, options));
  }

  async get(machineId: string): Promise<Snapshot> {
    const reply = await this.#client.get(machineId);
    if (reply.ok) return reply.value;
    throw new CheckFailedError({
      expected: `Get to return machine ${quote(machineId)}`,
      came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
      change: 'answer Get for every machine that List shows, in any state; never fence reads',
    });
  }

  async list(query: ListQuery = {}): Promise<MachineListView> {
    const reply = await this.#client.list(query);
    if (reply.ok) return reply.value;
    throw new CheckFailedError({
      expected: 'List to return the machines',
      came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
      change: 'answer List at any time, in one response without a size limit; never fence reads',
    });
  }

  /** The machine as List shows it: List must agree with Get on the terminal state. */
  async getListed(machineId: string, state: number): Promise<Snapshot> {
    const listed = (await this.list({ states: [state] })).find(machineId);
    must(listed !== undefined && listed.state === state, {
      expected: `List to show machine ${quote(machineId)} as ${stateName(state)}, as Get does`,
      came: listed === undefined ? 'the machine is not listed' : stateName(listed.state),
      change: 'answer List and Get from the same records, without a cache in between',
    });
    return listed;
  }
}
