/**
 * The identity of a TLS peer: exactly one `bigfleet://` URI among the alternative names of its certificate. A certificate
 * with two is ambiguous and therefore refused. Without TLS the server checks nothing.
 */
import type { PeerCertificate } from 'node:tls';

export type Identity =
  | { readonly kind: 'cluster'; readonly clusterId: string }
  | { readonly kind: 'shard'; readonly shardId: string }
  | { readonly kind: 'admin' }
  | { readonly kind: 'readonly' };

/** The part of a grpc-js call that gives access to its connection. */
export interface AuthenticatedCall {
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate | undefined };
}

/** A call that another replica may have relayed. */
export interface RelayableCall extends AuthenticatedCall {
  readonly metadata: { get(key: string): readonly (string | Buffer)[] };
}

/**
 * F6: the header in which a replica names the identity of the client whose call it relays: its URI, escaped as a part of a URL.
 * Without TLS it is empty. Only a shard may relay.
 */
export const RELAYED_FOR = 'flotilla-relayed-for';

const SCHEME = 'bigfleet://';
const CLUSTER = 'bigfleet://cluster/';
const SHARD = 'bigfleet://shard/';

/** The identity, or a sentence that says what is wrong with the certificate. */
export function identityOf(call: AuthenticatedCall): Identity | string {
  return identityIn(call.getAuthContext().sslPeerCertificate?.subjectaltname ?? '');
}

/** All bigfleet:// URIs among the alternative names of a certificate. */
export function bigfleetUrisOf(names: string): string[] {
  return urisOf(names).filter((uri) => uri.toLowerCase().startsWith(SCHEME));
}

function identityIn(names: string): Identity | string {
  const found = onlyUriOf(names);
  return 'why' in found ? found.why : identityOfUri(found.uri);
}

/** The bigfleet:// URI of a certificate, or a sentence that says why it has no identity. */
export function onlyUriOf(names: string): { readonly uri: string } | { readonly why: string } {
  const uris = bigfleetUrisOf(names);
  const [uri] = uris;
  if (uri === undefined) return { why: 'The client certificate carries no bigfleet:// URI.' };
  if (uris.length === 1) return { uri };
  return {
    why: `The client certificate carries ${uris.length} bigfleet:// URIs; it must carry exactly one.`,
  };
}

function identityOfUri(uri: string): Identity | string {
  if (uri === 'bigfleet://admin') return { kind: 'admin' };
  if (uri === 'bigfleet://readonly') return { kind: 'readonly' };
  if (uri.startsWith(CLUSTER) && uri.length > CLUSTER.length) {
    return { kind: 'cluster', clusterId: uri.slice(CLUSTER.length) };
  }
  if (uri.startsWith(SHARD) && uri.length > SHARD.length) {
    return { kind: 'shard', shardId: uri.slice(SHARD.length) };
  }
  return `The client certificate carries ${JSON.stringify(uri)}, which is not a known identity.`;
}

/**
 * F7: the cluster that a stream is for, by the client's certificate, or by the header of a shard that relays it. '' if it is for none:
 * the server that gets the stream says why.
 */
export function certifiedCluster(names: string, relayedFor: string | undefined): string {
  const peer = identityIn(names);
  if (typeof peer === 'string') return '';
  const client = peer.kind === 'shard' && relayedFor !== undefined ? relayedIdentity(relayedFor) : peer;
  return typeof client !== 'string' && client.kind === 'cluster' ? client.clusterId : '';
}

/** T11: whose share a connection uses; '' without a certificate. All certificates without an identity share one. */
export function identityKey(certificate: PeerCertificate | undefined): string {
  return certificate === undefined ? '' : identityNameOf(certificate.subjectaltname ?? '');
}

export function isShardKey(key: string): boolean {
  return key.startsWith('shard ');
}

/** The identity among the alternative names of a certificate, for people. */
export function identityNameOf(names: string): string {
  const identity = identityIn(names);
  return typeof identity === 'string' ? 'no identity' : nameOf(identity);
}

/** F6: whose share a relayed stream uses: the relay's client. Null: the peer is no shard, and what it says counts for nothing. */
export function relayedKey(header: string, peerKey: string): string | null {
  if (!isShardKey(peerKey)) return null;
  const identity = relayedIdentity(header);
  return typeof identity === 'string' ? null : nameOf(identity);
}

