/**
 * Drives machines through their lifecycle: sends a call, looks at the ack, and follows the machine with
 * Get until it arrives, whether the provider finishes at once or minutes later. Every wait is bounded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailedError, must, skip } from './check.ts';
import type { AckReply, ConfigureParameters, ListQuery, MutatingMethod, ProviderClient } from './client.ts';
import { codeName, UNIMPLEMENTED } from './codes.ts';
import type { Custody } from './custody.ts';
import type { MachineListView } from './machine-list-view.ts';
import type { Settings } from './settings.ts';
import type { Sightings } from './sightings.ts';
import { quote, type Snapshot, shorten, stateName } from './snapshot.ts';
import { STEPS } from './steps.ts';
import { FencedShard, type Token } from './token.ts';

export interface CallOptions {
  /** A fresh one of the suite's own shard if left out. */
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
  /** Every sighting on the way, the ack's first. */
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

  /** A token newer than all before it, of a shard that nobody else is. */
  nextToken(): Token {
    return this.#own.token(this.#settings.epoch, ++this.#sequence);
  }

  /** A shard that this provider has never heard of; the epoch keeps two runs apart. */
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
        `machine ${quote(machineId)} was not made by this suite; --allow-delete lets it delete found machines`,
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
      throw new CheckFailedError({
        expected: `${method} of a machine that is ${stateName(STEPS[method].from)} to be acknowledged`,
        came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
        change: `accept ${method} in this state and show the machine as ${outlook}`,
      });
    }
    const { operationId, machine } = reply.value;
    must(machine !== null, {
      expected: `the ack of ${method} to carry the machine`,
      came: 'an ack without a machine',
      change: 'set TransitionAck.machine to the machine as it is after the call',
    });
    must(machine.state === through || machine.state === to, {
      expected: `the ack of ${method} to show the machine as ${outlook}`,
      came: stateName(machine.state),
      change: `answer with the machine as it is after the call was accepted, not as it was before`,
    });
    this.#sightings.sawAck(method, machine.state === to);
    if (operationId === '') {
      this.#sightings.sawViolation('lifecycle/operation-id', `the ack of ${method} has no operation_id`);
    }
    return { method, machineId, operationId, machine };
  }

  /** Waits until the transition has ended where it should. */
  async finish(begun: Begun): Promise<Passage> {
    const { through, to } = STEPS[begun.method];
    const seen: Snapshot[] = [begun.machine];
    const deadlineMs = Date.now() + this.#settings.transitionTimeoutMs;
    let pauseMs = POLL_FIRST_MS;
    for (let latest = begun.machine; latest.state !== to; ) {
      must(Date.now() < deadlineMs, {
        expected: `${begun.method} to end in ${stateName(to)} within ${this.#settings.transitionTimeoutMs} ms`,
        came: `Get still shows ${stateName(latest.state)}`,
        change: 'finish the operation, or give the suite more time with --timeout',
      });
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, POLL_LONGEST_MS);
      latest = await this.get(begun.machineId);
      seen.push(latest);
      must(latest.state === through || latest.state === to, {
        expected: `${begun.method} to lead through ${stateName(through)} to ${stateName(to)}`,
        came: `Get shows ${stateName(latest.state)}${latest.lastError === '' ? '' : `: ${shorten(quote(latest.lastError))}`}`,
        change: `move the machine only from ${stateName(through)} to ${stateName(to)}; see why it ended elsewhere`,
      });
    }
    // Acked at the end already: what Get says must agree.
    if (seen.length === 1) seen.push(await this.get(begun.machineId));
    const end = seen.at(-1)!;
    must(end.state === to, {
      expected: `Get to show ${stateName(to)} after ${begun.method} was acknowledged with it`,
      came: stateName(end.state),
      change: 'make the change visible to reads before the call is acknowledged',
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
      expected: `Get of machine ${quote(machineId)} to answer`,
      came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
      change: 'answer Get for every machine that List shows, whatever its state; reads are never fenced',
    });
  }

  async list(query: ListQuery = {}): Promise<MachineListView> {
    const reply = await this.#client.list(query);
    if (reply.ok) return reply.value;
    throw new CheckFailedError({
      expected: 'List to answer',
      came: `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`,
      change: 'answer List always, in one response without a size limit; reads are never fenced',
    });
  }

  /** The machine as a listing shows it: the terminal state must be seen through List as through Get. */
  async getListed(machineId: string, state: number): Promise<Snapshot> {
    const listed = (await this.list({ states: [state] })).find(machineId);
    must(listed !== undefined && listed.state === state, {
      expected: `List to show machine ${quote(machineId)} as ${stateName(state)}, as Get does`,
      came: listed === undefined ? 'it is not listed' : stateName(listed.state),
      change: 'serve List and Get from the same state, without a cache in between',
    });
    return listed;
  }
}
