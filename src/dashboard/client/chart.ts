/**
 * Charts over time as inline SVG: stacked columns for values that add up, lines for others. A chart redraws on new data and
 * when its width changes. Under the pointer, or with the arrow keys, Home and End, it shows the values of one moment as
 * text, which screen readers announce. Below it the newest values are a table.
 */
import { fill, h, replaceRows, s } from './dom.ts';
import { clock, niceCeiling } from './format.ts';
import { labelled, table } from './parts.ts';

export interface Series {
  readonly name: string;
  /** CSS class that gives the colour. */
  readonly class: string;
}

export interface Point {
  readonly atMs: number;
  readonly values: readonly number[];
  /** Shown in the tooltip next to the time. */
  readonly note?: string;
}

export interface ChartOptions {
  readonly label: string;
  readonly kind: 'stack' | 'lines';
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const HEIGHT = 150;
const LEFT = 52;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;
const COLUMN_WIDTH_MIN = 5;
const WINDOW_MS_MIN = 120_000;
/** Rows of the table: at one cycle in ten seconds ten minutes. */
const ROWS_MAX = 60;

export class Chart {
  readonly element: HTMLElement;
  readonly #options: ChartOptions;
  readonly #svg = s('svg', { height: HEIGHT, 'aria-hidden': 'true' });
  readonly #tip = h('div', { class: 'tip', hidden: true, role: 'status' });
  readonly #frame: HTMLElement;
  #table: ReturnType<typeof table> | null = null;
  readonly #data: HTMLDetailsElement;
  #points: readonly Point[] = [];
  #columns: Point[] = [];
  #nowMs = 0;
  #chosen = -1;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#frame = h(
      'div',
      {
        class: 'frame',
        tabindex: 0,
        role: 'group',
        'aria-roledescription': 'chart',
        'aria-label': `${options.label}. Arrow keys read its values.`,
        pointermove: (event) => this.#point(event as PointerEvent),
        pointerleave: () => this.#choose(-1),
        blur: () => this.#choose(-1),
        keydown: (event) => this.#step(event as KeyboardEvent),
      },
      this.#svg,
      this.#tip,
    );
    const keys = options.series.map(({ name, class: colour }) =>
      h('li', {}, h('span', { class: `swatch ${colour}`, 'aria-hidden': 'true' }), name),
    );
    this.#data = h(
      'details',
      { class: 'data', toggle: () => this.#fillTable() },
      h('summary', { 'aria-label': `${options.label} as a table` }, 'as a table'),
    );
    this.element = h('div', { class: 'chart' }, h('ul', { class: 'keys' }, ...keys), this.#frame, this.#data);
    new ResizeObserver(() => this.#draw()).observe(this.#frame);
  }

  update(points: readonly Point[], nowMs: number): void {
    this.#points = points;
    this.#nowMs = nowMs;
    this.#draw();
    this.#fillTable();
  }

  get #headings() {
    const { series } = this.#options;
    return [{ name: 'Time' }, ...series.map(({ name }) => ({ name, class: 'number' }))];
  }

  #fillTable(): void {
    if (!this.#data.open) return;
    const { format, label } = this.#options;
    if (this.#table === null) {
      this.#table = table(this.#headings, `${label}, newest first`);
      this.#data.append(this.#table.element);
    }
    replaceRows(
      this.#table.body,
      this.#points.slice(-ROWS_MAX).toReversed(),
      ({ atMs }) => String(atMs),
      ({ atMs, values, note = '' }) => {
        const numbers = values.map((value) => h('td', { class: 'number' }, format(value)));
        return labelled(
          h('tr', {}, h('th', { scope: 'row', title: note }, clock(atMs)), ...numbers),
          this.#headings,
        );
      },
    );
  }

  get #width(): number {
    return Math.max(200, this.#frame.clientWidth);
  }

  #fromMs(): number {
    const first = this.#points[0]?.atMs ?? this.#nowMs;
    return Math.min(first, this.#nowMs - WINDOW_MS_MIN);
  }

