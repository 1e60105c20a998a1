/**
 * T14: whether the present CA still vouches for the certificate of an open connection. OpenSSL answers this in a handshake
 * and never again. This check follows signatures and dates. It knows no name constraints and no policies: OpenSSL has
 * applied those when the connection began, and applies them to the next one.
 */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { expiryMs } from './material.ts';

/** Certificates of a chain that are looked at: a leaf and two or three intermediates are usual. Each costs about 0.3 ms. */
const CHAIN_MAX = 8;

/**
 * The certificate that a peer presented, and those that it sent with it. Empty if the connection is gone. Ask once and keep the
 * answer: Node.js takes each intermediate out of the connection when it returns it.
 */
export function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = socket.getPeerX509Certificate(); next !== undefined && chain.length < CHAIN_MAX; ) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}

/** When the first certificate between the leaf and the CA expires; null if no CA vouches for the leaf. */
export function trustedUntilMs(
  [leaf, ...others]: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): number | null {
  const unused = new Set(others);
  let untilMs = Number.POSITIVE_INFINITY;
  for (let certificate = leaf; certificate !== undefined; ) {
    const issued = certificate;
    untilMs = Math.min(untilMs, expiryMs(issued));
    // A CA that was renewed with the same key is in the file twice: the one that lasts longer counts.
    const anchors = authorities.filter((authority) => hasIssued(authority, issued));
    if (anchors.length > 0) return Math.min(untilMs, Math.max(...anchors.map(expiryMs)));
    certificate = [...unused].find((other) => other.ca && hasIssued(other, issued));
    if (certificate !== undefined) unused.delete(certificate);
  }
  return null;
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
