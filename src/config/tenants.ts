/**
 * Entries of `tenants` (T8): limits for the clusters that an id or pattern names. In a file an entry is a mapping; as a
 * flag or variable, and in --print-config, it is one text:
 *
 *   team-a-*; max-priority=1000; max-machines=100; max-resources.cpu=500; max-resources.memory=2Ti
 */
import { formatQuantity, InvalidQuantityError, parseSupply } from '../base/quantity.ts';
import { InvalidValueError } from './setting.ts';

/** Null: not limited. */
export interface TenantEntry {
  /** A cluster id; `*` stands for any characters. */
  readonly cluster: string;
  readonly maxPriority: number | null;
  readonly maxMachines: number | null;
  /** Units by resource name. */
  readonly maxResources: Readonly<Record<string, number>>;
  readonly maxDollarsPerHour: number | null;
  readonly maxOfferingShare: number | null;
  readonly minNonSpotShare: number | null;
}

export const TENANT_KEY = 'cluster';
const RESOURCES = 'max-resources.';
const LIMITS = [
  'max-priority',
  'max-machines',
  'max-dollars-per-hour',
  'max-offering-share',
  'min-non-spot-share',
] as const;
type LimitKey = (typeof LIMITS)[number];

/** As O1 bounds a cluster id: 1 to 253 printable ASCII bytes, here without the separator. */
const PATTERN = /^[!-:<-~](?:[ -:<-~]{0,251}[!-:<-~])?$/;
/** Priorities are int32 (V2). */
const PRIORITY_MAX = 2_147_483_647;
/** More than any shard holds; catches a number of another meaning. */
const MACHINES_MAX = 1_000_000_000;
/** Sums of prices stay exact in millionths of a dollar: 2^53 ÷ 10^6 is 9 × 10^9. */
const DOLLARS_MAX = 1_000_000_000;
const EXAMPLE = 'Write it like team-a-*; max-machines=100; max-resources.cpu=500';

/** An id of 253 characters and limits on all 256 resources of a shard, with names of 100 characters, are 32,000. */
const ENTRY_CHARS_MAX = 32_768;

export function readTenant(text: string): TenantEntry {
  if (text.length > ENTRY_CHARS_MAX)
    throw new InvalidValueError(
      `an entry of ${text.length} characters is longer than ${ENTRY_CHARS_MAX}`,
      EXAMPLE,
    );
  const [pattern = '', ...parts] = text.split(';').map((part) => part.trim());
  const cluster = pattern.startsWith(`${TENANT_KEY}=`)
    ? pattern.slice(TENANT_KEY.length + 1).trim()
    : pattern;
  if (!PATTERN.test(cluster)) {
    throw new InvalidValueError(
      `${JSON.stringify(cluster)} is not a cluster id of 1 to 253 printable ASCII characters, or a pattern with *`,
      EXAMPLE,
    );
  }
  const limits = new Map<LimitKey, number>();
  const resources = new Map<string, number>();
  for (const part of parts.filter((one) => one !== '')) readLimit(cluster, part, limits, resources);
  if (limits.size === 0 && resources.size === 0)
    throw new InvalidValueError(`the entry for ${cluster} limits nothing`, EXAMPLE);
  return {
    cluster,
    maxPriority: limits.get('max-priority') ?? null,
    maxMachines: limits.get('max-machines') ?? null,
    maxResources: Object.fromEntries(resources),
    maxDollarsPerHour: limits.get('max-dollars-per-hour') ?? null,
    maxOfferingShare: limits.get('max-offering-share') ?? null,
    minNonSpotShare: limits.get('min-non-spot-share') ?? null,
  };
}

function readLimit(
  cluster: string,
  part: string,
  limits: Map<LimitKey, number>,
  resources: Map<string, number>,
): void {
  const at = part.indexOf('=');
  const key = part.slice(0, Math.max(0, at)).trim();
  const value = part.slice(at + 1).trim();
  const refuse = (what: string, remedy: string) =>
    new InvalidValueError(`the entry for ${cluster}: ${what}`, remedy);
  if (at < 0) throw refuse(`${JSON.stringify(part)} is not a limit and its value`, EXAMPLE);
  const limit = LIMITS.find((one) => one === key);
  const resource = key.startsWith(RESOURCES) ? key.slice(RESOURCES.length) : '';
  if (limit === undefined && resource === '') {
    const known = [...LIMITS, `${RESOURCES}NAME`].join(', ');
    throw refuse(`unknown limit ${JSON.stringify(key)}`, `Write one of ${known}`);
  }
  if (limit === undefined ? resources.has(resource) : limits.has(limit))
    throw refuse(`${key} is given twice`, 'Give each limit once');
  if (limit === undefined) resources.set(resource, readResource(resource, value, refuse));
  else limits.set(limit, readNumber(limit, value, refuse));
}

type Refuse = (what: string, remedy: string) => InvalidValueError;

/** V3: a limit counts in the units of the resource, rounded down, as supply is. */
function readResource(resource: string, value: string, refuse: Refuse): number {
  try {
    return parseSupply(resource, value);
  } catch (error) {
    if (!(error instanceof InvalidQuantityError)) throw error;
    throw refuse(
      `${JSON.stringify(value)} is not an amount of ${resource}`,
      'Write a Kubernetes quantity: 96, 500m or 768Gi',
    );
  }
}

function readNumber(limit: LimitKey, value: string, refuse: Refuse): number {
  const number = /^-?(?:\d+(?:\.\d+)?|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
  const [min, max, isWhole] = {
    'max-priority': [-PRIORITY_MAX - 1, PRIORITY_MAX, true] as const,
    'max-machines': [0, MACHINES_MAX, true] as const,
    'max-dollars-per-hour': [0, DOLLARS_MAX, false] as const,
    'max-offering-share': [0, 1, false] as const,
    'min-non-spot-share': [0, 1, false] as const,
  }[limit];
  if (number >= min && number <= max && (!isWhole || Number.isInteger(number))) return number;
  const kind = isWhole ? 'a whole number' : 'a number';
  throw refuse(`${limit} is ${JSON.stringify(value)}, not ${kind}`, `Choose ${min} to ${max}`);
}

export function writeTenant(entry: TenantEntry): string {
  const parts = [
    ['max-priority', entry.maxPriority],
    ['max-machines', entry.maxMachines],
    ['max-dollars-per-hour', entry.maxDollarsPerHour],
    ['max-offering-share', entry.maxOfferingShare],
    ['min-non-spot-share', entry.minNonSpotShare],
  ] as const;
  const resources = Object.entries(entry.maxResources).map(
    ([name, units]) => `${RESOURCES}${name}=${formatQuantity(name, units)}`,
  );
  const limits = parts
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${decimal(value!)}`);
  return [entry.cluster, ...limits, ...resources].join('; ');
}

/** Without an exponent, which `readNumber` refuses. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}
