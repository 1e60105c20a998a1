/** Shared by the client's tests: short limits, and everything closed when a test ends. */
import { afterEach } from 'vitest';
import { ProviderClient } from '../../../src/provider/client/client.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import type { CallLimits } from '../../../src/provider/client/limits.ts';
import { ProviderReader } from '../../../src/provider/client/reader.ts';
import type { ProviderCalls } from '../../../src/simulation/provider/server.ts';
import { type ServedProvider, serveProvider } from '../../../src/simulation/provider/server.ts';

const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

export function closeAfterwards<Closable extends { close(): Promise<void> | void }>(
  closable: Closable,
): Closable {
  closing.push(() => closable.close());
  return closable;
}

export async function serve(provider: ProviderCalls): Promise<ServedProvider> {
  return closeAfterwards(await serveProvider(provider, '127.0.0.1:0', { closeGraceMs: 50 }));
}

export interface Dialled {
  readonly client: ProviderClient;
  readonly reader: ProviderReader;
  readonly tokens: FencingTokens;
}

export function dial(address: string, limits: Partial<CallLimits> = {}, epoch = 1): Dialled {
  const tokens = FencingTokens.create('shard-1', epoch);
  const client = closeAfterwards(
    new ProviderClient({ name: 'p', address }, tokens, { limits: { readBackoffMs: 5, ...limits } }),
  );
  return { client, reader: new ProviderReader(client), tokens };
}
