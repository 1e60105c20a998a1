/** The values of `controls`, `replicas/<replica>`, `partitions/<provider>` and `clusters/<cluster>` in the directory. */
import { recordFields, writeRecord } from '../directory/election/records.ts';

/** C4: what every replica of the shard must obey, whichever is active. */
export interface Controls {
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
}

/** H2: with the pauses that commands set, as the shard writes them; '' = none. */
export interface SharedControls extends Controls {
  readonly pauses: string;
}

/** Which of two is newer: the epoch of the replica that wrote it, and how often that one wrote. */
export interface ControlsRecord extends SharedControls {
  readonly epoch: number;
  readonly number: number;
}

export const NO_CONTROLS: ControlsRecord = {
  isPaused: false,
  isDryRun: false,
  pauses: '',
  epoch: 0,
  number: 0,
};

/** Half of what etcd takes in one request. 256 pauses with usual texts take 60 KB, and the longest ones would take more than this. */
export const CONTROLS_BYTES_MAX = 512 * 1_024;

/** A running replica. */
export interface ReplicaRecord {
  readonly replica: string;
  readonly instance: string;
  readonly addresses: readonly string[];
  readonly role: 'standby' | 'active';
  readonly isReady: boolean;
  readonly version: string;
  /** How old the inventory was when the record was written. */
  readonly lagSeconds: number;
}

/** The value of `clusters/<cluster>`. */
export interface RouteRecord {
  readonly shard: string;
}

export interface PartitionRecord {
  readonly shard: string;
  /** Of the provider, for people. */
  readonly address: string;
}

export { writeRecord };

export function writeControls({ pauses, isPaused, isDryRun, epoch, number }: ControlsRecord): string {
  // The fields of the pauses first: without the others, this is what a shard without replicas keeps.
  const list = pauses === '' ? { controls: [] } : (JSON.parse(pauses) as object);
  return writeRecord({ ...list, isPaused, isDryRun, epoch, number });
}

/** null if it is not what a replica writes, nor a shard without replicas. */
export function readControls(value: string): ControlsRecord | null {
  const fields = recordFields(value, CONTROLS_BYTES_MAX);
  const { version, controls = [], isPaused = false, isDryRun = false, epoch = 0, number = 0 } = fields;
  const isWhole =
    version === 1 &&
    Array.isArray(controls) &&
    typeof isPaused === 'boolean' &&
    typeof isDryRun === 'boolean' &&
    typeof epoch === 'number' &&
    typeof number === 'number';
  if (!isWhole) return null;
  const pauses = controls.length === 0 ? '' : JSON.stringify({ version, controls });
  return { isPaused, isDryRun, pauses, epoch, number };
}

export function isNewer(a: ControlsRecord, b: ControlsRecord): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.number > b.number);
}

export function stricterOf(a: Controls, b: Controls): Controls {
  return { isPaused: a.isPaused || b.isPaused, isDryRun: a.isDryRun || b.isDryRun };
}

/** null if it is not what a replica writes. */
export function readReplica(value: string): ReplicaRecord | null {
  const { replica, instance, addresses, role, isReady, version, lagSeconds } = recordFields(value);
  if (typeof replica !== 'string' || typeof instance !== 'string') return null;
  return {
    replica,
    instance,
    addresses: Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : [],
    role: role === 'active' ? 'active' : 'standby',
    isReady: isReady === true,
    version: typeof version === 'string' ? version : '',
    lagSeconds: typeof lagSeconds === 'number' ? lagSeconds : 0,
  };
}

/** The shard of a provider or of a cluster; '' if it is not what a shard writes. */
export function readShardOf(value: string): string {
  const { shard } = recordFields(value);
  return typeof shard === 'string' ? shard : '';
}

/** F8: the value of `coordinator`. */
export interface CoordinatorRecord {
  readonly shard: string;
  readonly replica: string;
  /** Each process draws its own. */
  readonly instance: string;
  readonly addresses: readonly string[];
  /** It never goes back. */
  readonly term: number;
}

/** null if it is not what a coordinator writes. */
export function readCoordinator(value: string): CoordinatorRecord | null {
  const { shard, replica, instance, addresses, term } = recordFields(value);
  if (typeof shard !== 'string' || typeof replica !== 'string' || typeof instance !== 'string') return null;
  const list = Array.isArray(addresses) ? addresses.filter((address) => typeof address === 'string') : [];
  return { shard, replica, instance, addresses: list, term: termOf(term) };
}

/** F8: 0 if it is not what a coordinator writes: the clock then gives a term that is higher than all before. */
export function readTerm(value: string): number {
  return termOf(recordFields(value).term);
}

function termOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

/** F8: the value of `registered/<shard>`. */
export interface RegistrationRecord {
  readonly address: string;
  readonly registeredAtMs: number;
}

export function readRegistration(value: string): RegistrationRecord {
  const { address, registeredAtMs } = recordFields(value);
  return {
    address: typeof address === 'string' ? address : '',
    registeredAtMs: typeof registeredAtMs === 'number' ? registeredAtMs : 0,
  };
}
