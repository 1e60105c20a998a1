/**
 * Parts of roll-up rows, encoded once for all clusters. A row of a roll-up consists of
 *
 *   part      fields                                      encoded
 *   fixed     requirements, spread, priority, min_unit    once: they never change in a need
 *   amounts   aggregate_resources                         once per size of a need
 *   buckets   the two penalties                           with the row, two bytes each
 *   group     the job's name                              with the row
 *
 * 776,000 rows of 2,000 clusters have some ten thousand distinct parts.
 */
import { formatQuantity } from '../../base/quantity.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import { fingerprintOf, type ProfileParts } from '../../needs/requirements.ts';
import { encode } from '../../wire/codec.ts';

export class EncodedParts {
  readonly #fixed = new Map<string, Buffer>();
  readonly #amounts = new Map<string, Buffer>();

  fixed(profile: ProfileParts, minUnit: ResourceAmounts): Buffer {
    const withoutBuckets = { ...profile, interruptionPenalty: 0, reclamationPenalty: 0 };
    return remembered(this.#fixed, `${fingerprintOf(withoutBuckets)} ${textOf(minUnit)}`, () => {
      const { requirements, spread, priority } = profile;
      return encode('CapacityNeed', { requirements, spread, priority, minUnit: quantities(minUnit) });
    });
  }

  amounts(amounts: ResourceAmounts): Buffer {
    return remembered(this.#amounts, textOf(amounts), () =>
      encode('CapacityNeed', { aggregateResources: quantities(amounts) }),
    );
  }
}

function remembered(known: Map<string, Buffer>, key: string, make: () => Buffer): Buffer {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

function textOf(amounts: ResourceAmounts): string {
  let text = '';
  for (const name in amounts) text += `${name}=${amounts[name]} `;
  return text;
}

function quantities(amounts: ResourceAmounts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, units]) => [name, formatQuantity(name, units)]),
  );
}
