/** F8: what the coordinator keeps in the directory: the shards that reported, and the domains that people assigned to them. */
import { ShardError } from '../base/errors.ts';
import type { FleetKeys } from '../directory/keys.ts';
import type { Directory, Operation } from '../directory/port.ts';
import { type RegistrationRecord, writeRecord } from '../replica/records.ts';
import type { FleetCopy } from './copy.ts';
import type { CoordinatorSeat } from './seat.ts';

/** As many as 20 shards of half a million machines in racks of 40 have, each a key of 200 bytes. */
const DOMAINS_MAX = 50_000;
const SHARDS_MAX = 1_000;

export class NotCoordinatorError extends ShardError {
  readonly code = 'not_coordinator';
  readonly next = 'retry-later';

  constructor() {
    super(
      'This replica is not the coordinator any more. It changed nothing. Call again: any replica knows the next one.',
    );
  }
}

export class RegistryRefusedError extends ShardError {
  readonly code = 'registry_refused';
  readonly next = 'reject-input';

  constructor(what: string, advice: string) {
    super(`${what} Nothing was changed. ${advice}`);
  }
}

export class FleetRegistry {
  readonly #directory: Directory;
  readonly #keys: FleetKeys;
  readonly #copy: FleetCopy;
  readonly #seat: CoordinatorSeat;

  constructor({
    directory,
    keys,
    copy,
    seat,
  }: {
    readonly directory: Directory;
    readonly keys: FleetKeys;
    readonly copy: FleetCopy;
    readonly seat: CoordinatorSeat;
  }) {
    this.#directory = directory;
    this.#keys = keys;
    this.#copy = copy;
    this.#seat = seat;
  }

  /** null: this replica is not the coordinator. */
  get term(): number | null {
    return this.#seat.term;
  }

  shards(): (RegistrationRecord & { readonly shard: string })[] {
    return this.#copy.registrations();
  }

  domains() {
    return this.#copy.domains();
  }

  /** A shard reported from this address. */
  async register(shard: string, address: string, nowMs: number): Promise<void> {
    const known = this.shards();
    const before = known.find((one) => one.shard === shard);
    if (before?.address === address) return;
    if (before === undefined && known.length >= SHARDS_MAX)
      throw new RegistryRefusedError(
        `The fleet has ${SHARDS_MAX} shards that reported.`,
        'Remove those that are gone (RemoveShard).',
      );
    const record: RegistrationRecord = { address, registeredAtMs: before?.registeredAtMs ?? nowMs };
    await this.#change({ kind: 'put', key: this.#keys.registration(shard), value: writeRecord(record) });
  }

  /** Of a shard that is gone. Its domains belong to no shard afterwards. */
  async removeShard(shard: string): Promise<void> {
    if (!this.shards().some((one) => one.shard === shard))
      throw new RegistryRefusedError(
        `No shard ${JSON.stringify(shard)} has reported to this fleet.`,
        'ListShards names those that have.',
      );
    if (this.#copy.activeOf(shard) !== null)
      throw new RegistryRefusedError(
        `Shard ${JSON.stringify(shard)} has an active replica.`,
        'Stop its processes first; it would report again at once.',
      );
    const own = this.domains().filter((domain) => domain.shard === shard);
    for (const { topologyKey, topologyValue } of own)
      await this.#change({ kind: 'delete', key: this.#keys.domain(topologyKey, topologyValue) });
    await this.#change({ kind: 'delete', key: this.#keys.registration(shard) });
  }

  async assignDomain(topologyKey: string, topologyValue: string, shard: string): Promise<void> {
    if (!this.shards().some((one) => one.shard === shard))
      throw new RegistryRefusedError(
        `No shard ${JSON.stringify(shard)} has reported to this fleet.`,
        'ListShards names those that have.',
      );
    const domains = this.domains();
    const before = domains.find(
      (one) => one.topologyKey === topologyKey && one.topologyValue === topologyValue,
    );
    if (before?.shard === shard) return;
    if (before === undefined && domains.length >= DOMAINS_MAX)
      throw new RegistryRefusedError(`The fleet has ${DOMAINS_MAX} domains.`, 'Unassign some of them.');
    const key = this.#keys.domain(topologyKey, topologyValue);
    await this.#change({ kind: 'put', key, value: writeRecord({ shard }) });
  }

  async unassignDomain(topologyKey: string, topologyValue: string): Promise<void> {
    await this.#change({ kind: 'delete', key: this.#keys.domain(topologyKey, topologyValue) });
  }

  async #change(operation: Operation): Promise<void> {
    const guard = this.#seat.guard();
    if (guard === null) throw new NotCoordinatorError();
    const { succeeded } = await this.#directory.transact({ when: [guard], change: [operation] });
    if (!succeeded) throw new NotCoordinatorError();
  }
}
