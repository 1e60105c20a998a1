/**
 * `npm run soak`: runs a shard, its provider and its clusters for a given time, samples them, judges whether anything grew
 * and writes the results. It ends after that time, at SIGINT or SIGTERM, or when one of the programs ends, and then ends the
 * other programs.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT_FAILED, EXIT_OK, exitCodeOf } from '../../src/cli/exit.ts';
import { describeHost, LoadWatch } from '../report/host.ts';
import { writeGenerated } from '../report/record.ts';
import { describeVersion } from '../report/version.ts';
import { formatFigure } from '../terminal.ts';
import { parseSoakFlags, SOAK_HELP, type SoakPlan } from './flags.ts';
import { type SoakSample, SoakSampler } from './samples.ts';
import { SOAK_FILE, type SoakRecord, soakPlots, soakSection } from './section.ts';
import { judge, medianOf, pointsOf, type Verdict } from './verdicts.ts';
import { SoakWorld } from './world.ts';

const SAMPLES_FILE = 'soak-samples.jsonl';

async function soak(plan: SoakPlan): Promise<number> {
  const folder = plan.outFolder ?? mkdtempSync(join(tmpdir(), 'flotilla-soak-results-'));
  mkdirSync(folder, { recursive: true });
  const world = new SoakWorld();
  const startedAt = new Date().toISOString();
  const version = describeVersion();
  const watch = new LoadWatch();
  const samples: SoakSample[] = [];
  let ending = '';
  const signalled = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => resolve());
  });
  try {
    const started = await Promise.race([
      world.start(plan, say).then(() => true),
      signalled.then(() => false),
    ]);
    if (started)
      ending = await sampleUntilTheEnd(plan, world, join(folder, SAMPLES_FILE), samples, signalled);
  } finally {
    say('ending the programs');
    await world.stop();
  }
  const record = recordOf(plan, samples, { startedAt, version, load: watch.end(), ending });
  await writeGenerated(folder, SOAK_FILE, record);
  writeFileSync(join(folder, 'soak.md'), `${soakSection(record, '.')}\n`);
  for (const [name, svg] of soakPlots(record)) writeFileSync(join(folder, name), svg);
  say(record.headline);
  for (const line of record.violations) say(`VIOLATION ${line}`);
  say(`results are in ${folder}`);
  return record.violations.length === 0 ? EXIT_OK : EXIT_FAILED;
}

/** Resolves with the reason for an early end; '' if there was none, or a signal ended it. */
async function sampleUntilTheEnd(
  plan: SoakPlan,
  world: SoakWorld,
  file: string,
  samples: SoakSample[],
  signalled: Promise<void>,
): Promise<string> {
  const { shard, ...others } = world.pids;
  const sampler = new SoakSampler(shard, others, world.http);
  world.onOperatorsLine = (line) => sampler.readReport(line);
  rmSync(file, { force: true });
  let ending: string | null = null;
  void world.anyEnds().then((text) => {
    ending ??= text;
  });
  void signalled.then(() => {
    ending ??= '';
  });
  const beganMs = performance.now();
  const elapsedSeconds = () => (performance.now() - beganMs) / 1_000;
  while (ending === null && elapsedSeconds() < plan.minutes * 60) {
    await Promise.race([new Promise((resolve) => setTimeout(resolve, plan.sampleEveryMs)), signalled]);
    const sample = await sampler.sample(elapsedSeconds());
    samples.push(sample);
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
    if (samples.length % 6 === 0) say(lineOf(sample));
  }
  return ending ?? '';
}

function recordOf(
  plan: SoakPlan,
  samples: readonly SoakSample[],
  {
    startedAt,
    version,
    load,
    ending,
  }: Pick<SoakRecord, 'startedAt' | 'version' | 'load'> & { readonly ending: string },
): SoakRecord {
  const { machines, clusters, churn, latency, minutes: minutesWanted, warmUpSeconds } = plan;
  const judgement = judge(samples, warmUpSeconds);
  const violations = ending === '' ? judgement.violations : [ending, ...judgement.violations];
  const minutes = (samples.at(-1)?.elapsedSeconds ?? 0) / 60;
  const rss = judgement.verdicts.find(({ unit }) => unit === 'MB');
  const judged = samples.filter(({ elapsedSeconds }) => elapsedSeconds >= warmUpSeconds);
  const median = (figure: 'bindsPerSecond' | 'bindP99Ms' | 'bindIdleP99Ms' | 'loopDelayP99Ms') =>
    formatFigure(Math.round(medianOf(pointsOf(judged, figure)) * 10) / 10);
  const drift = driftText(rss);
  return {
    ...{ machines, clusters, churn, latency, minutesWanted, warmUpSeconds, startedAt, load },
    minutes,
    command: commandOf(plan),
    version,
    host: describeHost(),
    verdicts: judgement.verdicts,
    violations,
    headline:
      `Soak of ${formatFigure(Math.round(minutes * 10) / 10)} minutes, ${formatFigure(machines)} machines, ${formatFigure(clusters)} clusters, ` +
      `${churn} of the demand changed every ten seconds: the shard used ${formatFigure(Math.round(rss?.first ?? 0))} MB, ${drift}; ` +
      `${median('bindsPerSecond')} bindings/s with a p99 latency of ${median('bindP99Ms')} ms, ${median('bindIdleP99Ms')} ms where an Idle machine was found; event-loop delay p99 ${median('loopDelayP99Ms')} ms.`,
    samples,
  };
}

function driftText(rss: Verdict | undefined): string {
  if (rss === undefined) return 'too short to judge';
  const percent = (rss.last / rss.first - 1) * 100;
  return `${Math.abs(percent).toFixed(1)} % ${percent < 0 ? 'less' : 'more'} at the end`;
}

function lineOf({ elapsedSeconds, rssMb, queued, inFlight, readsWaiting, ...rest }: SoakSample): string {
  const figures: readonly (readonly [string, number | null])[] = [
    ['rss MB', rssMb],
    ['heap MB', rest.heapMb],
    ['queued', queued],
    ['in flight', inFlight],
    ['reads waiting', readsWaiting],
    ['wanting', rest.wanting],
    ['loop p99 ms', rest.loopDelayP99Ms],
    ['cycle ms', rest.cycleMeanMs],
    ['binds/s', rest.bindsPerSecond],
    ['bind p99 ms', rest.bindP99Ms],
    ['idle p99 ms', rest.bindIdleP99Ms],
    ['waited p99 ms', rest.bindWaitedP99Ms],
    ['load', rest.load],
  ];
  const words = figures.map(
    ([name, value]) => `${name} ${value === null ? '–' : formatFigure(Math.round(value * 10) / 10)}`,
  );
  return `${Math.round(elapsedSeconds)} s  ${words.join('  ')}`;
}

function commandOf({ minutes, machines, clusters, churn }: SoakPlan): string {
  return `npm run soak -- --minutes ${minutes} --machines ${machines} --clusters ${clusters} --churn ${churn}`;
}

function say(line: string): void {
  process.stderr.write(`soak: ${line}\n`);
}

process.exitCode = await exitCodeOf('soak', async () => {
  const plan = parseSoakFlags(process.argv.slice(2));
  if (plan !== null) return soak(plan);
  process.stdout.write(SOAK_HELP);
  return EXIT_OK;
});
