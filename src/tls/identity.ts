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
  const uris = bigfleetUrisOf(names);
  const [uri] = uris;
  if (uri === undefined) return 'The client certificate carries no bigfleet:// URI.';
  if (uris.length > 1) {
    return `The client certificate carries ${uris.length} bigfleet:// URIs; it must carry exactly one.`;
  }
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

/** T11: whose share a connection uses; '' without a certificate. All certificates without an identity share one. */
export function identityKey(certificate: PeerCertificate | undefined): string {
  return certificate === undefined ? '' : identityNameOf(certificate.subjectaltname ?? '');
}

/** The identity among the alternative names of a certificate, for people. */
export function identityNameOf(names: string): string {
  const identity = identityIn(names);
  return typeof identity === 'string' ? 'no identity' : nameOf(identity);
}

/** Why the caller may not speak for this cluster; null if it may. */
export function whyNotCluster(call: AuthenticatedCall, clusterId: string): string | null {
  const identity = identityOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'cluster' && identity.clusterId === clusterId) return null;
  return `The client certificate is for ${nameOf(identity)}, but Hello names cluster ${JSON.stringify(clusterId)}.`;
}

/** Why the caller may not read the shard; null if it may. */
export function whyNotReader(call: AuthenticatedCall): string | null {
  const identity = identityOf(call);
  if (typeof identity === 'string') return identity;
  if (identity.kind === 'admin' || identity.kind === 'readonly') return null;
  return `The client certificate is for ${nameOf(identity)}; reading a shard requires role readonly or admin.`;
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
