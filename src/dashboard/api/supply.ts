/** `/api/v1/providers` and `/api/v1/offerings`: all of them, and one in full, in numbers and in words. */
import { compareBytewise } from '../../base/dimensions.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import type { OfferingLine, ProviderLine, SupplyBackoff } from '../../shard/ports/supply.ts';
import { age, count, counted, price, usd } from '../client/format.ts';
import { ApiRefusal, type Query } from './query.ts';
import { byState, capacityTypeName, sum } from './render.ts';
import type {
  ApiOfferingInFull,
  ApiOfferingLine,
  ApiOfferings,
  ApiProvider,
  ApiProviderInFull,
  ApiProviders,
} from './types.ts';

export async function providers(view: ShardReader, query: Query, rowsUsual: number): Promise<ApiProviders> {
  const prefix = query.text('prefix');
  const after = query.text('after');
  const limit = query.limit(rowsUsual);
  query.end();
  const { atMs, providers: all } = await view.providers();
  const matching = all.filter(({ name }) => name.startsWith(prefix));
  const { page, next } = pageOf(matching, after, limit);
  return {
    nowMs: atMs,
    total: all.length,
    matching: matching.length,
    providers: page.map(providerOf),
    next,
  };
}

export async function provider(view: ShardReader, name: string, nowMs: number): Promise<ApiProviderInFull> {
  const found = (await view.providers()).providers.find((one) => one.name === name);
  if (found === undefined) {
    throw new ApiRefusal(
      404,
      'no_such_provider',
      `There is no provider ${JSON.stringify(name.slice(0, 200))}.`,
      'The shard was not started with it.',
      'The path providers lists all; --provider-addr sets them.',
    );
  }
  const one = providerOf(found);
  return { nowMs, provider: one, sentences: providerSentences(one, nowMs) };
}

export async function offerings(view: ShardReader, query: Query, rowsUsual: number): Promise<ApiOfferings> {
  const wanted = {
    provider: query.text('provider'),
    instanceType: query.text('type'),
    zone: query.text('zone'),
  };
  const capacityType = query.capacityType('capacity');
  const backoffOnly = query.flag('backoff');
  const prefix = query.text('prefix');
  const after = query.text('after');
  const limit = query.limit(rowsUsual);
  query.end();
  const { atMs, offerings: all } = await view.offerings();
  const matching = all.filter(
    (one) =>
      (wanted.provider === '' || one.provider === wanted.provider) &&
      (wanted.instanceType === '' || one.instanceType === wanted.instanceType) &&
      (wanted.zone === '' || one.zone === wanted.zone) &&
      (capacityType === undefined || one.capacityType === capacityType) &&
      (!backoffOnly || one.backoff !== null) &&
      (one.name.startsWith(prefix) || shortName(one).startsWith(prefix)),
  );
  const { page, next } = pageOf(matching, after, limit);
  return {
    nowMs: atMs,
    total: all.length,
    matching: matching.length,
    offerings: page.map(offeringOf),
    next,
  };
}

/** `name` is PROVIDER/TYPE/ZONE/CAPACITY; the provider may be left out if no other has the same. */
export async function offering(view: ShardReader, name: string, nowMs: number): Promise<ApiOfferingInFull> {
  const all = (await view.offerings()).offerings;
  const found = all.filter((one) => one.name === name);
  const named = found.length > 0 ? found : all.filter((one) => shortName(one) === name);
  const [first] = named;
  const quoted = JSON.stringify(name.slice(0, 200));
  if (first === undefined) {
    throw new ApiRefusal(
      404,
      'no_such_offering',
      `There is no offering ${quoted}.`,
      'No machine has this provider, instance type, zone and capacity type.',
      'Search with offerings?prefix=…, or ask for its history with events?offering=….',
    );
  }
  if (named.length > 1) {
    throw new ApiRefusal(
      400,
      'bad_parameter',
      `Several providers have an offering ${quoted}.`,
      `They are ${named.map((one) => one.provider).join(', ')}.`,
      'Write PROVIDER/TYPE/ZONE/CAPACITY.',
    );
  }
  const one = offeringOf(first);
  return { nowMs, offering: one, sentences: offeringSentences(one, nowMs) };
}

function pageOf<T extends { readonly name: string }>(rows: readonly T[], after: string, limit: number) {
  const first = after === '' ? 0 : rows.findIndex(({ name }) => compareBytewise(name, after) > 0);
  const page = first < 0 ? [] : rows.slice(first, first + limit);
  const hasMore = first >= 0 && first + limit < rows.length;
  return { page, next: hasMore ? page.at(-1)!.name : '' };
}

/** As events name it: without the provider. */
function shortName({ name, provider: of }: { readonly name: string; readonly provider: string }): string {
  return name.slice(of.length + 1);
}

