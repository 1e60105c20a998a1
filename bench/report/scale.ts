/** Axes of a plot: map a value to 0 … 1 and choose the round values of the grid lines. */

export type ScaleKind = 'linear' | 'log';

export interface Scale {
  readonly ticks: readonly number[];
  /** 0 at the lower end, 1 at the upper. */
  at(value: number): number;
}

const TICKS_WANTED = 5;
/** Below this many decades a logarithmic axis needs lines between the powers of ten. */
const SPARSE_DECADES = 3;

export function scaleOf(kind: ScaleKind, values: readonly number[]): Scale {
  return kind === 'log' ? logScale(values) : linearScale(values);
}

/** Begins at zero: a plot that begins elsewhere makes noise look like growth. */
function linearScale(values: readonly number[]): Scale {
  const highest = Math.max(0, ...values) || 1;
  const step = roundStep(highest / TICKS_WANTED);
  const count = Math.ceil(highest / step - 1e-9);
  const ticks = Array.from({ length: count + 1 }, (_, index) => roundTo(index * step));
  const end = count * step;
  return { ticks, at: (value) => value / end };
}

/** Values at or below zero have no place on it; callers leave such points out. */
function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const low = positive.length === 0 ? 1 : Math.min(...positive);
  const high = positive.length === 0 ? 10 : Math.max(...positive);
  const decades = Math.log10(high / low);
  const factors = decades < SPARSE_DECADES ? [1, 2, 5] : [1];
  const candidates: number[] = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)) + 1; power++) {
    for (const factor of factors) candidates.push(roundTo(factor * 10 ** power));
  }
  const first = candidates.findLastIndex((tick) => tick <= low * (1 + 1e-9));
  const last = candidates.findIndex((tick) => tick >= high * (1 - 1e-9));
  const ticks = candidates.slice(first, Math.max(last, first + 1) + 1);
  const [start, end] = [Math.log10(ticks[0]!), Math.log10(ticks.at(-1)!)];
  return { ticks, at: (value) => (Math.log10(value) - start) / (end - start) };
}

function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= step * (1 - 1e-9))!;
  return factor * power;
}

/** So that a label is 0.3, not 0.30000000000000004. */
function roundTo(value: number): number {
  return Number(value.toPrecision(12));
}
