/**
 * Line plots as SVG text. Written here because a plot is forty lines of markup and a charting library is a megabyte. A media
 * query and a transparent background make them fit light and dark pages.
 */
import { type ScaleKind, scaleOf } from './scale.ts';

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Plot {
  /** Also the label for screen readers. */
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly xScale: ScaleKind;
  readonly yScale: ScaleKind;
  readonly series: readonly Series[];
  /** A few points get marks; a line of hundreds is drawn without. */
  readonly hasMarks: boolean;
  formatX(value: number): string;
  formatY(value: number): string;
}

const WIDTH = 760;
const HEIGHT = 320;
const LEFT = 78;
const RIGHT = 20;
const TOP = 56;
const BOTTOM = 48;
const LEGEND_LETTER = 6.6;
const LEGEND_SWATCH = 34;
/** There are this many colours that can be told apart on light and dark pages. */
export const SERIES_MAX = 6;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #57626f }
.name { fill: #18212c }
.grid { stroke: #dde2e8; stroke-width: 1 }
.axis { stroke: #8b97a5; stroke-width: 1 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
.s0 { stroke: #3b76d6; color: #3b76d6 } .s1 { stroke: #1f9a80; color: #1f9a80 } .s2 { stroke: #c48a00; color: #c48a00 }
.s3 { stroke: #b9508e; color: #b9508e } .s4 { stroke: #7d66dc; color: #7d66dc } .s5 { stroke: #6d7885; color: #6d7885 }
.mark { fill: currentColor; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #9ba7b5 }
  .name { fill: #e4e9ef }
  .grid { stroke: #2b333e }
  .axis { stroke: #6d7885 }
  .s0 { stroke: #6ea2f5; color: #6ea2f5 } .s1 { stroke: #4fc7ae; color: #4fc7ae } .s2 { stroke: #e5b53f; color: #e5b53f }
  .s3 { stroke: #e085b8; color: #e085b8 } .s4 { stroke: #a796f2; color: #a796f2 } .s5 { stroke: #a3aebb; color: #a3aebb }
}`;

export function renderPlot(plot: Plot): string {
  const series = plot.series.slice(0, SERIES_MAX).map(({ name, points }) => ({
    name,
    points: points.filter(([x, y]) => isPlaceable(plot.xScale, x) && isPlaceable(plot.yScale, y)),
  }));
  const xScale = scaleOf(
    plot.xScale,
    series.flatMap(({ points }) => points.map(([x]) => x)),
  );
  const yScale = scaleOf(
    plot.yScale,
    series.flatMap(({ points }) => points.map(([, y]) => y)),
  );
  const xAt = (value: number) => rounded(LEFT + xScale.at(value) * (WIDTH - LEFT - RIGHT));
  const yAt = (value: number) => rounded(HEIGHT - BOTTOM - yScale.at(value) * (HEIGHT - TOP - BOTTOM));
  const [left, right, bottom] = [LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(plot.title)}">`,
    `<title>${escaped(plot.title)}</title>`,
    `<style>${STYLE}\n</style>`,
  ];
  for (const tick of yScale.ticks) {
    const y = yAt(tick);
    lines.push(`<line class="grid" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>`);
    lines.push(text(left - 8, y + 4, 'end', plot.formatY(tick)));
  }
  for (const tick of xScale.ticks) {
    const x = xAt(tick);
    lines.push(`<line class="axis" x1="${x}" x2="${x}" y1="${bottom}" y2="${bottom + 4}"/>`);
    lines.push(text(x, bottom + 18, 'middle', plot.formatX(tick)));
  }
  lines.push(`<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`);
  lines.push(text((left + right) / 2, HEIGHT - 8, 'middle', plot.xLabel));
  lines.push(text(8, TOP - 14, 'start', plot.yLabel));
  let legendX = 8;
  for (const [index, { name, points }] of series.entries()) {
    lines.push(`<line class="line s${index}" x1="${legendX}" x2="${legendX + 20}" y1="16" y2="16"/>`);
    lines.push(text(legendX + 26, 20, 'start', name, 'name'));
    legendX += LEGEND_SWATCH + Math.ceil(name.length * LEGEND_LETTER) + 10;
    const path = points.map(([x, y]) => `${xAt(x)},${yAt(y)}`).join(' ');
    lines.push(`<polyline class="line s${index}" points="${path}"/>`);
    if (!plot.hasMarks) continue;
    for (const [x, y] of points) {
      const title = `${escaped(name)}, ${escaped(plot.formatX(x))}: ${escaped(plot.formatY(y))}`;
      lines.push(
        `<circle class="mark s${index}" cx="${xAt(x)}" cy="${yAt(y)}" r="3.5"><title>${title}</title></circle>`,
      );
    }
  }
  return `${[...lines, '</svg>'].join('\n')}\n`;
}

function isPlaceable(kind: ScaleKind, value: number): boolean {
  return Number.isFinite(value) && (kind === 'linear' || value > 0);
}

function text(x: number, y: number, anchor: string, content: string, className = ''): string {
  const attribute = className === '' ? '' : ` class="${className}"`;
  return `<text x="${rounded(x)}" y="${rounded(y)}" text-anchor="${anchor}"${attribute}>${escaped(content)}</text>`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(content: string): string {
  return content.replaceAll(/[&<>"]/g, (letter) => ENTITIES[letter]!);
}
