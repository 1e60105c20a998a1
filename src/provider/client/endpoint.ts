/** Names and addresses of the providers, from the settings, checked once. */
import { ShardError } from '../../base/errors.ts';
import type { TlsFiles } from '../../tls/files.ts';

/** Plain data: every worker gets a copy. */
export interface ProviderEndpoint {
  /** The shard's own, unique name for it; appears in logs and metrics. */
  readonly name: string;
  /** `host:port`, `[v6]:port`, `unix:/path` or a gRPC target such as `dns:///host:port`. */
  readonly address: string;
  /** Absent: plaintext. */
  readonly tls?: TlsFiles;
}

export class InvalidEndpointError extends ShardError {
  readonly code = 'invalid_provider_endpoint';
  readonly next = 'refuse-to-start';

  constructor(text: string, why: string) {
    super(
      `Provider ${JSON.stringify(text)} cannot be used: ${why}. ` +
        'Write it as NAME=HOST:PORT, for example rack-a=10.0.0.7:7790.',
    );
  }
}

const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;
const HOST_PORT = /^(?:\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9._-]+):(?<port>[0-9]{1,5})$/;
const TARGET = /^(?:dns:(?:\/\/[^/]*\/)?[^/\s]+|ipv4:\S+|ipv6:\S+|unix:\S+)$/;

/** Reads `name=address` texts; names must differ, and so must addresses. */
export function parseEndpoints(texts: readonly string[], tls?: TlsFiles): ProviderEndpoint[] {
  const endpoints: ProviderEndpoint[] = [];
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 0) throw new InvalidEndpointError(text, 'it has no name');
    const name = text.slice(0, at);
    const address = text.slice(at + 1);
    if (!NAME.test(name)) {
      throw new InvalidEndpointError(
        text,
        'its name must be 1 to 63 characters of a-z, 0-9, dot, dash and underscore',
      );
    }
    checkAddress(text, address);
    for (const other of endpoints) {
      if (other.name === name) throw new InvalidEndpointError(text, 'another provider already has this name');
      if (other.address === address) {
        throw new InvalidEndpointError(
          text,
          `provider ${other.name} already has this address, so its machines would appear twice`,
        );
      }
    }
    endpoints.push(tls === undefined ? { name, address } : { name, address, tls });
  }
  return endpoints;
}

function checkAddress(text: string, address: string): void {
  if (TARGET.test(address)) return;
  const port = Number(HOST_PORT.exec(address)?.groups?.port ?? Number.NaN);
  if (!(port >= 1 && port <= 65_535)) throw new InvalidEndpointError(text, 'its address is not HOST:PORT');
}