  #x(atMs: number): number {
    const fromMs = this.#fromMs();
    const span = Math.max(1, this.#nowMs - fromMs);
    return LEFT + ((this.#width - LEFT - RIGHT) * (atMs - fromMs)) / span;
  }

  /** At most one point for every few pixels: the highest of those that share a column. */
  #gather(): void {
    const columns = new Map<number, Point>();
    for (const point of this.#points) {
      const at = Math.floor((this.#x(point.atMs) - LEFT) / COLUMN_WIDTH_MIN);
      const known = columns.get(at);
      if (known === undefined || this.#heightOf(point) >= this.#heightOf(known)) columns.set(at, point);
    }
    this.#columns = [...columns.values()];
  }

  #heightOf({ values }: Point): number {
    return this.#options.kind === 'stack'
      ? values.reduce((sum, value) => sum + value, 0)
      : Math.max(0, ...values);
  }

  #draw(): void {
    if (this.#nowMs === 0) return;
    this.#gather();
    const width = this.#width;
    const highest = this.#top();
    const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest);
    this.#svg.setAttribute('width', String(width));
    this.#svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    fill(
      this.#svg,
      ...[0, 0.5, 1].map((part) =>
        this.#line(y(part * highest), this.#options.format(part * highest), width),
      ),
      ...this.#times(width),
      ...(this.#options.kind === 'stack' ? this.#stacks(y) : this.#lines(y)),
      s('line', { class: 'cursor', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' }),
    );
    if (this.#chosen >= this.#columns.length) this.#chosen = -1;
    this.#showTip();
  }

  /** One cycle that is a hundred times slower must not flatten all others, so the axis cuts it off with a mark. */
  #top(): number {
    const heights = this.#columns.map((column) => this.#heightOf(column)).sort((a, b) => a - b);
    const most = heights.at(-1) ?? 0;
    const usual = heights[Math.floor(0.95 * (heights.length - 1))] ?? 0;
    return niceCeiling(this.#options.kind === 'stack' && usual > 0 && most > 4 * usual ? 1.5 * usual : most);
  }

  #line(y: number, text: string, width: number): SVGElement {
    return s(
      'g',
      {},
      s('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
      s('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, text),
    );
  }

  #times(width: number): SVGElement[] {
    const fromMs = this.#fromMs();
    const labels: readonly [number, string, string][] = [
      [LEFT, 'start', clock(fromMs)],
      [width - RIGHT, 'end', clock(this.#nowMs)],
    ];
    return labels.map(([x, anchor, text]) => s('text', { x, y: HEIGHT - 5, 'text-anchor': anchor }, text));
  }

  #stacks(y: (value: number) => number): SVGElement[] {
    const gaps = this.#columns
      .slice(1)
      .map(({ atMs }, index) => this.#x(atMs) - this.#x(this.#columns[index]!.atMs));
    const width = Math.max(2, Math.min(14, Math.min(...gaps, 14) - 1.5));
    return this.#columns.flatMap(({ atMs, values }) => {
      const x = Math.max(LEFT, this.#x(atMs) - width);
      let below = 0;
      const parts = values.flatMap((value, index) => {
        const top = Math.max(TOP, y(below + value));
        const height = Math.max(0, y(below) - top);
        below += value;
        if (height < 0.2) return [];
        return [s('rect', { class: this.#options.series[index]!.class, x, y: top, width, height })];
      });
      if (y(below) >= TOP - 0.5) return parts;
      const middle = x + width / 2;
      const points = `${middle - 4},${TOP + 1} ${middle + 4},${TOP + 1} ${middle},${TOP - 6}`;
      return [...parts, s('polygon', { class: 'cut', points })];
    });
  }

  #lines(y: (value: number) => number): SVGElement[] {
    const [only, second] = this.#columns;
    if (only !== undefined && second === undefined) {
      const x = this.#x(only.atMs);
      return this.#options.series.map(({ class: colour }, index) =>
        s('circle', { class: colour, cx: x, cy: y(only.values[index]!), r: 3 }),
      );
    }
    return this.#options.series.map(({ class: colour }, index) => {
      const points = this.#columns.map(
        ({ atMs, values }) => `${this.#x(atMs).toFixed(1)},${y(values[index]!).toFixed(1)}`,
      );
      return s('polyline', { class: `line ${colour}`, points: points.join(' ') });
    });
  }

  #point(event: PointerEvent): void {
    const x = event.clientX - this.#frame.getBoundingClientRect().left;
    let nearest = -1;
    let distance = Number.POSITIVE_INFINITY;
    for (const [index, { atMs }] of this.#columns.entries()) {
      const away = Math.abs(this.#x(atMs) - x);
      if (away < distance) [nearest, distance] = [index, away];
    }
    this.#choose(nearest);
  }

  #step(event: KeyboardEvent): void {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    const last = this.#columns.length - 1;
    if (event.key === 'Escape') this.#choose(-1);
    if (last >= 0 && (event.key === 'Home' || event.key === 'End')) {
      event.preventDefault();
      this.#choose(event.key === 'Home' ? 0 : last);
    }
    if (by === 0 || last < 0) return;
    event.preventDefault();
    const from = this.#chosen < 0 ? this.#columns.length - 1 - Math.max(0, by) : this.#chosen;
    this.#choose(Math.max(0, Math.min(this.#columns.length - 1, from + by)));
  }

  #choose(index: number): void {
    this.#chosen = index;
    this.#showTip();
  }

  #showTip(): void {
    const cursor = this.#svg.querySelector('.cursor');
    const point = this.#columns[this.#chosen];
    this.#tip.hidden = point === undefined;
    cursor?.setAttribute('visibility', point === undefined ? 'hidden' : 'visible');
    if (point === undefined || cursor === null) return;
    const x = this.#x(point.atMs);
    cursor.setAttribute('x1', String(x));
    cursor.setAttribute('x2', String(x));
    const { series, format } = this.#options;
    const rows = series.map(({ name, class: colour }, index) =>
      h(
        'li',
        {},
        h('span', { class: `swatch ${colour}` }),
        h('span', {}, name),
        h('span', { class: 'number' }, format(point.values[index]!)),
      ),
    );
    fill(
      this.#tip,
      h('p', {}, [clock(point.atMs), point.note ?? ''].filter((text) => text !== '').join(' · ')),
      h('ul', {}, ...rows),
    );
    const left = Math.min(x + 12, this.#width - this.#tip.offsetWidth - 4);
    this.#tip.style.left = `${x + 12 > this.#width - this.#tip.offsetWidth ? Math.max(0, x - this.#tip.offsetWidth - 12) : left}px`;
  }
}
