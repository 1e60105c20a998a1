/** What a shard process says about itself and its tenants, and how much memory it has used. */
import { readFileSync } from 'node:fs';

/** A hostile tenant may at most double the memory of a shard, or add this much to it. */
const MEMORY_GROWTH_BYTES_MAX = 256 * 1024 * 1024;

type TenantKind = 'cluster' | 'provider';

/** The part of /api/v1/tenants that is used here. */
export interface SeenTenant {
  readonly name: string;
  readonly refused: number;
  readonly lastReason: string;
  readonly byState: Readonly<Record<string, number>>;
  readonly cluster: { readonly rollupRows: number; readonly suspended: string } | null;
  readonly provider: { readonly listedMachines: number } | null;
}

export class ShardWitness {
  readonly #http: string;
  readonly #pid: number;

  /** `http` ends with a slash. */
  constructor(http: string, pid: number) {
    this.#http = http;
    this.#pid = pid;
  }

  /** '' or why the shard is not ready. */
  async notReady(): Promise<string> {
    const response = await this.#get('readyz');
    return response.ok ? '' : await response.text();
  }

  /** Null: the shard does not know it. */
  async tenant(kind: TenantKind, name: string): Promise<SeenTenant | null> {
    const response = await this.#get(`api/v1/tenants?kind=${kind}&prefix=${name}`);
    const { tenants } = (await response.json()) as { readonly tenants: readonly SeenTenant[] };
    return tenants.find((tenant) => tenant.name === name) ?? null;
  }

  /** The sum of a metric's samples whose labels contain this text. */
  async metric(name: string, label = ''): Promise<number> {
    const text = await (await this.#get('metrics')).text();
    const samples = text.split('\n').filter((line) => /^[^{ ]*/.exec(line)![0] === name);
    return samples
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** The most memory that the process has had; where the system does not tell, what it has now. */
  async memoryBytes(): Promise<number> {
    try {
      const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8');
      return 1_024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]);
    } catch {
      return await this.metric('process_resident_memory_bytes');
    }
  }

  /** '' or how the memory has grown beyond its bound. */
  async memoryOver(beforeBytes: number): Promise<string> {
    const bytes = await this.memoryBytes();
    const bytesMax = Math.max(2 * beforeBytes, beforeBytes + MEMORY_GROWTH_BYTES_MAX);
    if (bytes <= bytesMax) return '';
    const megabytes = (value: number) => `${Math.round(value / 1e6)} MB`;
    return `the shard took ${megabytes(bytes)} of memory after ${megabytes(beforeBytes)}; at most ${megabytes(bytesMax)} are allowed`;
  }

  /** On a connection of its own: the shard closes one that was idle for seconds, and a busy witness would then write to it. */
  #get(path: string): Promise<Response> {
    return fetch(`${this.#http}${path}`, { headers: { connection: 'close' } });
  }
}