function providerOf({ listing, rejected, machines, ...of }: ProviderLine): ApiProvider {
  return {
    name: of.name,
    optional: of.isOptional,
    machines: sum(machines),
    byState: byState(machines),
    usdPerHour: of.usd,
    offerings: of.offerings,
    offeringsInBackoff: of.offeringsInBackoff,
    listing: of.isListing,
    listedAtMs: listing?.completeAtMs ?? 0,
    listedMachines: listing?.machines ?? 0,
    listingFailure: listing?.failure ?? '',
    heldListing: listing?.held ?? null,
    callsInFlight: of.callsInFlight,
    readsInFlight: of.readsInFlight,
    readsWaiting: of.readsWaiting,
    backoff: backoffOf(of.backoff),
    refused: rejected?.refused ?? 0,
    lastReason: rejected?.reason ?? '',
    lastRefusedAtMs: rejected?.atMs ?? 0,
    refusedWholly: of.refusal,
    foreignIds: listing?.foreignIds ?? 0,
  };
}

function offeringOf({ backoff, machines, ...of }: OfferingLine): ApiOfferingLine {
  return {
    name: of.name,
    provider: of.provider,
    instanceType: of.instanceType,
    zone: of.zone,
    capacityType: capacityTypeName(of.capacityType),
    machines: sum(machines),
    byState: byState(machines),
    pricePerHourUsd: of.priceMinUsd,
    pricePerHourMaxUsd: of.priceMaxUsd,
    interruptionProbability: of.interruptionProbability,
    usdPerHour: of.usd,
    sinceAtMs: backoff?.sinceMs ?? 0,
    untilMs: backoff?.untilMs ?? 0,
    failures: backoff?.failures ?? 0,
    why: backoff?.why ?? '',
  };
}

function backoffOf(backoff: SupplyBackoff | null): ApiProvider['backoff'] {
  if (backoff === null) return null;
  const { sinceMs: sinceAtMs, untilMs, failures, why } = backoff;
  return { sinceAtMs, untilMs, failures, why };
}

function stateWords(of: Readonly<Record<string, number>>): string {
  const states = Object.entries(of).filter(([, number]) => number > 0);
  return states.map(([state, number]) => `${count(number)} ${state}`).join(', ');
}

function providerSentences(of: ApiProvider, nowMs: number): string[] {
  const { name, heldListing: held, backoff } = of;
  const ago = `${age(nowMs - of.listedAtMs)} ago`;
  const complete =
    of.listedAtMs === 0
      ? `The shard has not listed provider ${name} yet.`
      : `The last complete listing of provider ${name} ended ${ago}: ${counted(of.listedMachines, 'row')}.`;
  return [
    of.refusedWholly === ''
      ? ''
      : `The shard refuses every machine of provider ${name}: ${of.refusedWholly}.`,
    held === null
      ? ''
      : `The shard holds the last listing of provider ${name}: it lacks ${count(held.missing)} of ${counted(held.known, 'known machine')}. The shard removes none of them until listings have agreed for long enough (${held.inARow} so far). If the machines are gone: flotilla confirm-removal ${name} --why TEXT`,
    of.listingFailure === '' ? '' : `The last listing of provider ${name} failed: ${of.listingFailure}.`,
    complete,
    backoff === null
      ? ''
      : `The whole provider is in back-off for ${age(backoff.untilMs - nowMs)} more: ${backoff.why}.`,
    of.offeringsInBackoff === 0
      ? ''
      : `${count(of.offeringsInBackoff)} of its ${counted(of.offerings, 'offering')} ${of.offeringsInBackoff === 1 ? 'is' : 'are'} in back-off.`,
    of.machines === 0
      ? 'It has no machines.'
      : `It has ${counted(of.machines, 'machine')}: ${stateWords(of.byState)}. They cost ${usd(of.usdPerHour)} per hour.`,
    `Under way: ${counted(of.callsInFlight, 'call')}, ${counted(of.readsInFlight, 'read')}${of.listing ? ', a listing' : ''}; ${counted(of.readsWaiting, 'read')} waiting.`,
    of.refused === 0
      ? ''
      : `The shard refused ${counted(of.refused, 'row')} since it started, the last one ${age(nowMs - of.lastRefusedAtMs)} ago: ${of.lastReason}`,
    of.foreignIds === 0
      ? ''
      : `Its last full listing claimed ${counted(of.foreignIds, 'machine')} of other providers.`,
  ].filter((text) => text !== '');
}

function offeringSentences(of: ApiOfferingLine, nowMs: number): string[] {
  const inBackoff = of.untilMs > 0;
  const prices =
    of.pricePerHourUsd === of.pricePerHourMaxUsd
      ? price(of.pricePerHourUsd)
      : `${price(of.pricePerHourUsd)} to ${price(of.pricePerHourMaxUsd)}`;
  return [
    inBackoff
      ? `In back-off for ${age(of.untilMs - nowMs)} more, since ${age(nowMs - of.sinceAtMs)}: ${of.why}.`
      : 'Not in back-off.',
    of.machines === 0
      ? 'It has no machines now.'
      : `It has ${counted(of.machines, 'machine')}: ${stateWords(of.byState)}.`,
    of.machines === 0
      ? ''
      : `A machine costs ${prices} per hour; those with a host cost ${usd(of.usdPerHour)} per hour together.`,
    of.machines === 0
      ? ''
      : `Its interruption probability is ${(100 * of.interruptionProbability).toFixed(1)} %.`,
    `Its provider is ${of.provider}.`,
  ].filter((text) => text !== '');
}
