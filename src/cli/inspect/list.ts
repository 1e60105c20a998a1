/** Shared by the commands that list something: one page or many, once or again and again, as a table, names, JSON or YAML. */
import { stringify } from 'yaml';
import { count } from '../../dashboard/client/format.ts';
import { EXIT_NONE } from '../exit.ts';
import {
  type CommandContext,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  UsageError,
  watchMs,
} from './command.ts';
import { type Column, drawRepeatedly, type Output, painter, tableText } from './terminal.ts';

/** Rows of one request, as the API allows. */
const PAGE = 500;
const ROWS_DEFAULT = 50;
const ROWS_MAX = 1_000_000;

export const LIST_OPTIONS = {
  limit: { type: 'string' },
  all: { type: 'boolean' },
  watch: { type: 'boolean' },
  every: { type: 'string' },
  output: { type: 'string', short: 'o' },
  sort: { type: 'string' },
} as const;

export const LIST_HELP = `  --limit N         maximum number of rows (default 50)
  --all             list all rows
  --sort COLUMN     sort the rows by this column; COLUMN:desc sorts the other way
  -o, --output FORM wide (all columns, uncut), name (ids alone), json or yaml
  --watch           refresh until Ctrl-C
  --every TIME      time between two refreshes (default 2s)
`;

/** A text column is worth showing with this many characters. */
const READABLE_CHARS = 16;
const FORMS = ['table', 'wide', 'name', 'json', 'yaml'] as const;
type Form = (typeof FORMS)[number];

export interface Page {
  readonly next: string;
}

export interface ListCommand<Answer extends Page, Row> {
  readonly name: string;
  readonly help: string;
  /** Its filters, besides LIST_OPTIONS. */
  readonly options: InspectCommand['options'];
  readonly positionals?: true;
  /** Path and parameters of the request. */
  readonly ask: (flags: CommandContext['flags']) => readonly [path: string, parameters: Parameters];
  /** Left out: asks for pages of `ask` until there are enough rows. */
  readonly read?: (context: CommandContext) => Promise<Answer>;
  readonly rowsOf: (answer: Answer) => readonly Row[];
  /** The answer with these rows, of several pages, in place of its own. */
  readonly withRows: (answer: Answer, rows: readonly Row[]) => Answer;
  /** The line above the table; `paint` colours it. */
  readonly title: (answer: Answer, paint: ReturnType<typeof painter>) => string;
  readonly columns: readonly Column[];
  readonly cells: (row: Row, answer: Answer) => string[];
  /** What `-o name` prints. */
  readonly nameOf: (row: Row) => string;
  /** Shown instead of an empty table. */
  readonly none: string;
  /** Left out: 3 if nothing was found, else 0. */
  readonly exitOf?: (answer: Answer) => number;
}

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

export function listCommand<Answer extends Page, Row>(list: ListCommand<Answer, Row>): InspectCommand {
  return {
    name: list.name,
    help: list.help,
    options: { ...list.options, ...LIST_OPTIONS },
    ...(list.positionals === undefined ? {} : { positionals: list.positionals }),
    run: async (context) => {
      const everyMs = watchMs(context.flags);
      formOf(context); // an unknown one is refused before the shard is asked
      if (everyMs !== undefined) {
        await drawRepeatedly(context.output, everyMs, async () => (await draw(list, context)).text);
        return EXIT_OK;
      }
      const { text, answer } = await draw(list, context);
      context.output.out(text);
      if (list.exitOf !== undefined) return list.exitOf(answer);
      return list.rowsOf(answer).length === 0 ? EXIT_NONE : EXIT_OK;
    },
  };
}

/** What `run` of the command's module is. */
export function runList(command: InspectCommand): (argv: readonly string[]) => Promise<number> {
  return (argv) => runCommand(command, argv);
}

async function draw<Answer extends Page, Row>(
  list: ListCommand<Answer, Row>,
  context: CommandContext,
): Promise<{ readonly text: string; readonly answer: Answer }> {
  const found = list.read === undefined ? await read(list, context) : await list.read(context);
  const answer = sorted(list, context, found);
  return { text: textOf(list, context, answer, list.rowsOf(answer)), answer };
}

