/**
 * The best assignment of free machines to what needs lack, as a mixed-integer program for HiGHS. It decides in two solves: as
 * few unmet needs as possible, the highest priority first, and then the lowest cost with as few. Credit is not its to change:
 * it starts from what the needs have.
 *
 *   x_i_j   need i gets machine j               y_i   need i is covered
 *   z_i_d   gang i is in domain d
 *
 * A solve that reaches its time limit gives the best assignment that it found, or none.
 */
import { createRequire } from 'node:module';
import type { Machine } from '../../src/machine/machine.ts';
import { Operator } from '../../src/needs/requirements.ts';
import { RACK_KEY } from '../../src/simulation/catalogue/hardware.ts';
import { costUsd, unmetByPriority } from './objective.ts';
import { fits, type SmallNeed } from './small-worlds.ts';

/** What a need lacks after credit. */
export interface Deficit {
  readonly need: SmallNeed;
  readonly lacking: Readonly<Record<string, number>>;
}

export interface Solution {
  readonly costUsd: number;
  readonly unmet: readonly number[];
  /** False: a time limit ended a solve, and there may be a better one. */
  readonly isProven: boolean;
}

/** More than the needs of one priority, so that one of a higher priority outweighs them all. */
const CLASS_WEIGHT = 16;
/** Terms of a line of the program; HiGHS reads at most 560 characters. */
const TERMS_PER_LINE = 12;

/** The part of HiGHS that is used here. */
export interface Highs {
  solve(
    program: string,
    options: { readonly time_limit: number; readonly output_flag: boolean },
  ): HighsResult;
}

interface HighsResult {
  readonly Status: string;
  readonly Columns: Readonly<Record<string, { readonly Primal?: number }>>;
}

/** Loaded here and not at the top: the list of scenarios loads this module, too. */
export async function loadSolver(): Promise<Highs> {
  // Its types describe the CommonJS module as if it were the other one.
  const load: () => Promise<Highs> = createRequire(import.meta.url)('highs');
  return load();
}

export function solveWorld(
  highs: Highs,
  free: readonly Machine[],
  deficits: readonly Deficit[],
  secondsMax: number,
): Solution | null {
  const program = new Program(free, deficits);
  const options = { time_limit: secondsMax, output_flag: false };
  const first = highs.solve(program.mostMet(), options);
  const met = deficits.map((_, index) => Math.round(first.Columns[`y_${index}`]?.Primal ?? 0) === 1);
  if (!isUsable(first.Status)) return null;
  const second = highs.solve(program.cheapest(met), options);
  if (!isUsable(second.Status)) return null;
  return {
    costUsd: program.costOf((name) => Math.round(second.Columns[name]?.Primal ?? 0) === 1),
    unmet: unmetByPriority(
      deficits.map(({ need }, index) => ({ priority: need.row.priority, isMet: met[index]! })),
    ),
    isProven: first.Status === 'Optimal' && second.Status === 'Optimal',
  };
}

function isUsable(status: string): boolean {
  return status === 'Optimal' || status === 'Time limit reached';
}

class Program {
  readonly #deficits: readonly Deficit[];
  readonly #pairs: { name: string; need: number; machine: Machine }[] = [];
  readonly #rows: string[] = [];
  readonly #binaries: string[] = [];

