/** The real programs as separate processes over loopback, ended with the test that started them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { machineAt } from '../../src/listing/decode/rows.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { type MachineState, STATE_NAMES } from '../../src/machine/state.ts';
import { ProviderClient } from '../../src/provider/client/client.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { listBatch } from '../provider/list-batch.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export interface Program {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  /** What it has printed so far, both streams. */
  readonly output: string[];
  /** The first line of standard output. */
  readonly firstLine: Promise<string>;
}

export class Processes {
  /** Variables of the environment of processes that are started from now on. */
  environment: Readonly<Record<string, string>> = {};
  /** Files and sockets that each of them may have; null: as many as this process. */
  descriptorsMax: number | null = null;
  /** Whether a test writes to their standard input. */
  hasInput = false;
  readonly #children = new Set<ChildProcess>();
  readonly #folders: string[] = [];

  start(...words: string[]): Program {
    return this.script(MAIN, ...words);
  }

  script(path: string, ...words: string[]): Program {
    const command = [process.execPath, path, ...words];
    const limited = ['sh', '-c', `ulimit -n ${this.descriptorsMax} && exec "$@"`, 'sh', ...command];
    const [program, ...rest] = this.descriptorsMax === null ? command : limited;
    const child = spawn(program!, rest, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...this.environment },
    });
    if (!this.hasInput) child.stdin.end();
    this.#children.add(child);
    const output: string[] = [];
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', (code) => {
        this.#children.delete(child);
        resolve(code);
      });
    });
    const firstLine = new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        output.push(line);
        resolve(line);
      });
      void exited.then((code) => reject(new Error(`it ended with ${code}: ${output.join('\n')}`)));
    });
    firstLine.catch(() => {}); // the caller that awaits it gets the error
    createInterface(child.stderr).on('line', (line) => output.push(line));
    return { child, exited, output, firstLine };
  }

  async provider(...flags: string[]): Promise<{ program: Program; address: string }> {
    const program = this.start(
      'provider',
      ...(flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']),
      ...flags,
    );
    return { program, address: (await program.firstLine).slice('listening on '.length) };
  }

  async shard(providerAddress: string, ...flags: string[]): Promise<ShardProgram> {
    const dataDir = flags.includes('--data-dir') ? [] : ['--data-dir', this.folder()];
    const program = this.start(
      'shard',
      ...[
        '--provider-addr',
        providerAddress.includes('=') ? providerAddress : `sim=${providerAddress}`,
        '--listen',
        '127.0.0.1:0',
        '--metrics-addr',
        '127.0.0.1:0',
      ],
      ...dataDir,
      ...flags,
    );
    const [, address, http] = /^listening on (\S+) http (\S+)$/.exec(await program.firstLine)!;
    return { program, address: address!, http: http! };
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-'));
    this.#folders.push(folder);
    return folder;
  }

  /** Processes that a test left running. */
  async end(): Promise<void> {
    for (const child of this.#children) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

export interface ShardProgram {
  readonly program: Program;
  readonly address: string;
  readonly http: string;
}

/** The provider's own record of its machines. */
export class ProviderTruth {
  readonly #client: ProviderClient;

  constructor(address: string, tls?: TlsFiles) {
    const endpoint = { name: 'truth', address, ...(tls === undefined ? {} : { tls }) };
    this.#client = new ProviderClient(endpoint, FencingTokens.create('truth', 1));
  }

  async machines(): Promise<Machine[]> {
    const batch = await listBatch(this.#client);
    return Array.from({ length: batch.rowCount }, (_, row) => machineAt(batch, row));
  }

  async counts(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { state } of await this.machines()) {
      const name = STATE_NAMES[state as MachineState];
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  close(): void {
    this.#client.close();
  }
}

/** Polls until the condition holds; the error has the last value. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  holds: (seen: T) => boolean,
  timeoutMs = 60_000,
) {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    let seen: T | undefined;
    let failure = '';
    try {
      seen = await look();
      if (holds(seen)) return seen;
    } catch (error) {
      failure = (error as Error).message;
    }
    if (Date.now() > deadlineMs) {
      throw new Error(`${what}: not within ${timeoutMs} ms; last seen ${failure || JSON.stringify(seen)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A metric's samples, by label text; '' for one without labels. */
export async function metric(http: string, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${http}metrics`)).text();
  const samples: Record<string, number> = {};
  for (const line of text.split('\n')) {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match !== null && match[1] === name) samples[match[2] ?? ''] = Number(match[3]);
  }
  return samples;
}