function textOf<Answer extends Page, Row>(
  list: ListCommand<Answer, Row>,
  context: CommandContext,
  answer: Answer,
  rows: readonly Row[],
): string {
  const form = formOf(context);
  if (form === 'json') return `${JSON.stringify(answer)}\n`;
  if (form === 'yaml') return stringify(answer);
  if (form === 'name') return rows.map((row) => `${list.nameOf(row)}\n`).join('');
  const isWide = form === 'wide';
  const output = isWide ? { ...context.output, width: 0 } : context.output;
  const paint = painter(output);
  const shown = answer.next === '' ? '' : `; showing the first ${count(rows.length)}`;
  const title = `${list.title(answer, paint)}${paint('dim', shown)}\n`;
  if (rows.length === 0) return `${title}${list.none}\n`;
  return title + rowsText(list, answer, rows, output);
}

/** The heading, and a line for each row. */
export function rowsText<Answer extends Page, Row>(
  list: ListCommand<Answer, Row>,
  answer: Answer,
  rows: readonly Row[],
  output: Output,
): string {
  const cells = rows.map((row) => list.cells(row, answer));
  const shownAt = shownColumns(list.columns, cells, output.width);
  return tableText(
    output,
    shownAt.map((at) => list.columns[at]!),
    cells.map((all) => shownAt.map((at) => all[at]!)),
  );
}

/** Without as many of the wide columns, the last first, as leave the others room to be read. */
function shownColumns(
  columns: readonly Column[],
  cells: readonly (readonly string[])[],
  lineWidth: number,
): number[] {
  const widths = columns.map(({ name, align, isName }, at) => {
    let widest = name.length;
    for (const row of cells) widest = Math.max(widest, row[at]!.length);
    const readable = isName === true ? 2 * READABLE_CHARS : READABLE_CHARS;
    return align === 'right' ? widest : Math.min(widest, Math.max(name.length, readable));
  });
  const shown = columns.map((_, at) => at);
  const width = () => shown.reduce((sum, at) => sum + widths[at]! + 2, -2);
  while (lineWidth > 0 && width() > lineWidth) {
    const last = shown.findLastIndex((at) => columns[at]!.isWide === true);
    if (last < 0) break;
    shown.splice(last, 1);
  }
  return shown;
}

function formOf({ flags, isJson }: CommandContext): Form {
  const text = flags.text('output');
  if (text === undefined) return isJson ? 'json' : 'table';
  const form = FORMS.find((one) => one === text);
  if (form !== undefined && form !== 'table') return form;
  throw new UsageError(`--output is "${text}", but must be wide, name, json or yaml.`);
}

/** Sorts what was read; numbers by value, in whatever unit they are shown. */
function sorted<Answer extends Page, Row>(
  list: ListCommand<Answer, Row>,
  { flags }: CommandContext,
  answer: Answer,
): Answer {
  const text = flags.text('sort');
  if (text === undefined) return answer;
  const isDown = text.endsWith(':desc');
  const wanted = text.replace(/:desc$/, '').toLowerCase();
  const at = list.columns.findIndex(({ name }) => name.toLowerCase() === wanted);
  if (at < 0) {
    const names = list.columns.map(({ name }) => name.toLowerCase()).join(', ');
    throw new UsageError(`--sort is "${text}", but must be one of the columns: ${names}.`);
  }
  const keyed = list.rowsOf(answer).map((row) => ({ row, key: list.cells(row, answer)[at]! }));
  const numberOf = (key: string) => Number(key.replace(/[$,]/g, '').split(' ')[0]);
  const isNumeric =
    list.columns[at]!.align === 'right' &&
    keyed.every(({ key }) => key === '-' || !Number.isNaN(numberOf(key)));
  keyed.sort((a, b) =>
    isNumeric ? (numberOf(a.key) || 0) - (numberOf(b.key) || 0) : a.key.localeCompare(b.key, 'en'),
  );
  if (isDown) keyed.reverse();
  return list.withRows(
    answer,
    keyed.map(({ row }) => row),
  );
}

async function read<Answer extends Page, Row>(
  list: ListCommand<Answer, Row>,
  { api, flags }: CommandContext,
): Promise<Answer> {
  const wanted = flags.has('all') ? Number.POSITIVE_INFINITY : flags.integer('limit', ROWS_DEFAULT, ROWS_MAX);
  const rows: Row[] = [];
  let after = '';
  for (;;) {
    const [path, parameters] = list.ask(flags);
    const page = await api.get<Answer>(path, {
      ...parameters,
      limit: Math.min(PAGE, wanted - rows.length),
      after: after === '' ? undefined : after,
    });
    rows.push(...list.rowsOf(page));
    after = page.next;
    if (after === '' || rows.length >= wanted) return list.withRows(page, rows);
  }
}
