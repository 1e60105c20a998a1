/** Read models of supply: what each provider and each offering has, costs and is held back by. Made on request. */
import type { CapacityType } from '../../machine/capacity-type.ts';
import type { StateCounts } from './fleet-view.ts';
import type { ListingFacts, TenantRefusal } from './tenants.ts';

/** The shard leaves an offering or a provider alone for a while. */
export interface SupplyBackoff {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly failures: number;
  /** In words, without a full stop. */
  readonly why: string;
}

/** X15: an offering, or a whole provider, on whose machines the attempts of many needs failed; in back-off. */
export interface SharedFaultView {
  readonly kind: 'bootstrap' | 'drain';
  readonly provider: string;
  /** The whole provider; the next three are then those of one of its offerings. */
  readonly isProvider: boolean;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** That failed in the last hour. */
  readonly needs: number;
}

/** X12: an offering is a provider, instance type, zone and capacity type. */
export interface OfferingLine {
  /** `PROVIDER/TYPE/ZONE/CAPACITY` */
  readonly name: string;
  readonly provider: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly machines: StateCounts;
  /** Of its machines; both 0 if it has none. */
  readonly priceMinUsd: number;
  readonly priceMaxUsd: number;
  /** The highest of its machines. */
  readonly interruptionProbability: number;
  /** Dollars per hour of the machines that have a host. */
  readonly usd: number;
  /** The one that ends last; null if the offering is not in back-off. */
  readonly backoff: SupplyBackoff | null;
}

export interface OfferingsView {
  readonly atMs: number;
  /** By name, bytewise. */
  readonly offerings: readonly OfferingLine[];
}

/** What the shard does with a provider now. */
export interface ProviderWork {
  readonly isOptional: boolean;
  readonly isListing: boolean;
  readonly callsInFlight: number;
  readonly readsInFlight: number;
  readonly readsWaiting: number;
  /** T6: the first error if the shard refused every row of the last full listing; ''. */
  readonly refusal: string;
}

export interface ProviderLine extends ProviderWork {
  readonly name: string;
  readonly machines: StateCounts;
  readonly usd: number;
  readonly offerings: number;
  readonly offeringsInBackoff: number;
  readonly backoff: SupplyBackoff | null;
  readonly listing: ListingFacts | null;
  readonly rejected: TenantRefusal | null;
}

export interface ProvidersView {
  readonly atMs: number;
  /** By name, bytewise. */
  readonly providers: readonly ProviderLine[];
}
