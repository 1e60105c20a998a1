/**
 * Who may call a provider over TLS. A shard moves machines under its own id only: with another shard's id it could fence that
 * shard out. A call without a token bypasses the fence, so it needs an administrator. Operators never call a provider.
 */
import { type AuthenticatedCall, type Identity, identityOf } from '../tls/identity.ts';
import { isAbsent, type Token } from './fence.ts';

/** Why the caller may not make this call; null if it may. `token` is null for a read. */
export function whyDenied(call: AuthenticatedCall, token: Token | null): string | null {
  const identity = identityOf(call);
  if (typeof identity === 'string') return identity;
  return token === null ? whyNoReader(identity) : whyNoMover(identity, token);
}

function whyNoReader({ kind }: Identity): string | null {
  return kind === 'cluster'
    ? 'The client certificate is for a cluster; only shards may read a provider.'
    : null;
}

function whyNoMover(identity: Identity, token: Token): string | null {
  if (identity.kind === 'admin') return null;
  if (identity.kind !== 'shard')
    return `The client certificate is for a ${identity.kind}; only shards and admin may move machines.`;
  if (isAbsent(token)) return 'The call has no fencing token; only admin may call without one.';
  if (identity.shardId === token.shardId) return null;
  return `The client certificate is for shard ${JSON.stringify(identity.shardId)}, but the call names shard ${JSON.stringify(token.shardId)}.`;
}
