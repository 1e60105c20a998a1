/** The real programs as child processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TAMPER_VARIABLE } from './tamper.ts';

const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
const TAMPER = new URL('./tamper.js', import.meta.url).href;
const LINES_KEPT = 200;

export class Program {
  readonly command: string;
  readonly exited: Promise<number | null>;
  /** The last lines of stdout and stderr. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #firstLine: Promise<string>;

  /** `tamperFile` controls its clock and its threads (tamper.ts). */
  constructor(command: string, flags: readonly string[], tamperFile = '') {
    this.command = command;
    const loaded = tamperFile === '' ? [] : ['--import', TAMPER];
    const child = spawn(process.execPath, [...loaded, MAIN, command, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: tamperFile === '' ? process.env : { ...process.env, [TAMPER_VARIABLE]: tamperFile },
    });
    this.#child = child;
    this.exited = new Promise((resolve) => child.once('exit', resolve));
    this.#firstLine = new Promise((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => {
        this.#keep(line);
        resolve(line);
      });
      void this.exited.then((code) =>
        reject(new Error(`flotilla ${command} ended with ${code}: ${this.lines.slice(-3).join(' / ')}`)),
      );
    });
    this.#firstLine.catch(() => {}); // a caller of firstLine() still gets the error
    createInterface(child.stderr).on('line', (line) => this.#keep(line));
  }

  firstLine(): Promise<string> {
    return this.#firstLine;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#child.kill('SIGKILL'); // also ends a stopped process
    await this.exited;
  }

  #keep(line: string): void {
    this.lines.push(line);
    if (this.lines.length > 2 * LINES_KEPT) this.lines.splice(0, LINES_KEPT);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
