/**
 * Question: how long is it from an empty shard to the first decision on the whole fleet? `flotilla shard` as a process of its own
 * each time, in which nothing is compiled yet, with an empty data directory and the settings of its memory that it is shipped with;
 * the provider is another process, over gRPC on loopback, with 97 % of its machines bound. From the line with which the shard says
 * that it serves, when it knows of no machine, to the end of the first cycle that is not held back (C2), by its own log. What Node
 * and the modules take before is shown as well, and with it the time from the call.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from '../../src/cli/children.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { ProviderProcess } from '../providers/process.ts';
import { scrape } from '../soak/settle.ts';

const STARTS = 5;
const STOP_GRACE_MS = 10_000;
const START_MS_MAX = 120_000;

export const scenario: Scenario = {
  name: 'cold-start',
  question: 'How long is it from an empty shard to the first decision on the whole fleet?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [{ name: 'to the first decision', metric: 'cold start', limit: 5, direction: 'below' }],
  async run(context) {
    const provider = await ProviderProcess.startBound(context);
    try {
      for (let start = 1; start <= STARTS; start++) {
        context.progress(`start ${start} of ${STARTS}`);
        await coldStart(context, provider.address);
      }
    } finally {
      await provider.close();
    }
  },
};

interface LogLine {
  readonly event: string;
  readonly ms?: number;
  readonly machines?: number;
}

async function coldStart(context: BenchContext, provider: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'flotilla-cold-start-'));
  const heard = new Events();
  const calledMs = performance.now();
  const shard = new Child(
    'shard',
    [
      ...['--provider-addr', `bench=${provider}`, '--data-dir', dataDir, '--log-level', 'debug'],
      ...['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0', '--local-bootstrap'],
    ],
    { onLogLine: (line) => heard.note(line) },
  );
  try {
    const http = (await shard.ready()).split(' http ')[1]!;
    const servesMs = performance.now();
    const listing = await heard.first('listing');
    const cycle = await heard.first('cycle');
    context.sample('cold start', 's', (cycle.atMs - servesMs) / 1_000);
    context.sample('until listed', 's', (listing.atMs - servesMs) / 1_000);
    context.sample('from the call until it serves', 's', (servesMs - calledMs) / 1_000);
    context.sample('from the call until the first decision', 's', (cycle.atMs - calledMs) / 1_000);
    context.sample('the first cycle', 'ms', cycle.line.ms!);
    const metrics = await scrape(http);
    context.sample('cpu of all threads', 's', metrics.get('process_cpu_seconds_total')!);
    context.check(listing.line.machines === context.params.machines, 'every machine was listed');
    context.check(!heard.has('actions_held_back'), 'the cycle was not held back');
  } finally {
    await shard.stop(STOP_GRACE_MS);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface Heard {
  readonly line: LogLine;
  readonly atMs: number;
}

/** The first line of each event, and when it came. */
class Events {
  readonly #first = new Map<string, Heard>();
  readonly #waiting = new Map<string, (heard: Heard) => void>();

  note(text: string): void {
    if (!text.startsWith('{')) return;
    const line = JSON.parse(text) as LogLine;
    if (this.#first.has(line.event)) return;
    const heard = { line, atMs: performance.now() };
    this.#first.set(line.event, heard);
    this.#waiting.get(line.event)?.(heard);
  }

  has(event: string): boolean {
    return this.#first.has(event);
  }

  first(event: string): Promise<Heard> {
    return new Promise((resolve, reject) => {
      const known = this.#first.get(event);
      if (known !== undefined) return resolve(known);
      const timer = setTimeout(() => reject(new Error(`no ${event} in ${START_MS_MAX} ms`)), START_MS_MAX);
      this.#waiting.set(event, (heard) => {
        clearTimeout(timer);
        resolve(heard);
      });
    });
  }
}
