/** Reads and checks addresses, names and paths, so that a typo fails at start and not at the first connection. */
import { InvalidValueError } from './setting.ts';

/** Where to listen. `text` is the same address as one string, with an empty host filled in. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly text: string;
}

export interface ProviderAddress {
  /** Names the provider in logs, metrics and --provider-optional. */
  readonly name: string;
  /** `host:port`, `[v6]:port` or a gRPC target such as `dns:///host:port`. */
  readonly address: string;
}

const HOST_PORT = /^(?<host>\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\]|[A-Za-z0-9._-]*):(?<port>\d{1,5})$/;
const TARGET = /^(?:dns:(?:\/\/[^/\s]*\/)?[^/\s]+|ipv4:\S+|ipv6:\S+|unix:\S+)$/;
const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;
/** As long as a cluster id may be; printable, and safe in a file name and in `bigfleet://shard/<id>`. */
const SHARD_ID = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const PORT_MAX = 65_535;

function splitHostPort(text: string): { host: string; port: number } | null {
  const groups = HOST_PORT.exec(text)?.groups;
  const port = Number(groups?.port ?? Number.NaN);
  return port <= PORT_MAX ? { host: groups!.host!, port } : null;
}

/** `host:port`; port 0 picks an unused port, and `:port` listens on all interfaces. */
export function readListenAddress(text: string): ListenAddress {
  const found = splitHostPort(text);
  if (found === null) {
    throw new InvalidValueError(
      `${JSON.stringify(text)} is not an address to listen on`,
      'Write HOST:PORT, such as 127.0.0.1:7780 or [::1]:7780',
    );
  }
  const host = found.host === '' ? '0.0.0.0' : found.host.replaceAll(/[[\]]/g, '');
  return { host, port: found.port, text: `${found.host === '' ? host : found.host}:${found.port}` };
}

/** `0` turns the listener off. */
export function readOptionalListenAddress(text: string): ListenAddress | null {
  return text === '0' ? null : readListenAddress(text);
}

/** Empty: no such listener. */
export function readUnsetListenAddress(text: string): ListenAddress | null {
  return text === '' ? null : readListenAddress(text);
}

const LOOPBACK_HOST = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i;

export function isLoopback(address: ListenAddress): boolean {
  return LOOPBACK_HOST.test(address.host);
}

/** An address to dial or to advertise; empty: none. */
export function readDialAddress(text: string): string {
  if (text === '' || isDialable(text)) return text;
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not an address`,
    'Write HOST:PORT, such as 10.0.0.7:7790',
  );
}

function isDialable(text: string): boolean {
  if (TARGET.test(text)) return true;
  const found = splitHostPort(text);
  return found !== null && found.host !== '' && found.port > 0;
}

/** `NAME=HOST:PORT`, or `HOST:PORT`, whose name is derived from the address: `10.0.0.7-7790`. */
export function readProviderAddress(text: string): ProviderAddress {
  const at = text.indexOf('=');
  const address = text.slice(at + 1);
  if (!isDialable(address)) {
    throw new InvalidValueError(
      `${JSON.stringify(text)} is not a provider address`,
      'Write HOST:PORT or NAME=HOST:PORT, such as rack-a=10.0.0.7:7790',
    );
  }
  const name = at < 0 ? nameAfter(address) : text.slice(0, at);
  if (NAME.test(name)) return { name, address };
  throw new InvalidValueError(
    at < 0
      ? `${JSON.stringify(text)} cannot be turned into a provider name`
      : `${JSON.stringify(name)} is not a provider name`,
    'Write NAME=HOST:PORT with a name of 1 to 63 characters from a-z, 0-9, dot, dash and underscore',
  );
}

function nameAfter(address: string): string {
  return address
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
}

export function writeProviderAddress({ name, address }: ProviderAddress): string {
  return `${name}=${address}`;
}

export function readProviderName(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a provider name`,
    'Write the NAME of its --provider-addr, or HOST-PORT if that has none',
  );
}

