/**
 * Which names occur in a block: a Bloom filter. A search skips a block whose filter lacks the name, so the timeline of one
 * machine reads a few blocks of the forty thousand that twelve busy hours have.
 */
import { hashBytes } from '../base/hash.ts';
import { Utf8Scratch } from '../base/utf8.ts';
import type { EventKind, FleetEvent } from '../machine/event.ts';
import type { EventsQuery } from '../shard/ports/events.ts';

/** Ten bits for a name and four probes: 1.2 % of the blocks without the name are read in vain. */
const BITS_PER_KEY = 10;
const PROBES = 4;
const BYTES_MIN = 8;

/**
 * The names under which an event is found. The letter keeps a cluster apart from a machine of the same name. Needs are not
 * among them: they are found by their cluster, and their names would double the filter.
 */
function keysOf(event: FleetEvent, keys: Set<string>): void {
  addKey(keys, 'k', event.kind);
  addKey(keys, 'm', event.machineId);
  addKey(keys, 'c', event.clusterId);
  addKey(keys, 'c', event.forClusterId);
  addKey(keys, 'p', event.provider);
  addKey(keys, 'o', event.offering);
}

/** The names that all have to occur. */
export function keysOfQuery(query: EventsQuery): string[] {
  const keys = new Set<string>();
  addKey(keys, 'm', query.machineId);
  addKey(keys, 'c', query.clusterId);
  addKey(keys, 'p', query.provider);
  addKey(keys, 'o', query.offering);
  return [...keys];
}

function addKey(keys: Set<string>, letter: string, name: string | undefined): void {
  if (name !== undefined && name !== '') keys.add(letter + name);
}

export function filterOf(events: readonly FleetEvent[]): Uint8Array {
  const keys = new Set<string>();
  for (const event of events) keysOf(event, keys);
  const filter = new Uint8Array(Math.max(BYTES_MIN, Math.ceil((keys.size * BITS_PER_KEY) / 8)));
  for (const key of keys) {
    visitProbes(key, filter.length, (byte, bit) => {
      filter[byte]! |= bit;
      return true;
    });
  }
  return filter;
}

/** False: the block has no event with all of these names, or none of these kinds. */
export function mayContain(
  filter: Uint8Array,
  keys: readonly string[],
  kinds: readonly EventKind[] = [],
): boolean {
  const has = (key: string) => visitProbes(key, filter.length, (byte, bit) => (filter[byte]! & bit) !== 0);
  return keys.every(has) && (kinds.length === 0 || kinds.some((kind) => has(`k${kind}`)));
}

const scratch = new Utf8Scratch();

function visitProbes(key: string, bytes: number, visit: (byte: number, bit: number) => boolean): boolean {
  const end = scratch.write(key);
  const first = hashBytes(scratch.bytes, 0, end);
  const step = (hashBytes(scratch.bytes, 1, end) | 1) >>> 0;
  for (let probe = 0; probe < PROBES; probe++) {
    const position = (first + probe * step) % (bytes * 8);
    if (!visit(position >>> 3, 1 << (position & 7))) return false;
  }
  return true;
}
