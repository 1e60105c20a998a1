/**
 * The one world that A5 as written gives no rest (test/decision/gang-limits.test.ts): a gang that has no machine of its
 * own and that machines of others cover in two racks chooses between these by what is free in them, and another gang of
 * its cluster binds or gives up a machine because of that choice. The first goes to and fro for ever, covered all the
 * time, and the others follow. Told apart by watching it happen: whatever else does not rest is still a violation.
 */
import type { Shard } from '../shard/shard.ts';
import { rackOf, type ServedNeed, servedNeeds, stampKey } from './served-needs.ts';

/** Once or twice is no proof of for ever. */
const RETURNS_MIN = 10;

interface Place {
  readonly rack: string;
  readonly rackBefore: string;
  /** How often it came back to the rack that it had left. */
  readonly returns: number;
}

export class WanderingGangs {
  /** By need: gangs that were covered without a machine of their own, cycle after cycle. */
  readonly #places = new Map<string, Place>();
  /** By need: every machine that was bound for that gang. */
  readonly #machines = new Map<string, Set<string>>();

  /** After every cycle. */
  observe(shard: Shard): void {
    const gangs = gangsOf(shard);
    for (const [key, gang] of gangs) {
      const place = placeOf(shard, gang, this.#places.get(key));
      if (place === null) this.#places.delete(key);
      else this.#places.set(key, place);
    }
    const { inventory } = shard;
    for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
      const key = stampKey(shard, slot);
      if (inventory.columns.state[slot] === 0 || !gangs.has(key)) continue;
      const machines = this.#machines.get(key) ?? new Set();
      this.#machines.set(key, machines.add(inventory.idOf(slot)));
    }
  }

  /** Who has no rest because of them: the other gangs of their clusters, as keys of needs, and the ids of their machines. */
  followers(shard: Shard): Set<string> {
    const found = new Set<string>();
    const gangs = [...gangsOf(shard).values()];
    for (const { key, cluster } of gangs) {
      if ((this.#places.get(key)?.returns ?? 0) < RETURNS_MIN) continue;
      for (const other of gangs) {
        if (other.cluster !== cluster || other.key === key) continue;
        found.add(other.key);
        for (const machineId of this.#machines.get(other.key) ?? []) found.add(machineId);
      }
    }
    return found;
  }
}

function gangsOf(shard: Shard): Map<string, ServedNeed> {
  return new Map([...servedNeeds(shard)].filter(([, { isGang }]) => isGang));
}

/** Where the gang is now; null if it is not covered, or has a machine of its own, which would keep it. */
function placeOf(
  shard: Shard,
  { key, claimed, isSatisfied }: ServedNeed,
  last: Place | undefined,
): Place | null {
  const isOwn = (slot: number) => stampKey(shard, slot) === key;
  if (!isSatisfied || claimed.length === 0 || claimed.some(isOwn)) return null;
  const rack = rackOf(shard, claimed[0]!);
  if (last === undefined) return { rack, rackBefore: '', returns: 0 };
  if (last.rack === rack) return last;
  return { rack, rackBefore: last.rack, returns: last.returns + (rack === last.rackBefore ? 1 : 0) };
}