export interface ProviderIdPrefix {
  /** Of a provider. */
  readonly name: string;
  readonly prefix: string;
}

/** As long as a machine id may be. */
const ID_PREFIX = /^[^\s,]{1,512}$/;

/** `NAME=PREFIX`. */
export function readProviderIdPrefix(text: string): ProviderIdPrefix {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const prefix = text.slice(at + 1);
  if (NAME.test(name) && ID_PREFIX.test(prefix)) return { name, prefix };
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not an id prefix of a provider`,
    'Write NAME=PREFIX, such as rack-a=ra-, without spaces and commas',
  );
}

export function writeProviderIdPrefix({ name, prefix }: ProviderIdPrefix): string {
  return `${name}=${prefix}`;
}

export interface TeamPattern {
  readonly name: string;
  readonly pattern: string;
}

/** `NAME=PATTERN`. */
export function readTeam(text: string): TeamPattern {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const pattern = text.slice(at + 1);
  if (NAME.test(name) && ID_PREFIX.test(pattern)) return { name, pattern };
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a team`,
    'Write NAME=PATTERN, such as web=prod-web-*, without spaces and commas',
  );
}

export function writeTeam({ name, pattern }: TeamPattern): string {
  return `${name}=${pattern}`;
}

export function readShardId(text: string): string {
  if (SHARD_ID.test(text)) return text;
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a shard id`,
    'Write 1 to 253 letters, digits, dots, dashes or underscores, such as shard-0',
  );
}

/** The members of an etcd, as `host:port`. */
export interface DirectoryAddress {
  readonly members: readonly string[];
}

const ETCD_SCHEME = 'etcd://';

/** `etcd://HOST:PORT[,HOST:PORT…]`; empty: no directory. */
export function readDirectory(text: string): DirectoryAddress | null {
  if (text === '') return null;
  const members = text.startsWith(ETCD_SCHEME) ? text.slice(ETCD_SCHEME.length).split(',') : [];
  const wrong = members.find((member) => {
    const found = splitHostPort(member);
    return found === null || found.host === '' || found.port === 0;
  });
  if (members.length > 0 && wrong === undefined && new Set(members).size === members.length)
    return { members };
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a directory`,
    'Write etcd://HOST:PORT with each member of the etcd once, such as etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379',
  );
}

export function writeDirectory(directory: DirectoryAddress | null): string {
  return directory === null ? '' : ETCD_SCHEME + directory.members.join(',');
}

export function readFleetName(text: string): string {
  if (SHARD_ID.test(text)) return text;
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a name of a fleet`,
    'Write 1 to 253 letters, digits, dots, dashes or underscores, such as production',
  );
}

/** Empty: the default. */
export function readReplicaName(text: string): string {
  if (text === '' || SHARD_ID.test(text)) return text;
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a name of a replica`,
    'Write 1 to 253 letters, digits, dots, dashes or underscores, such as shard-0-a',
  );
}

const ANY_ADDRESS = new Set(['0.0.0.0', '::', '0:0:0:0:0:0:0:0']);

/** It listens on all interfaces, so it is no address that another process could dial. */
export function isUnspecified({ host }: ListenAddress): boolean {
  return ANY_ADDRESS.has(host);
}

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

export function readHostName(text: string): string {
  if (HOST_NAME.test(text)) return text.toLowerCase();
  throw new InvalidValueError(
    `${JSON.stringify(text)} is not a host name`,
    'Write a host name without a port, such as flotilla.example',
  );
}

/** A path; empty: none. */
export function readPath(text: string): string {
  if (!text.includes('\0')) return text;
  throw new InvalidValueError('the path contains a NUL byte', 'Write a file system path');
}

export function readNonEmptyPath(text: string): string {
  if (text !== '') return readPath(text);
  throw new InvalidValueError('the path is empty', 'Write a file system path');
}
