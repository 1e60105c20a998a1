/**
 * Other commands of this program as child processes. Each has its own process group, so that Ctrl-C in the terminal
 * reaches only this process, which then stops them in order. If this process is killed, the children stop on their own
 * because their channel to it breaks (main.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ShardError } from '../base/errors.ts';
import { PROCESS_SETTINGS } from './process-settings.ts';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LINES_KEPT = 20;

export class ChildFailedError extends ShardError {
  readonly code = 'child_failed';
  readonly next = 'refuse-to-start';

  constructor(command: string, code: number | null, lastLine: string) {
    const how = code === null ? 'a signal' : `exit code ${code}`;
    super(`flotilla ${command} ended with ${how}: ${lastLine || 'no output'}`);
  }
}

export interface ChildOptions {
  /** Called for each line of its standard output, the first one included. */
  readonly onLine?: (line: string) => void;
  readonly onLogLine?: (line: string) => void;
  /** Defaults for variables that our own environment does not set. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class Child {
  readonly command: string;
  readonly exited: Promise<number | null>;
  readonly #process: ChildProcess;
  readonly #lines: string[] = [];
  readonly #firstLine: Promise<string>;

  constructor(command: string, flags: readonly string[], options: ChildOptions = {}) {
    const { onLine = () => {}, onLogLine = () => {}, environment = {} } = options;
    this.command = command;
    this.#process = spawn(process.execPath, [...process.execArgv, MAIN, command, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
      env: { ...PROCESS_SETTINGS, ...environment, ...process.env },
    });
    const child = this.#process;
    this.exited = new Promise((resolve) => {
      child.once('exit', resolve);
      child.once('error', () => resolve(null)); // the process could not be started
    });
    this.#firstLine = new Promise((resolve, reject) => {
      createInterface(child.stdout!).on('line', (line) => {
        resolve(line);
        this.#keep(line);
        onLine(line);
      });
      child.once('error', (error) => reject(new ChildFailedError(command, null, error.message)));
      child.once('close', (code) => reject(new ChildFailedError(command, code, this.lastLine)));
    });
    this.#firstLine.catch(() => {}); // callers of `ready` get the rejection; without them it must not end the process
    createInterface(child.stderr!).on('line', (line) => {
      this.#keep(line);
      onLogLine(line);
    });
  }

  /** Zero if the process could not be started. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get lastLine(): string {
    return this.#lines.at(-1) ?? '';
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** The first line, with which a command says that it is ready. Rejects with a ChildFailedError if it ends before. */
  ready(): Promise<string> {
    return this.#firstLine;
  }

  /** Sends SIGKILL. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Sends SIGTERM, and SIGKILL after the grace. */
  async stop(graceMs: number): Promise<void> {
    if (!this.isRunning) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs);
    await this.exited;
    clearTimeout(timer);
  }

  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_KEPT) this.#lines.shift();
  }
}