/** Whose share a call uses; '' without a certificate. */
export function callerKey(call: RelayableCall): string {
  const peerKey = identityKey(call.getAuthContext().sslPeerCertificate);
  const named = call.metadata.get(RELAYED_FOR);
  return named.length === 0 ? peerKey : (relayedKey(named.join(','), peerKey) ?? peerKey);
}

/** Who calls: the peer, or the client that the peer relays. */
function callerOf(call: RelayableCall): Identity | string {
  const peer = identityOf(call);
  const named = call.metadata.get(RELAYED_FOR);
  if (named.length === 0 || typeof peer === 'string') return peer;
  if (peer.kind === 'shard') return relayedIdentity(named.join(','));
  return `The call names a client that it is relayed for, but the client certificate is for ${nameOf(peer)}; only a shard may relay.`;
}

function relayedIdentity(header: string): Identity | string {
  try {
    return identityOfUri(decodeURIComponent(header));
  } catch {
    return `The relay names ${JSON.stringify(header)} as its client, which is not a known identity.`;
  }
}

/** Why the caller may not speak for this cluster; null if it may. */
export function whyNotCluster(call: RelayableCall, clusterId: string): string | null {
  const identity = callerOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'cluster' && identity.clusterId === clusterId) return null;
  return `The client certificate is for ${nameOf(identity)}, but Hello names cluster ${JSON.stringify(clusterId)}.`;
}

/** Why the caller may not read the shard; null if it may. */
export function whyNotReader(call: RelayableCall): string | null {
  const identity = callerOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'admin' || identity.kind === 'readonly') return null;
  return `The client certificate is for ${nameOf(identity)}; reading a shard requires role readonly or admin.`;
}

/** F8: why the caller may not report for this shard; null if it may. */
export function whyNotShard(call: RelayableCall, shardId: string): string | null {
  const identity = callerOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'shard' && identity.shardId === shardId) return null;
  return `The client certificate is for ${nameOf(identity)}, but the report is of shard ${JSON.stringify(shardId)}.`;
}

/** F8: why the caller may not read the fleet; null if it may. */
export function whyNotFleetReader(call: RelayableCall): string | null {
  const identity = callerOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind !== 'cluster') return null;
  return `The client certificate is for ${nameOf(identity)}; reading the fleet requires role readonly or admin, or a shard.`;
}

/** F8: why the caller may not change the fleet; null if it may. */
export function whyNotFleetAdmin(call: RelayableCall): string | null {
  const identity = callerOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'admin') return null;
  return `The client certificate is for ${nameOf(identity)}; changing the fleet requires role admin.`;
}

/** H1: why the caller may not command the shard; null if it may. */
export function whyNotAdmin(call: AuthenticatedCall): string | null {
  const identity = identityOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'admin') return null;
  return `The client certificate is for ${nameOf(identity)}; commanding a shard requires role admin.`;
}

function nameOf(identity: Identity): string {
  if (identity.kind === 'cluster') return `cluster ${JSON.stringify(identity.clusterId)}`;
  if (identity.kind === 'shard') return `shard ${JSON.stringify(identity.shardId)}`;
  return `role ${identity.kind}`;
}

/**
 * Node prints alternative names as `TYPE:value, TYPE:value` and quotes a value as JSON if it contains a comma or a quote.
 * Parsing goes from left to right, so text inside quotes never counts as the next name.
 */
function urisOf(names: string): string[] {
  const uris: string[] = [];
  for (let at = 0; at < names.length; ) {
    const colon = names.indexOf(':', at);
    if (colon < 0) break;
    const isQuoted = names[colon + 1] === '"';
    const end = isQuoted ? endOfQuoted(names, colon + 1) : names.indexOf(', ', colon);
    const value = names.slice(colon + 1, end < 0 ? names.length : end);
    if (names.slice(at, colon) === 'URI') uris.push(isQuoted ? unquoted(value) : value);
    if (end < 0) break;
    at = end + (names.startsWith(', ', end) ? 2 : 1);
  }
  return uris;
}

/** The offset behind the closing quote; -1 if there is none. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

function unquoted(value: string): string {
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
