/** Text for terminals: colours (only if the output is a terminal), tables that fit its width, and redrawing. */
import { AskError } from './api-client.ts';

export interface Output {
  out(text: string): void;
  error(text: string): void;
  /** False for files and pipes. */
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
  /** Characters per line; 0 = unlimited. */
  readonly width: number;
}

export function processOutput(): Output {
  const { stdout } = process;
  // The reader may close the pipe early: `flotilla machines | head`.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const isTerminal = stdout.isTTY === true;
  return {
    out: (text) => void stdout.write(text),
    error: (text) => void process.stderr.write(text),
    isTerminal,
    hasColour: isTerminal && (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb',
    width: isTerminal ? stdout.columns : 0,
  };
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
export type Colour = keyof typeof CODES;

export type Paint = (colour: Colour, text: string) => string;

export function painter({ hasColour }: Output): Paint {
  return (colour, text) => (hasColour && text !== '' ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text);
}

/** The dashboard's colours of states, as closely as a terminal can show them. */
const STATE_COLOURS: Readonly<Record<string, Colour>> = {
  Configured: 'green',
  Configuring: 'cyan',
  Creating: 'magenta',
  Idle: 'yellow',
  Draining: 'yellow',
  Deleting: 'magenta',
  Failed: 'red',
  Speculative: 'dim',
};

export function stateColour(state: string): Colour {
  return STATE_COLOURS[state] ?? 'bold';
}

export interface Column {
  readonly name: string;
  readonly align?: 'right';
  /** Left out of a list on a terminal that has no room for it. */
  readonly isWide?: true;
  /** It names the row, so other texts are cut before it. */
  readonly isName?: true;
  readonly colour?: (text: string) => Colour | undefined;
}

/** Characters that a text column keeps at least, if its heading is shorter. */
const TEXT_CHARS_MIN = 8;

/**
 * Each column is as wide as its widest cell. Where that is too wide for the terminal, the widest texts are cut, names last, and
 * numbers never.
 */
export function tableText(
  output: Output,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const paint = painter(output);
  const widths = columns.map(({ name }, at) => {
    let widest = name.length;
    for (const row of rows) widest = Math.max(widest, row[at]!.length);
    return widest;
  });
  if (output.width > 0) fitWidths(columns, widths, output.width);
  const line = (cells: readonly string[], isHead: boolean): string => {
    let left = output.width === 0 ? Number.POSITIVE_INFINITY : output.width;
    const parts: string[] = [];
    for (const [at, whole] of cells.entries()) {
      if (left <= 0) break;
      const cell = whole.length > widths[at]! ? `${whole.slice(0, widths[at]! - 1)}…` : whole;
      const { align, colour } = columns[at]!;
      const isLast = at === cells.length - 1;
      const padded =
        isLast && align === undefined
          ? cell
          : align === 'right'
            ? cell.padStart(widths[at]!)
            : cell.padEnd(widths[at]!);
      const text = padded.slice(0, left);
      left -= text.length + 2;
      const chosen = isHead ? 'dim' : colour?.(whole);
      parts.push(chosen === undefined ? text : paint(chosen, text));
    }
    return parts.join('  ').trimEnd();
  };
  const head = line(
    columns.map(({ name }) => name),
    true,
  );
  return `${[head, ...rows.map((row) => line(row, false))].join('\n')}\n`;
}

function fitWidths(columns: readonly Column[], widths: number[], lineWidth: number): void {
  for (const namesToo of [false, true]) {
    for (;;) {
      const over = widths.reduce((sum, width) => sum + width + 2, -2) - lineWidth;
      if (over <= 0) return;
      const room = columns.map(({ name, align, isName }, at) =>
        align === 'right' || (isName === true && !namesToo)
          ? 0
          : widths[at]! - Math.max(name.length, TEXT_CHARS_MIN),
      );
      const cuttable = room.flatMap((left, at) => (left > 0 ? [at] : []));
      if (cuttable.length === 0) break;
      const widest = cuttable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
      widths[widest]!--;
    }
  }
}

/**
 * Redraws until the first Ctrl-C. An unreachable shard does not end the watch on a terminal; a refused query does.
 */
export async function drawRepeatedly(
  output: Output,
  everyMs: number,
  draw: () => Promise<string>,
): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    while (!stopping.signal.aborted) {
      const text = await draw().catch((error: unknown) => {
        if (error instanceof AskError && error.isPassing && output.isTerminal) return `${error.message}\n`;
        throw error;
      });
      output.out(output.isTerminal ? `\x1b[H\x1b[2J${text}` : text);
      await pause(everyMs, stopping.signal);
    }
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
