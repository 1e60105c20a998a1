/** Invalid settings: all problems are reported at once, one line each, so that one start shows them all. */
import { ShardError } from '../base/errors.ts';

export interface Problem {
  /** As its source spells it: `--cycle-interval`, `FLOTILLA_CYCLE_INTERVAL`, `cycle-interval`. */
  readonly key: string;
  /** `command line`, `environment`, `shard.yaml:3`. */
  readonly origin: string;
  readonly what: string;
  readonly remedy: string;
}

export function problemLine({ key, origin, what, remedy }: Problem): string {
  return oneLine(`${key} (${origin}): ${what}. ${remedy}.`);
}

/** Values come from files and environments: a line feed in one must not start a line of its own. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').slice(0, LINE_LENGTH_MAX);
}

/** Long enough for a path and a sentence. */
const LINE_LENGTH_MAX = 1_000;

export class ConfigError extends ShardError {
  readonly code = 'config';
  readonly next = 'refuse-to-start';
  readonly problems: readonly Problem[];
  /** Exit code of a program that refuses its settings. */
  static readonly EXIT_CODE = 2;

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemLine).join('\n'));
    this.problems = problems;
  }
}

/** The known name that was probably meant, or null: at most two edits away, fewer for a short name. */
export function nearest(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.min(3, Math.ceil(name.length / 3) + 1);
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** No setting has a longer name, and the comparison takes quadratic time. */
const COMPARED_LENGTH_MAX = 64;

function editDistance(left: string, right: string): number {
  if (left.length > COMPARED_LENGTH_MAX) return Number.POSITIVE_INFINITY;
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const swap = previous[column - 1]! + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(swap, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[right.length]!;
}
