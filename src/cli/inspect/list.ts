/** Shared by the commands that list something: one page or many, once or again and again, as a table or as JSON. */
import { count } from '../../dashboard/client/format.ts';
import { type CommandContext, EXIT_OK, type InspectCommand, runCommand, watchMs } from './command.ts';
import { type Column, drawRepeatedly, painter, tableText } from './terminal.ts';

/** Rows of one request, as the API allows. */
const PAGE = 500;
const ROWS_DEFAULT = 50;
const ROWS_MAX = 1_000_000;

export const LIST_OPTIONS = {
  limit: { type: 'string' },
  all: { type: 'boolean' },
  watch: { type: 'boolean' },
  every: { type: 'string' },
} as const;

interface Page {
  readonly next: string;
}

export interface ListCommand<Answer extends Page, Row> {
  readonly name: string;
  readonly help: string;
  /** Its filters, besides LIST_OPTIONS. */
  readonly options: InspectCommand['options'];
  /** Path and parameters of the request. */
  readonly ask: (flags: CommandContext['flags']) => readonly [path: string, parameters: Parameters];
  readonly rowsOf: (answer: Answer) => readonly Row[];
  /** The answer with these rows, of several pages, in place of its own. */
  readonly withRows: (answer: Answer, rows: readonly Row[]) => Answer;
  /** The line above the table; `paint` colours it. */
  readonly title: (answer: Answer, paint: ReturnType<typeof painter>) => string;
  readonly columns: readonly Column[];
  readonly cells: (row: Row, answer: Answer) => string[];
  /** Shown instead of an empty table. */
  readonly none: string;
}

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

export function listCommand<Answer extends Page, Row>(list: ListCommand<Answer, Row>): InspectCommand {
  return {
    name: list.name,
    help: list.help,
    options: { ...list.options, ...LIST_OPTIONS },
    run: async (context) => {
      const everyMs = watchMs(context.flags);
      if (everyMs !== undefined) await drawRepeatedly(context.output, everyMs, () => draw(list, context));
      else context.output.out(await draw(list, context));
      return EXIT_OK;
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
): Promise<string> {
  const answer = await read(list, context);
  if (context.isJson) return `${JSON.stringify(answer)}\n`;
  const { output } = context;
  const paint = painter(output);
  const rows = list.rowsOf(answer);
  const shown = answer.next === '' ? '' : `; showing the first ${count(rows.length)}`;
  const title = `${list.title(answer, paint)}${paint('dim', shown)}\n`;
  if (rows.length === 0) return `${title}${list.none}\n`;
  const cells = rows.map((row) => list.cells(row, answer));
  return title + tableText(output, list.columns, cells);
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
