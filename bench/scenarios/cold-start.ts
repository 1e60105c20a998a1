/**
 * Question: how long is it from an empty shard to the first decision on the whole fleet? Each start is a new `flotilla shard`
 * process, with no compiled code, an empty data directory and the memory settings that it is shipped with. The provider is
 * another process, over gRPC on loopback, with 97 % of its machines bound. The time runs from the line that says the shard
 * serves, when it knows no machine, to the end of the first cycle that decides (C2: cycles skip the decision until the first
 * listing is complete), by the shard's own log. The time that Node and the modules take before is shown as well.
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
  const events = new Events();
  const calledMs = performance.now();
  const shard = new Child(
    'shard',
    [
      ...['--provider-addr', `bench=${provider}`, '--data-dir', dataDir, '--log-level', 'debug'],
      ...['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0', '--local-bootstrap'],
    ],
    { onLogLine: (line) => events.note(line) },
  );
  try {
    const http = (await shard.ready()).split(' http ')[1]!;
    const servesMs = performance.now();
    const listing = await events.first('listing');
    const cycle = await events.first('cycle');
    context.sample('cold start', 's', (cycle.atMs - servesMs) / 1_000);
    context.sample('until listed', 's', (listing.atMs - servesMs) / 1_000);
    context.sample('from the call until it serves', 's', (servesMs - calledMs) / 1_000);
    context.sample('from the call until the first decision', 's', (cycle.atMs - calledMs) / 1_000);
    context.sample('the first cycle', 'ms', cycle.line.ms!);
    const metrics = await scrape(http);
    context.sample('cpu of all threads', 's', metrics.get('process_cpu_seconds_total')!);
    context.check(listing.line.machines === context.params.machines, 'every machine was listed');
    context.check(!events.has('actions_held_back'), 'the cycle was not held back');
  } finally {
    await shard.stop(STOP_GRACE_MS);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface FirstLine {
  readonly line: LogLine;
  readonly atMs: number;
}

/** The first line of each event, and its time. */
class Events {
  readonly #first = new Map<string, FirstLine>();
  readonly #waiting = new Map<string, (first: FirstLine) => void>();

  note(text: string): void {
    if (!text.startsWith('{')) return;
    const line = JSON.parse(text) as LogLine;
    if (this.#first.has(line.event)) return;
    const first = { line, atMs: performance.now() };
    this.#first.set(line.event, first);
    this.#waiting.get(line.event)?.(first);
  }

  has(event: string): boolean {
    return this.#first.has(event);
  }

  first(event: string): Promise<FirstLine> {
    return new Promise((resolve, reject) => {
      const known = this.#first.get(event);
      if (known !== undefined) return resolve(known);
      const timer = setTimeout(() => reject(new Error(`no ${event} in ${START_MS_MAX} ms`)), START_MS_MAX);
      this.#waiting.set(event, (first) => {
        clearTimeout(timer);
        resolve(first);
      });
    });
  }
}
