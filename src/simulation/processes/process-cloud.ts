/**
 * A cloud whose machines are processes on this host: a created machine is a shell that waits, Configure gives it its bootstrap
 * blob to run, Drain ends the script in order and starts a new shell, Delete ends the shell. It shows what a provider does
 * with a blob, and it runs what clusters send: use it with clusters that you trust.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Cloud,
  ConfigureOrder,
  DrainOrder,
  Order,
  ProviderMachine,
  Sighting,
} from '../../provider-kit/cloud.ts';
import { MachineProcess, type ProcessMark } from './machine-process.ts';
import { showLines } from './show-lines.ts';

export interface ProcessCloudOptions {
  /** Two files for each process: what the next provider needs to find it, and its output. */
  readonly directory: string;
  /** A line for people. */
  readonly say: (line: string) => void;
  /** After this long a machine whose script ended on its own has a new shell. Default: 10 s. */
  readonly repairAfterMs?: number;
}

type Report = (machineId: string, sighting: Sighting) => Promise<boolean>;

/** For a script that ends on its own when it is told to. */
const DELETE_GRACE_MS = 5_000;
const REPAIR_AFTER_MS = 10_000;

export class ProcessCloud implements Cloud {
  readonly #options: ProcessCloudOptions;
  readonly #processes = new Map<string, MachineProcess>();
  readonly #repairs = new Set<NodeJS.Timeout>();
  #report: Report = async () => false;
  #isClosed = false;

  constructor(options: ProcessCloudOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  }

  /** Where scripts that end on their own are reported. */
  reportTo(report: Report): void {
    this.#report = report;
  }

  async create({ machine: { id } }: Order): Promise<string> {
    const { mark } = await this.#start(id);
    this.#options.say(`${id} created: process ${mark.pid} waits for a bootstrap blob`);
    return `process/${id}`;
  }

  async configure({ machine: { id }, cluster, bootstrapBlob }: ConfigureOrder): Promise<void> {
    const known = this.#processes.get(id);
    const running = known?.isWaiting ? known : await this.#start(id);
    this.#options.say(
      `${id} bound to ${cluster}: process ${running.mark.pid} runs a blob of ${bootstrapBlob.length} bytes`,
    );
    try {
      await running.run(cluster, bootstrapBlob);
    } catch (error) {
      this.#repairLater(id);
      throw error;
    }
  }

  async drain({ machine: { id, cluster }, gracePeriodSeconds, signal }: DrainOrder): Promise<void> {
    const running = this.#processes.get(id);
    if (running !== undefined) {
      this.#processes.delete(id); // its end is expected
      const ending = await running.end(gracePeriodSeconds * 1_000, signal);
      this.#options.say(`${id} drained from ${cluster}: process ${running.mark.pid} ended with ${ending}`);
    }
    await this.#start(id);
  }

  async delete({ machine: { id } }: Order): Promise<void> {
    const running = this.#processes.get(id);
    this.#processes.delete(id);
    const ending = await running?.end(DELETE_GRACE_MS);
    for (const what of ['json', 'output'] as const) rmSync(this.#fileOf(id, what), { force: true });
    this.#options.say(
      `${id} deleted: process ${running?.mark.pid ?? '?'} is gone (${ending ?? 'it had ended'})`,
    );
  }

  /** A shell without a blob does not outlive its provider, so a process that is still there runs its script. */
  async inspect({ id, cluster }: ProviderMachine): Promise<Sighting> {
    const mark = this.#read(id);
    const found = mark === null ? null : MachineProcess.find(mark);
    if (found === null) {
      this.#options.say(`${id} is gone: its process has ended`);
      return { state: 'gone' };
    }
    if (cluster === '') {
      await found.end(DELETE_GRACE_MS);
      return { state: 'gone' };
    }
    this.#options.say(`${id} still runs for ${cluster}: process ${found.mark.pid}`);
    this.#watch(id, found);
    return { state: 'configured' };
  }

  /** Ends all processes. Call it after the provider has closed. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#repairs) clearTimeout(timer);
    const all = [...this.#processes.values()];
    await Promise.all(all.map((running) => running.end(graceMs)));
  }

  /** For the last moment of a process that ends unexpectedly. */
  killAll(): void {
    for (const running of this.#processes.values()) running.signal('SIGKILL');
  }

  async #start(id: string): Promise<MachineProcess> {
    const outputPath = this.#fileOf(id, 'output');
    const started = await MachineProcess.start(id, outputPath);
    writeFileSync(this.#fileOf(id, 'json'), JSON.stringify(started.mark), { mode: 0o600 });
    const stopShowing = showLines(outputPath, (line) => this.#options.say(`${id} | ${line}`));
    void started.ended.then(stopShowing);
    this.#watch(id, started);
    return started;
  }

  #watch(id: string, running: MachineProcess): void {
    this.#processes.set(id, running);
    void running.ended.then(async (ending) => {
      if (this.#isClosed || this.#processes.get(id) !== running) return;
      this.#processes.delete(id);
      const reason = `process ${running.mark.pid} ended with ${ending}`;
      if (!(await this.#report(id, { state: 'failed', reason }))) return; // an operation on it notices
      this.#options.say(`${id} failed: ${reason}`);
      this.#repairLater(id);
    });
  }

  /** What a rack controller does with a machine that hung: it restarts it. */
  #repairLater(id: string): void {
    const timer = setTimeout(() => {
      this.#repairs.delete(timer);
      this.#repair(id).catch((error: Error) => {
        this.#options.say(`${id} cannot be repaired: ${error.message}`);
        this.#repairLater(id);
      });
    }, this.#options.repairAfterMs ?? REPAIR_AFTER_MS);
    this.#repairs.add(timer);
  }

  async #repair(id: string): Promise<void> {
    const { mark } = await this.#start(id);
    if (await this.#report(id, { state: 'idle' })) this.#options.say(`${id} repaired: process ${mark.pid}`);
  }

  #read(id: string): ProcessMark | null {
    try {
      return JSON.parse(readFileSync(this.#fileOf(id, 'json'), 'utf8')) as ProcessMark;
    } catch {
      return null;
    }
  }

  #fileOf(id: string, what: 'json' | 'output'): string {
    return join(this.#options.directory, `${encodeURIComponent(id)}.${what}`);
  }
}
