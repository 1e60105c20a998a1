/**
 * `flotilla top` on a terminal: the summary above, and below it a list to go through with the keys. It reads again every few
 * seconds and after every key that asks for something else.
 */
import { EXPLAIN } from '../explain.ts';
import { AskError } from '../inspect/api-client.ts';
import { type CommandContext, Flags } from '../inspect/command.ts';
import { type Output, painter } from '../inspect/terminal.ts';
import { FIRST_SCREEN, keysIn, press, type Screen } from './keys.ts';
import { type Filled, LISTS } from './lists.ts';

/** The part of a terminal's input that is used. */
export interface Keyboard {
  setRawMode?(isRaw: boolean): unknown;
  on(event: 'data', listener: (typed: Buffer | string) => void): unknown;
  off(event: 'data', listener: (typed: Buffer | string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

export interface TopOptions {
  readonly keyboard: Keyboard;
  readonly everyMs: number;
  /** Lines of the terminal, asked before each drawing. */
  readonly height: () => number;
  /** The lines above the list. */
  readonly summary: () => Promise<readonly string[]>;
}

const NONE: Filled = { title: '', lines: [], explain: [] };
const ROWS_MIN = 3;
const ROWS_MAX = 100;
/** Beside the summary and the rows: a blank line, the names of the lists, the title, the heading, the keys. */
const FRAME_LINES = 6;
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/** Resolves when the person quits. */
export async function runTop(context: CommandContext, options: TopOptions): Promise<void> {
  const top = new Top(context, options);
  const typed = (text: Buffer | string) => top.typed(String(text));
  options.keyboard.setRawMode?.(true);
  options.keyboard.on('data', typed);
  options.keyboard.resume();
  const timer = setInterval(() => void top.refresh(), options.everyMs);
  const stop = () => top.stop();
  process.once('SIGTERM', stop);
  try {
    await top.refresh();
    await top.over;
  } finally {
    clearInterval(timer);
    process.off('SIGTERM', stop);
    options.keyboard.off('data', typed);
    options.keyboard.setRawMode?.(false);
    options.keyboard.pause();
    context.output.out('\n');
  }
}

class Top {
  readonly over: Promise<void>;
  readonly #context: CommandContext;
  readonly #options: TopOptions;
  #end: (error?: Error) => void = () => {};
  #screen: Screen = FIRST_SCREEN;
  #summary: readonly string[] = [];
  #filled: Filled = NONE;
  #explained: readonly string[] = [];
  #trouble = '';
  /** Of the last reading; the answer to an earlier one is too late. */
  #reading = 0;

  constructor(context: CommandContext, options: TopOptions) {
    this.#context = context;
    this.#options = options;
    this.over = new Promise((resolve, reject) => {
      this.#end = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  typed(text: string): void {
    const before = this.#screen;
    for (const key of keysIn(text)) {
      const shown = { rows: this.#filled.explain.length, lists: LISTS.length, pageRows: this.#rows };
      this.#screen = press(this.#screen, key, shown);
    }
    const { list, filter, isExplaining, isOver } = this.#screen;
    if (isOver) this.#end();
    else if (list !== before.list || filter !== before.filter || isExplaining !== before.isExplaining) {
      if (isExplaining && !before.isExplaining) this.#explained = ['One moment …'];
      if (list !== before.list) this.#filled = NONE;
      void this.refresh();
    }
    if (!isOver) this.#draw();
  }

  stop(): void {
    this.#end();
  }

  async refresh(): Promise<void> {
    const reading = ++this.#reading;
    try {
      if (this.#screen.isExplaining) {
        const explained = await this.#explain();
        if (reading !== this.#reading) return;
        this.#explained = explained;
      } else {
        const { list, filter } = this.#screen;
        const { api, output } = this.#context;
        const plain = { ...output, width: output.width === 0 ? 0 : output.width - 2 };
        const summary = wrapped(await this.#options.summary(), output.width);
        const filled = await LISTS[list]!.read(api, filter, ROWS_MAX, plain);
        if (reading !== this.#reading) return;
        this.#summary = summary;
        this.#filled = filled;
        const row = Math.max(0, Math.min(this.#screen.row, filled.explain.length - 1));
        this.#screen = { ...this.#screen, row };
      }
      this.#trouble = '';
    } catch (error) {
      if (reading !== this.#reading) return;
      if (!(error instanceof AskError)) {
        this.#end(error as Error);
        return;
      }
      this.#trouble = error.message; // a shard that restarts answers again; what is shown stays
    }
    this.#draw();
  }

  get #rows(): number {
    const room = this.#options.height() - this.#summary.length - FRAME_LINES;
    return Math.max(ROWS_MIN, room);
  }

  async #explain(): Promise<string[]> {
    const selected = this.#filled.explain[this.#screen.row];
    if (selected === undefined) return [];
    const { words, group } = selected;
    let text = '';
    const take = (part: string) => {
      text += part;
    };
    // Without colours, so that a long word can be cut anywhere.
    const output: Output = { ...this.#context.output, out: take, error: take, hasColour: false };
    await EXPLAIN.run({ ...this.#context, flags: new Flags({ group }, words), output, isJson: false });
    return wrapped(text.trimEnd().split('\n'), output.width);
  }

  #draw(): void {
    const { output } = this.#context;
    const paint = painter(output);
    const { isExplaining, isTyping, filter, list } = this.#screen;
    const trouble = this.#trouble === '' ? [] : [paint('red', this.#trouble)];
    const keys = isExplaining
      ? 'Enter back · q quit'
      : isTyping
        ? `/${filter}█   ${LISTS[list]!.filteredBy} … · Enter keep · Esc clear`
        : '↑↓ select · Enter explain · / filter · Tab next list · q quit';
    const lines = isExplaining
      ? [...this.#explained, '', ...trouble]
      : [
          ...this.#summary,
          '',
          ...wrapped([this.#names(), ...trouble, this.#filled.title], output.width),
          ...this.#visible(),
        ];
    const height = this.#options.height();
    const kept = lines.slice(0, height - 1);
    const drawn = [...kept, paint('dim', keys)].map((line) => `${line}${CLEAR_LINE}`);
    output.out(`${HOME}${drawn.join('\n')}${CLEAR_BELOW}`);
  }

  #names(): string {
    const paint = painter(this.#context.output);
    const { list, filter } = this.#screen;
    const names = LISTS.map(({ name }, at) =>
      at === list ? paint('bold', `[${name}]`) : paint('dim', name),
    );
    return `${names.join('  ')}${filter === '' ? '' : `   /${filter}`}`;
  }

  /** The heading, and as many rows as fit, the selected one among them. */
  #visible(): string[] {
    const [heading, ...rows] = this.#filled.lines;
    if (heading === undefined) return [];
    const { row } = this.#screen;
    const first = Math.max(0, Math.min(row - Math.floor(this.#rows / 2), rows.length - this.#rows));
    const shown = rows.slice(first, first + this.#rows);
    const isEmpty = this.#filled.explain.length === 0;
    return [
      `  ${heading}`,
      ...shown.map((line, at) => `${!isEmpty && first + at === row ? '▶ ' : '  '}${line}`),
    ];
  }
}

/** Colours take no room, so they are not counted. */
function wrapped(lines: readonly string[], width: number): string[] {
  if (width === 0) return [...lines];
  return lines.flatMap((line) => {
    const parts: string[] = [];
    let part = '';
    const words = line.split(/(?<= )/).flatMap((word) => (word.includes('\x1b') ? [word] : cut(word, width)));
    for (const word of words) {
      if (part !== '' && lengthOf(part) + lengthOf(word.trimEnd()) > width) {
        parts.push(part);
        part = '    ';
      }
      part += word;
    }
    return [...parts, part];
  });
}

const COLOURS = new RegExp(`${'\x1b'}\\[[0-9;]*m`, 'g');

function cut(word: string, width: number): string[] {
  const parts: string[] = [];
  for (let from = 0; from < word.length; from += width) parts.push(word.slice(from, from + width));
  return parts.length === 0 ? [''] : parts;
}

function lengthOf(text: string): number {
  return text.replaceAll(COLOURS, '').length;
}