  constructor(free: readonly Machine[], deficits: readonly Deficit[]) {
    this.#deficits = deficits;
    const byMachine = new Map<Machine, string[]>();
    for (const [index, { need }] of deficits.entries()) {
      this.#binaries.push(`y_${index}`);
      for (const [place, machine] of free.entries()) {
        if (!fits(machine, need)) continue;
        const name = `x_${index}_${place}`;
        this.#pairs.push({ name, need: index, machine });
        this.#binaries.push(name);
        byMachine.set(machine, [...(byMachine.get(machine) ?? []), name]);
      }
    }
    for (const names of byMachine.values())
      this.#row(
        names.map((name) => [1, name]),
        '<= 1',
      );
    for (const index of deficits.keys()) this.#addNeed(index);
  }

  mostMet(): string {
    const priorities = [...new Set(this.#deficits.map(({ need }) => need.row.priority))].sort(
      (a, b) => a - b,
    );
    const weightOf = (priority: number) => CLASS_WEIGHT ** priorities.indexOf(priority);
    return this.#text(
      'Maximize',
      this.#deficits.map(({ need }, index) => [weightOf(need.row.priority), `y_${index}`]),
      [],
    );
  }

  /** As many needs of each priority as `met` has, at the lowest cost. */
  cheapest(met: readonly boolean[]): string {
    const counts = new Map<number, { names: string[]; least: number }>();
    for (const [index, { need }] of this.#deficits.entries()) {
      const ofClass = counts.get(need.row.priority) ?? { names: [], least: 0 };
      ofClass.names.push(`y_${index}`);
      ofClass.least += met[index] ? 1 : 0;
      counts.set(need.row.priority, ofClass);
    }
    const rows = [...counts.values()].map(
      ({ names, least }) => `${linear(names.map((name) => [1, name]))} >= ${least}`,
    );
    return this.#text(
      'Minimize',
      this.#pairs.map((pair) => [this.#costOfPair(pair), pair.name]),
      rows,
    );
  }

  costOf(isChosen: (name: string) => boolean): number {
    return this.#pairs.reduce((sum, pair) => sum + (isChosen(pair.name) ? this.#costOfPair(pair) : 0), 0);
  }

  #costOfPair({ need, machine }: { need: number; machine: Machine }): number {
    return costUsd(machine, this.#deficits[need]!.need.row.interruptionBucket);
  }

  #addNeed(index: number): void {
    const { need, lacking } = this.#deficits[index]!;
    const pairs = this.#pairs.filter((pair) => pair.need === index);
    for (const [dimension, units] of Object.entries(lacking)) {
      if (units === 0) continue;
      const terms = pairs.map(
        ({ name, machine }): Term => [(machine.capacity[dimension] ?? 0) / units, name],
      );
      this.#row([...terms, [-1, `y_${index}`]], '>= 0');
    }
    if (need.row.requirements.some(({ operator }) => operator === Operator.Same)) this.#addGang(index);
    if (need.row.spread.length > 0) this.#addSpread(index);
  }

  #addGang(index: number): void {
    const pairs = this.#pairs.filter((pair) => pair.need === index);
    const racks = [...new Set(pairs.map(({ machine }) => machine.labels[RACK_KEY]!))].sort();
    const chosen = racks.map((_, rack) => `z_${index}_${rack}`);
    this.#binaries.push(...chosen);
    this.#row(
      chosen.map((name) => [1, name]),
      '<= 1',
    );
    for (const { name, machine } of pairs)
      this.#row(
        [
          [1, name],
          [-1, chosen[racks.indexOf(machine.labels[RACK_KEY]!)]!],
        ],
        '<= 0',
      );
  }

  /** A4: no zone with a free machine may be ahead of another by more than the skew. */
  #addSpread(index: number): void {
    const pairs = this.#pairs.filter((pair) => pair.need === index);
    const zones = [...new Set(pairs.map(({ machine }) => machine.zone))].sort();
    const skew = this.#deficits[index]!.need.row.spread[0]!.maxSkew;
    for (const ahead of zones) {
      for (const behind of zones) {
        if (ahead === behind) continue;
        const terms = pairs
          .filter(({ machine }) => machine.zone === ahead || machine.zone === behind)
          .map(({ name, machine }): Term => [machine.zone === ahead ? 1 : -1, name]);
        this.#row(terms, `<= ${skew}`);
      }
    }
  }

  #row(terms: readonly Term[], bound: string): void {
    this.#rows.push(`${linear(terms)} ${bound}`);
  }

  #text(direction: string, objective: readonly Term[], rows: readonly string[]): string {
    const constraints = [...this.#rows, ...rows].map((row, index) => ` c${index}: ${row}`).join('\n');
    return `${direction}\n obj: ${linear(objective)}\nSubject To\n${constraints}\nBinary\n ${this.#binaries.join('\n ')}\nEnd\n`;
  }
}

type Term = readonly [factor: number, name: string];

function linear(terms: readonly Term[]): string {
  if (terms.length === 0) return '0 y_0';
  const texts = terms.map(
    ([factor, name]) => `${factor < 0 ? '-' : '+'} ${Math.abs(factor).toFixed(9)} ${name}`,
  );
  const lines: string[] = [];
  for (let at = 0; at < texts.length; at += TERMS_PER_LINE)
    lines.push(texts.slice(at, at + TERMS_PER_LINE).join(' '));
  return lines.join('\n  ');
}
