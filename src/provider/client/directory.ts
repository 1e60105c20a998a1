/**
 * All providers as one thread sees them, by name. Each has channels of its own, so one that is slow, broken
 * or gone holds up nobody else; a provider that this thread never calls costs no connection.
 */
import { assert } from '../../base/assert.ts';
import { ProviderClient, type ProviderClientOptions } from './client.ts';
import type { ProviderEndpoint } from './endpoint.ts';
import { FencingTokens, type SharedFencing } from './fencing.ts';
import { ProviderReader, type ProviderReaderOptions } from './reader.ts';

/** What a worker is started with; survives structured clone. */
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

  /** The provider's reader, made on first use. The name is one that the settings gave us. */
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

  /** Opens no more calls; those under way end by themselves. */
  close(): void {
    for (const { client } of this.#readers.values()) client.close();
    this.#readers.clear();
  }
}
