/**
 * Hosts: where a machine runs, as its provider names it (`aws`, `i-0123456789abcdef0`). No two machines share one, so
 * interning would only cost buckets: each host is a block in an arena, and the row holds its address.
 *
 *   block     provider   u16, little endian: ref in the table of provider names
 *             ref        the rest: UTF-8 bytes
 */
import { ByteArena } from '../base/byte-arena.ts';
import { type SharedStringTable, StringTable } from '../base/string-table.ts';
import { type SharedAmong, TableShares } from '../base/table-shares.ts';
import { Utf8Scratch } from '../base/utf8.ts';
import type { HostRef } from '../machine/machine.ts';

const PROVIDER_BYTES = 2;
/** A ref is a u16. */
const PROVIDER_NAMES_MAX = 65_535;

export interface SharedHosts {
  readonly arena: SharedArrayBuffer;
  readonly providers: SharedStringTable;
}

export class Hosts {
  readonly #arena: ByteArena;
  readonly #providers: StringTable;
  readonly #scratch = new Utf8Scratch();
  #shares: TableShares | null = null;

  private constructor(arena: ByteArena, providers: StringTable) {
    this.#arena = arena;
    this.#providers = providers;
  }

  static create(bytesMax: number, machinesMax: number): Hosts {
    const entriesMax = Math.min(PROVIDER_NAMES_MAX, machinesMax);
    const providers = StringTable.create({ name: 'host providers', entriesMax, bytesMax: entriesMax * 64 });
    return new Hosts(ByteArena.create(bytesMax), providers);
  }

  static attach(shared: SharedHosts): Hosts {
    return new Hosts(new ByteArena(shared.arena), StringTable.attach(shared.providers));
  }

  share(): SharedHosts {
    return { arena: this.#arena.buffer, providers: this.#providers.share() };
  }

  /** T1: from now on each provider has a part of the room. */
  shareAmong(among: SharedAmong): void {
    const size = { name: 'hosts', entriesMax: Number.POSITIVE_INFINITY, bytesMax: this.bytesMax };
    this.#shares = TableShares.create(size, among);
    this.#providers.shareAmong(among);
  }

  get bytesUsed(): number {
    return this.#arena.bytesUsed;
  }

  get bytesTouched(): number {
    return this.#arena.bytesTouched;
  }

  get providerCount(): number {
    return this.#providers.count;
  }

  get bytesMax(): number {
    return this.#arena.bytes.length;
  }

  /** Stores a host. Returns its address; 0, and no change, if there is no room. Throws a TableShareError. */
  store(
    providers: Uint8Array,
    providerStart: number,
    providerEnd: number,
    refs: Uint8Array,
    refStart: number,
    refEnd: number,
    owner: number,
  ): number {
    const length = PROVIDER_BYTES + refEnd - refStart;
    this.#shares?.admit(owner, length, 0, this.bytesUsed);
    const provider = this.#providers.internBytes(providers, providerStart, providerEnd, owner);
    const scratch = this.#scratch;
    scratch.reserve(length);
    scratch.bytes[0] = provider & 0xff;
    scratch.bytes[1] = provider >>> 8;
    for (let from = refStart, at = PROVIDER_BYTES; from < refEnd; ) scratch.bytes[at++] = refs[from++]!;
    const address = this.#arena.store(scratch.bytes, 0, length);
    if (address === 0) this.#providers.release(provider);
    else this.#shares?.charge(owner, length);
    return address;
  }

  free(address: number, owner: number): void {
    if (address === 0) return;
    this.#shares?.refund(owner, this.#arena.lengthOf(address));
    this.#providers.release(this.#providerOf(address));
    this.#arena.free(address);
  }

  get(address: number): HostRef | null {
    if (address === 0) return null;
    const start = this.#arena.startOf(address);
    const ref = this.#arena.decode(start + PROVIDER_BYTES, start + this.#arena.lengthOf(address));
    return { provider: this.#providers.get(this.#providerOf(address)), ref };
  }

  /** Whether the host at an address is this one. Another thread checks the row's generation afterwards. */
  equals(
    address: number,
    providers: Uint8Array,
    providerStart: number,
    providerEnd: number,
    refs: Uint8Array,
    refStart: number,
    refEnd: number,
  ): boolean {
    if (address === 0) return false;
    const { bytes } = this.#arena;
    const own = this.#arena.startOf(address) + PROVIDER_BYTES - refStart;
    if (this.#arena.lengthOf(address) - PROVIDER_BYTES !== refEnd - refStart) return false;
    for (let at = refEnd - 1; at >= refStart; at--) if (bytes[own + at] !== refs[at]) return false;
    return this.#providers.equalsBytes(this.#providerOf(address), providers, providerStart, providerEnd);
  }

  #providerOf(address: number): number {
    const start = this.#arena.startOf(address);
    return this.#arena.bytes[start]! | (this.#arena.bytes[start + 1]! << 8);
  }
}
