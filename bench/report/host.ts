/**
 * The machine that was measured on, and how busy it was. A figure from a shared machine means little without the load. The
 * load average includes a scenario's own threads, so the CPU time of all other processes is counted too.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';

export interface Host {
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
}

export interface Load {
  /** Highest and lowest one-minute average that was seen. */
  readonly highest: number;
  readonly lowest: number;
  /** Cores that other processes used on average; null where the system does not report it. */
  readonly otherCores: number | null;
}

const GIB = 2 ** 30;
const SAMPLE_MS = 1_000;
/** Linux reports CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

export function describeHost(): Host {
  return {
    cpuModel: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / GIB),
    system: `${type()} ${release()}`,
    node: process.version,
  };
}

/** Watches from its construction until `end`. Child processes that ended meanwhile count as measured, not as others. */
export class LoadWatch {
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  readonly #before = otherSeconds();
  #highest = loadavg()[0]!;
  #lowest = this.#highest;

  constructor() {
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS).unref();
  }

  end(): Load {
    clearInterval(this.#timer);
    this.#look();
    const after = otherSeconds();
    const elapsedSeconds = (performance.now() - this.#startedMs) / 1_000;
    const isKnown = this.#before !== null && after !== null && elapsedSeconds > 0;
    return {
      highest: this.#highest,
      lowest: this.#lowest,
      otherCores: isKnown ? Math.max(0, (after - this.#before!) / elapsedSeconds) : null,
    };
  }

  #look(): void {
    const load = loadavg()[0]!;
    this.#highest = Math.max(this.#highest, load);
    this.#lowest = Math.min(this.#lowest, load);
  }
}

/** CPU seconds of all processes except this one and its ended children. */
function otherSeconds(): number | null {
  try {
    const all = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/).slice(1).map(Number);
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = all;
    // The name in brackets may contain any character; only numbers follow the last bracket.
    const own = readFileSync('/proc/self/stat', 'utf8')
      .split(') ')
      .at(-1)!
      .split(' ')
      .slice(11, 15)
      .map(Number);
    const ownTicks = own.reduce((sum, ticks) => sum + ticks, 0);
    return (user + nice + system + irq + softirq + steal - ownTicks) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}
