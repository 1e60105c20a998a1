/**
 * docs/results.md and its plots, rendered from the stored records alone. The same records give the same page, so a test
 * can detect a figure that was edited by hand.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type SoakRecord, soakPlots, soakSection } from '../soak/section.ts';
import { formatFigure } from '../terminal.ts';
import { growthCurve } from './growth.ts';
import { table } from './markdown.ts';
import type { RunRecord } from './record.ts';
import { ratiosSection, scenarioSection, slowSection, targetsSection } from './sections.ts';

/** Beside the page. */
const IMAGE_FOLDER = 'images/results';

export interface Page {
  readonly markdown: string;
  /** By path, relative to the page. */
  readonly images: ReadonlyMap<string, string>;
}

export function renderPage(records: readonly RunRecord[], soak: SoakRecord | null): Page {
  const images = new Map<string, string>();
  const whole = records.filter(({ isGrowth }) => !isGrowth);
  const curves = [...new Set(records.map(({ scenario }) => scenario))].flatMap((scenario) => {
    const curve = growthCurve(
      records.filter((record) => record.scenario === scenario),
      IMAGE_FOLDER,
    );
    return curve === null ? [] : [curve];
  });
  for (const { imageName, svg } of curves) images.set(`${IMAGE_FOLDER}/${imageName}`, svg);
  if (soak !== null) {
    for (const [name, svg] of soakPlots(soak)) images.set(`${IMAGE_FOLDER}/${name}`, svg);
  }
  const parts = [
    '# Results',
    'Written by `npm run bench -- --report` from the measurements in `bench/results`; do not edit. [bench/README.md](../bench/README.md) explains the scenarios. The figures are medians and 99th percentiles; with fewer than 100 samples the latter is nearly the maximum.',
    hostSection(records),
    slowSection(records),
    targetsSection(whole),
    ratiosSection(records),
    ...(curves.length === 0
      ? []
      : [
          '## Growth',
          'Both axes are logarithmic: a flat line does not depend on the size of the fleet, a diagonal line grows in proportion to it.',
          ...curves.map(({ markdown }) => markdown),
        ]),
    ...(soak === null ? [] : [soakSection(soak, IMAGE_FOLDER)]),
    '## Every scenario',
    ...whole.map(scenarioSection),
  ];
  return { markdown: `${parts.join('\n\n')}\n`, images };
}

export async function writePage(pageFile: string, page: Page): Promise<void> {
  await mkdir(dirname(pageFile), { recursive: true });
  for (const [path, svg] of page.images) {
    const file = join(dirname(pageFile), path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, svg);
  }
  await writeFile(pageFile, page.markdown);
}

function hostSection(records: readonly RunRecord[]): string {
  const first = records[0];
  if (first === undefined) return 'There are no measurements yet.';
  const starts = records.map(({ startedAt }) => startedAt).sort();
  const tookMinutes = records.reduce((sum, { tookSeconds }) => sum + tookSeconds, 0) / 60;
  const { host } = first;
  const rows = [
    ['processor', `${host.cores} × ${host.cpuModel}`],
    ['memory', `${host.memoryGib} GiB`],
    ['system', host.system],
    ['Node', host.node],
    [
      'measured',
      `${starts[0]!.slice(0, 16)} to ${starts.at(-1)!.slice(0, 16)} UTC, ${formatFigure(tookMinutes)} minutes in all`,
    ],
    ['versions', [...new Set(records.map(({ version }) => version))].join(', ')],
    ['load average', loadRange(records)],
    [
      'to repeat all measurements',
      '`npm run bench -- --all --report`; the command of each scenario stands with its figures',
    ],
  ];
  return ['## The machine', table(['', ''], rows, 'll'), ...loadWarning(records)].join('\n\n');
}

function loadRange(records: readonly RunRecord[]): string {
  const lowest = Math.min(...records.map(({ load }) => load.lowest));
  const highest = Math.max(...records.map(({ load }) => load.highest));
  const others = records.flatMap(({ load }) => (load.otherCores === null ? [] : [load.otherCores]));
  const most = others.length === 0 ? '' : `; others used up to ${Math.max(...others).toFixed(2)} cores`;
  return `${lowest.toFixed(1)} to ${highest.toFixed(1)}, the scenarios included${most}`;
}

/** The load includes the scenario's own threads and processes; the share of others is shown beside it. */
function loadWarning(records: readonly RunRecord[]): string[] {
  const busy = records.filter(({ load, host }) => load.highest > host.cores);
  if (busy.length === 0) return [];
  const names = busy.map(
    ({ scenario, load, params, isGrowth }) =>
      `${scenario}${isGrowth ? ` at ${formatFigure(params.machines)}` : ''} (${load.highest.toFixed(1)})`,
  );
  return [
    `> **Busy machine.** The load average was above the number of cores during ${busy.length} of ${records.length} measurements. Their times, and above all their tails, are longer than on a quiet machine, which may meet targets that are missed here. ${names.join(', ')}.`,
  ];
}
