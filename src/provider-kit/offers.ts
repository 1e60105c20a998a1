/** Checks offers before a shard sees them: a shard refuses a record that breaks one of these rules, and says so only in its log. */
import { parseSupply } from '../base/quantity.ts';
import { fits, KEY_BYTES_MAX, tooLong, VALUE_BYTES_MAX } from '../base/text-limits.ts';
import type { CapacityTypeName, Offer, StringMap } from './cloud.ts';
import { InvalidOfferError } from './errors.ts';

/** The numbers of the protocol. */
export const CAPACITY_TYPES: Readonly<Record<CapacityTypeName, number>> = {
  unspecified: 0,
  'bare-metal': 1,
  reserved: 2,
  'on-demand': 3,
  spot: 4,
};

/** T3: ids, instance types and zones; parts of a host. */
const NAME_BYTES_MAX = 512;
export const HOST_BYTES_MAX = 1_024;
/** V1: labels and resources of a record together. */
const ENTRIES_MAX = 1_024;

/** By id. Throws InvalidOfferError for the first offer that a shard would refuse, and for an id that comes twice. */
export function checkedOffers(offers: Iterable<Offer>): Map<string, Offer> {
  const byId = new Map<string, Offer>();
  for (const offer of offers) {
    const why = byId.has(offer.id) ? 'two offers have this id' : whyInvalid(offer);
    if (why !== null) throw new InvalidOfferError(offer.id, why);
    byId.set(offer.id, offer);
  }
  return byId;
}

function whyInvalid(offer: Offer): string | null {
  const { id, instanceType, zone, capacityType, pricePerHourUsd, interruptionProbability = 0 } = offer;
  if (id === '') return 'the id is empty';
  for (const [name, text, bytesMax] of [
    ['id', id, NAME_BYTES_MAX],
    ['instanceType', instanceType, NAME_BYTES_MAX],
    ['zone', zone, NAME_BYTES_MAX],
    ['hostRef', offer.hostRef ?? '', HOST_BYTES_MAX],
  ] as const) {
    const why = whyBadText(text, bytesMax);
    if (why !== null) return `${name} ${why}`;
  }
  if (!Object.hasOwn(CAPACITY_TYPES, capacityType)) return `capacityType is ${JSON.stringify(capacityType)}`;
  if (!(pricePerHourUsd >= 0 && pricePerHourUsd < Number.POSITIVE_INFINITY)) {
    return `pricePerHourUsd is ${pricePerHourUsd}, which is not a number of dollars ≥ 0`;
  }
  if (!(interruptionProbability >= 0 && interruptionProbability <= 1)) {
    return `interruptionProbability is ${interruptionProbability}, which is not between 0 and 1`;
  }
  const { resources, allocatable, labels = {} } = offer;
  if (allocatable !== undefined && Object.keys(allocatable).length === 0) {
    return 'allocatable is empty, which means no capacity; leave it out if all resources can be used';
  }
  const entries = [resources, allocatable ?? {}, labels].reduce(
    (sum, map) => sum + Object.keys(map).length,
    0,
  );
  if (entries > ENTRIES_MAX)
    return `it has ${entries} labels and resources together; the limit is ${ENTRIES_MAX}`;
  return (
    whyBadQuantities('resources', resources) ??
    whyBadQuantities('allocatable', allocatable ?? {}) ??
    whyBadLabels(labels)
  );
}

function whyBadQuantities(name: string, amounts: StringMap): string | null {
  for (const [resource, amount] of Object.entries(amounts)) {
    if (resource === '') return `${name} has an amount without a name`;
    try {
      parseSupply(resource, amount);
    } catch {
      return `${name} has ${JSON.stringify(amount)} of ${resource}, which is no Kubernetes quantity such as 16, 500m or 64Gi`;
    }
  }
  return null;
}

function whyBadLabels(labels: StringMap): string | null {
  for (const [key, value] of Object.entries(labels)) {
    if (key === '') return `a label has no key: ${JSON.stringify(value)}`;
    const why = whyBadText(key, KEY_BYTES_MAX) ?? whyBadText(value, VALUE_BYTES_MAX);
    if (why !== null) return `label ${JSON.stringify(key)} ${why}`;
  }
  return null;
}

/** A half of a surrogate pair cannot be sent: protobuf strings are UTF-8. */
export function whyBadText(text: string, bytesMax: number): string | null {
  if (Buffer.from(text).toString() !== text) return 'is not valid Unicode';
  return fits(text, bytesMax) ? null : tooLong(text, bytesMax);
}
