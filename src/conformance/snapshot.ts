/**
 * A machine as one answer showed it. Checks compare two snapshots (ack and Get, Get and List, before and
 * after) field by field and name the field that differs.
 */
import { isMachineState, STATE_NAMES } from '../machine/state.ts';
import type { Machine } from '../wire/protocol.generated.ts';

export type TextMap = Readonly<Record<string, string>>;

/** The decoded message itself: copying half a million of them would double the memory. */
export type Snapshot = Machine;

export interface Difference {
  readonly field: string;
  readonly left: string;
  readonly right: string;
}

/** Name of the field on the wire, and its value as text. Equal texts mean equal values, and vice versa. */
const FIELDS: readonly (readonly [string, (snapshot: Snapshot) => string])[] = [
  ['id', (s) => quote(s.id)],
  ['state', (s) => stateName(s.state)],
  ['host', (s) => (s.host === null ? 'unset' : `${quote(s.host.provider)} ${quote(s.host.ref)}`)],
  ['instance_type', (s) => quote(s.instanceType)],
  ['zone', (s) => quote(s.zone)],
  ['capacity_type', (s) => String(s.capacityType)],
  ['price_per_hour', (s) => String(s.pricePerHour)],
  ['interruption_probability', (s) => String(s.interruptionProbability)],
  ['resources', (s) => describeMap(s.resources?.resources ?? null)],
  ['allocatable', (s) => describeMap(s.allocatable?.resources ?? null)],
  ['labels', (s) => describeMap(s.labels)],
  ['last_error', (s) => quote(s.lastError)],
  ['cluster', (s) => quote(s.cluster)],
  ['shard_metadata', (s) => describeMap(s.shardMetadata)],
];

export function findDifference(left: Snapshot, right: Snapshot): Difference | null {
  for (const [field, textOf] of FIELDS) {
    const leftText = textOf(left);
    const rightText = textOf(right);
    if (leftText !== rightText) return { field, left: leftText, right: rightText };
  }
  return null;
}

export function sameMap(left: TextMap, right: TextMap): boolean {
  return describeMap(left) === describeMap(right);
}

export function stateName(state: number): string {
  return isMachineState(state) ? STATE_NAMES[state].toUpperCase() : `unknown state (${state})`;
}

/** Sorted by key: the order of map entries on the wire has no meaning, and some servers shuffle it. */
export function describeMap(map: TextMap | null): string {
  if (map === null) return 'unset';
  const keys = Object.keys(map).sort();
  return `{${keys.map((key) => `${quote(key)}: ${quote(map[key]!)}`).join(', ')}}`;
}

/** JSON quoting shows control characters and trailing blanks, which a terminal hides. */
export function quote(text: string): string {
  return JSON.stringify(text);
}

const SHOWN_CHARS_MAX = 160;

/** A provider's text may have megabytes. */
export function shorten(text: string, charsMax = SHOWN_CHARS_MAX): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}… (${text.length} characters)`;
}
