/**
 * Machines, prices and back-offs by offering. A fleet has thousands of offerings, so the sums are objects per offering; the
 * machines are read from the columns, in two slices, at most once a second for all readers together.
 */
import { compareBytewise } from '../../base/dimensions.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import { STATE_COUNT } from '../../machine/state.ts';
import type { OfferingLine, OfferingsView, SharedFaultView, SupplyBackoff } from '../ports/supply.ts';
import type { ViewSources } from './sources.ts';

const KEPT_FOR_MS = 1_000;
/** Slots added up in one turn of the event loop: about eight milliseconds, with one look-up in a map each. */
const SLOTS_PER_TURN = 262_144;

type Sums = { -readonly [field in keyof Omit<OfferingLine, 'machines' | 'backoff'>]: OfferingLine[field] } & {
  readonly machines: Uint32Array;
};

type Names = Pick<OfferingLine, 'provider' | 'instanceType' | 'zone' | 'capacityType'>;

export class OfferingSums {
  readonly #sources: ViewSources;
  #last: { readonly atMs: number; readonly sums: readonly Sums[] } | null = null;
  #running: Promise<void> | null = null;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  /** Machines and dollars are at most a second old, back-offs are of now. */
  async read(): Promise<OfferingsView> {
    const { clock } = this.#sources;
    if (this.#last === null || clock.nowMs() - this.#last.atMs >= KEPT_FOR_MS) {
      this.#running ??= this.#addUp().finally(() => {
        this.#running = null;
      });
      await this.#running;
    }
    const { atMs, sums } = this.#last!;
    const backoffs = this.#backoffs();
    const known = sums.map((one) => lineOf(one, backoffs.get(one.name)?.backoff ?? null));
    const names = new Set(sums.map(({ name }) => name));
    // An offering whose last machine was removed while it was in back-off.
    const others = [...backoffs].filter(([name]) => !names.has(name));
    const empty = others.map(([name, { of, backoff }]) => lineOf(emptySums(name, of), backoff));
    const offerings = [...known, ...empty].sort((a, b) => compareBytewise(a.name, b.name));
    return { atMs, offerings };
  }

  async #addUp(): Promise<void> {
    const { inventory, providerNames, clock, nextTurn } = this.#sources;
    const { columns, shapes } = inventory;
    const byName = new Map<string, Sums>();
    const byRefs = new Map<number, Sums>();
    for (let from = 1; from < columns.slotLimit; from += SLOTS_PER_TURN) {
      if (from > 1) await nextTurn();
      byRefs.clear(); // by the next slice a number may name another shape
      const { state, host, provider, shape, pricePerHourUsd, interruptionProbability } = columns;
      const providers = providerNames.length;
      const end = Math.min(columns.slotLimit, from + SLOTS_PER_TURN);
      for (let slot = from; slot < end; slot++) {
        if (state[slot] === 0) continue;
        const refs = shape[slot]! * providers + provider[slot]!;
        let sums = byRefs.get(refs);
        if (sums === undefined) {
          const of = {
            provider: providerNames[provider[slot]!] ?? '',
            instanceType: shapes.instanceTypes.get(shapes.instanceTypeOf[shape[slot]!]!),
            zone: shapes.zones.get(shapes.zoneOf[shape[slot]!]!),
            capacityType: shapes.capacityTypeOf[shape[slot]!]! as CapacityType,
          };
          const name = nameOf(of);
          sums = byName.get(name) ?? emptySums(name, of);
          byName.set(name, sums);
          byRefs.set(refs, sums);
        }
        const usd = pricePerHourUsd[slot]!;
        sums.machines[state[slot]!]!++;
        if (sums.priceMinUsd < 0 || usd < sums.priceMinUsd) sums.priceMinUsd = usd;
        if (usd > sums.priceMaxUsd) sums.priceMaxUsd = usd;
        if (interruptionProbability[slot]! > sums.interruptionProbability)
          sums.interruptionProbability = interruptionProbability[slot]!;
        if (host[slot] !== 0) sums.usd += usd;
      }
    }
    this.#last = { atMs: clock.nowMs(), sums: [...byName.values()] };
  }

  #backoffs(): Map<string, { readonly of: Names; readonly backoff: SupplyBackoff }> {
    const found = new Map<string, { readonly of: Names; readonly backoff: SupplyBackoff }>();
    const note = (of: Names, backoff: SupplyBackoff) => {
      const name = nameOf(of);
      if ((found.get(name)?.backoff.untilMs ?? 0) < backoff.untilMs) found.set(name, { of, backoff });
    };
    for (const { sinceMs, untilMs, failures, text, ...of } of this.#sources.offeringsInBackoff()) {
      const creates = failures === 1 ? '1 create failed' : `${failures} creates in a row failed`;
      note(of, { sinceMs, untilMs, failures, why: text === '' ? creates : `${creates}: ${text}` });
    }
    for (const fault of this.#sources.sharedFaults()) if (!fault.isProvider) note(fault, backoffOf(fault));
    return found;
  }
}

/** X15 in words. */
export function backoffOf({ kind, needs, sinceMs, untilMs }: SharedFaultView): SupplyBackoff {
  const who = needs === 1 ? '1 need' : `${needs} needs`;
  return { sinceMs, untilMs, failures: needs, why: `${kind}s of ${who} failed on its machines` };
}

function nameOf({ provider, instanceType, zone, capacityType }: Names): string {
  return `${provider}/${instanceType}/${zone}/${CAPACITY_TYPE_NAMES[capacityType]}`;
}

function emptySums(name: string, { provider, instanceType, zone, capacityType }: Names): Sums {
  return {
    name,
    provider,
    instanceType,
    zone,
    capacityType,
    machines: new Uint32Array(STATE_COUNT),
    priceMinUsd: -1,
    priceMaxUsd: 0,
    interruptionProbability: 0,
    usd: 0,
  };
}

function lineOf(sums: Sums, backoff: SupplyBackoff | null): OfferingLine {
  return {
    ...sums,
    machines: [...sums.machines],
    priceMinUsd: Math.max(0, sums.priceMinUsd),
    backoff,
  };
}
