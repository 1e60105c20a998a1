/**
 * The providers of one thread, by name. Each has its own channels, so a slow or broken provider delays no other, and
 * a provider that this thread never calls costs no connection.
 */
import { assert } from '../../base/assert.ts';
import { ProviderClient, type ProviderClientOptions } from './client.ts';
import type { ProviderEndpoint } from './endpoint.ts';
import { FencingTokens, type SharedFencing } from './fencing.ts';
import { ProviderReader, type ProviderReaderOptions } from './reader.ts';

/** The setup of a worker; survives structured clone. */
export interface DirectorySetup {
  readonly endpoints: readonly ProviderEndpoint[];
  readonly fencing: SharedFencing;
}

export class ProviderDirectory {
  readonly #endpoints = new Map<string, ProviderEndpoint>();
  readonly #readers = new Map<string, ProviderReader>();
  readonly #tokens: FencingTokens;
  readonly #options: ProviderClientOptions & ProviderReaderOptions;

  constructor(setup: DirectorySetup, options: ProviderClientOptions & ProviderReaderOptions = {}) {
    for (const endpoint of setup.endpoints) this.#endpoints.set(endpoint.name, endpoint);
    assert(this.#endpoints.size === setup.endpoints.length, 'two providers have one name');
    this.#tokens = FencingTokens.open(setup.fencing);
    this.#options = options;
  }

  get names(): string[] {
    return [...this.#endpoints.keys()];
  }

  /** The provider's reader, created on first use. The name must be one of the endpoints'. */
  reader(name: string): ProviderReader {
    const known = this.#readers.get(name);
    if (known !== undefined) return known;
    const endpoint = this.#endpoints.get(name);
    assert(endpoint !== undefined, `there is no provider ${name}`);
    const client = new ProviderClient(endpoint, this.#tokens, this.#options);
    const reader = new ProviderReader(client, this.#options);
    this.#readers.set(name, reader);
    return reader;
  }

  /** Starts no more calls; those in flight still finish. */
  close(): void {
    for (const { client } of this.#readers.values()) client.close();
    this.#readers.clear();
  }
}
