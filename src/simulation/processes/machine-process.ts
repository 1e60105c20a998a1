/**
 * A machine as a process: a shell that waits for its bootstrap blob on standard input and runs it as a script. The blob is on
 * no disk and in no argument list. Each has a process group of its own, which is signalled as a whole.
 *
 * A killed provider leaves its children behind. Shells that still wait see the end of their input and end; scripts go on. They
 * write into a file, because a pipe without a reader would end them. The next provider recognises them by process id and start
 * time: an id alone may belong to another process by then.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** What a later process needs to find this one again. */
export interface ProcessMark {
  readonly pid: number;
  /** In ticks since the system started. */
  readonly started: string;
}

/** How a process ended, for people. */
export type Ending = string;

/** A process that is not our child is looked at this often. */
const POLL_MS = 200;
/** A script that runs for this long has started. One that ends later fails then. */
const READY_MS = 300;
const OWNER_ONLY = 0o600;

export class MachineProcess {
  readonly mark: ProcessMark;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ending>;
  readonly #child: ChildProcess | null;
  #hasEnded = false;

  /** Resolves when the shell waits for its blob. Its output goes to `outputPath`. Rejects if it cannot be started. */
  static async start(id: string, outputPath: string): Promise<MachineProcess> {
    const output = openSync(outputPath, 'w', OWNER_ONLY);
    const child = spawn('/bin/sh', [], {
      detached: true,
      stdio: ['pipe', output, output],
      // No variable of the provider's own: it may hold credentials.
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', FLOTILLA_MACHINE: id },
      cwd: '/',
    });
    closeSync(output);
    child.stdin!.on('error', () => {}); // the script ended before it had read everything
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const ended = new Promise<Ending>((resolve) => {
      child.once('exit', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit code ${code}`));
    });
    return new MachineProcess({ pid: child.pid!, started: startOf(child.pid!) ?? '' }, child, ended);
  }

  /** A process that an earlier provider started; null if it is not there any more. */
  static find(mark: ProcessMark): MachineProcess | null {
    return isRunning(mark) ? new MachineProcess(mark, null, goneOf(mark)) : null;
  }

  private constructor(mark: ProcessMark, child: ChildProcess | null, ended: Promise<Ending>) {
    this.mark = mark;
    this.#child = child;
    this.ended = ended;
    void ended.then(() => {
      this.#hasEnded = true;
    });
  }

  /** Whether it still waits for a blob: only a child of this process can be given one. */
  get isWaiting(): boolean {
    return this.#child?.stdin?.writable === true && !this.#hasEnded;
  }

  /** Hands the blob over. Rejects if the script ends at once. */
  async run(cluster: string, blob: Uint8Array): Promise<void> {
    const child = this.#child!;
    child.stdin!.write(`export FLOTILLA_CLUSTER=${quoted(cluster)}\n`);
    child.stdin!.end(blob);
    const early = await Promise.race([this.ended, delay(READY_MS, null)]);
    if (early !== null) throw new Error(`the script of the bootstrap blob ended with ${early}`);
  }

  /** SIGTERM, and SIGKILL for what is left after the grace. Resolves when it has ended. */
  async end(graceMs: number, signal?: AbortSignal): Promise<Ending> {
    this.#child?.stdin?.end();
    this.signal('SIGTERM');
    const killer = new AbortController();
    const isOver = delay(graceMs, true, { signal: killer.signal }).catch(() => false);
    signal?.addEventListener('abort', () => killer.abort(), { once: true });
    const ending = await Promise.race([this.ended, isOver.then(() => null)]);
    killer.abort();
    this.signal('SIGKILL'); // also what the script has left in its group
    return ending ?? this.ended;
  }

  /** To the whole group. The id of a process that is not our child may belong to another one by now. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#child === null && !isRunning(this.mark)) return;
    try {
      process.kill(-this.mark.pid, name);
    } catch {} // there is no process left in the group
  }
}

/** Null if there is no such process, or it has ended and waits for its parent. */
function startOf(pid: number): string | null {
  try {
    // The name, in brackets, may contain anything; the third field is the state, the 22nd the start time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? null : fields[19]!;
  } catch {
    return null;
  }
}

function isRunning({ pid, started }: ProcessMark): boolean {
  return started !== '' && startOf(pid) === started;
}

async function goneOf(mark: ProcessMark): Promise<Ending> {
  while (isRunning(mark)) await delay(POLL_MS, undefined, { ref: false });
  return 'an unknown code (another process started it)';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
