/** `flotilla history`: what happened to a machine, a need, a cluster, an offering, a provider or the shard. */
import { parseDurationMs } from '../config/units.ts';
import type { ApiGangInFull } from '../dashboard/api/gang-types.ts';
import type { ApiEvent, ApiEvents } from '../dashboard/api/types.ts';
import { count, moment } from '../dashboard/client/format.ts';
import { EXIT_NONE } from './exit.ts';
import { type ApiClient, AskError } from './inspect/api-client.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_OK,
  type Flags,
  type InspectCommand,
  runCommand,
  UsageError,
} from './inspect/command.ts';
import { type Colour, painter } from './inspect/terminal.ts';

const HELP = `Usage: flotilla history [machine ID | cluster ID | need CLUSTER [FINGERPRINT] |
                         gang CLUSTER/GROUP | offering NAME | provider NAME | shard] [options]

Prints what happened, oldest first, with the cause: every beginning and end of a binding, failures, interruptions,
preemptions with the need that they served, and starts of the shard. Without a name: everything; shard: only what
concerns the shard itself.
An offering is TYPE/ZONE/CAPACITY, such as general-16/eu-north-1b/spot.

  --since TIME      only events of the last TIME, such as 10m, 1h or 2d, or after a time such as 2026-11-18T10:00:00Z
  --until TIME      only events before this, written in the same way
  --group NAME      only events of needs of this group
  --kind KIND       only this kind; several kinds are separated by commas: preempted,interrupted
  --limit N         maximum number of events, the newest ones (default 50)
  --all             print all events
${COMMON_HELP}
Examples:
  flotilla history cluster prod-eu-1 --since 1h
  flotilla history machine m-0042
  flotilla history offering general-16/eu-north-1b/spot --kind create_failed
  flotilla history need prod-eu-1 --group training/job-7
  flotilla history shard --since 2d

Exit code: 0 events found, 3 no event found, 1 the shard did not answer, 2 invalid usage.
`;

/** Rows of one request, as the API allows. */
const PAGE = 500;
const ROWS_DEFAULT = 50;
const ROWS_MAX = 10_000_000;
/** What concerns the shard itself. */
export const SHARD_KINDS = 'shard_started,shard_stopped,fenced,takeover,control,events_lost';

export const HISTORY: InspectCommand = {
  name: 'history',
  help: HELP,
  options: {
    since: { type: 'string' },
    until: { type: 'string' },
    group: { type: 'string' },
    kind: { type: 'string' },
    limit: { type: 'string' },
    all: { type: 'boolean' },
  },
  positionals: true,
  run: async (context) => {
    const answer = await read(context);
    const { output, isJson } = context;
    output.out(isJson ? `${JSON.stringify(answer)}\n` : textOf(context, answer));
    return answer.events.length === 0 ? EXIT_NONE : EXIT_OK;
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(HISTORY, argv);
}

/** The newest events that match, oldest first. */
async function read({ api, flags }: CommandContext): Promise<ApiEvents> {
  const wanted = flags.has('all') ? Number.POSITIVE_INFINITY : flags.integer('limit', ROWS_DEFAULT, ROWS_MAX);
  const nowMs = Date.now();
  const subject = await subjectOf(api, flags);
  const asked = {
    ...subject,
    group: flags.text('group') ?? subject.group,
    kind: flags.text('kind') ?? subject.kind,
    since: timeOf(flags, 'since', nowMs),
    until: timeOf(flags, 'until', nowMs),
  };
  const events: ApiEvent[] = [];
  let after = '';
  for (;;) {
    const page = await api.get<ApiEvents>('events', {
      ...asked,
      limit: Math.min(PAGE, wanted - events.length),
      after: after === '' ? undefined : after,
    });
    events.push(...page.events);
    after = page.next;
    if (after === '' || events.length >= wanted) return { ...page, events: events.reverse() };
  }
}

type Subject = Readonly<Record<string, string | undefined>>;

async function subjectOf(api: ApiClient, { positionals }: Flags): Promise<Subject> {
  const [what, name, fingerprint, ...rest] = positionals;
  if (what === undefined) return {};
  if (rest.length > 0) throw new UsageError(`Unexpected argument "${rest[0]}". See --help.`);
  if (what === 'need' && name !== undefined) return { cluster: name, fingerprint };
  const isOne = ['machine', 'cluster', 'offering', 'provider'].includes(what);
  if (isOne && name !== undefined && fingerprint === undefined) return { [what]: name };
  if (what === 'gang' && name?.includes('/') === true && fingerprint === undefined) return gangOf(api, name);
  if (what === 'shard' && fingerprint === undefined) return { kind: SHARD_KINDS };
  throw new UsageError(
    'Write `machine ID`, `cluster ID`, `need CLUSTER [FINGERPRINT]`, `gang CLUSTER/GROUP`, `offering NAME`, `provider NAME` or `shard`. See --help.',
  );
}

/** A folded gang has the events of its fold. One that is gone is named by what stands before the first slash. */
async function gangOf(api: ApiClient, name: string): Promise<Subject> {
  try {
    const { clusterId, gangs } = await api.get<ApiGangInFull>(`gangs/${encodeURIComponent(name)}`);
    const { foldedAs, need } = gangs[0]!;
    return { cluster: clusterId, group: foldedAs || need.group };
  } catch (error) {
    if (!(error instanceof AskError) || error.isPassing) throw error;
    const at = name.indexOf('/');
    return { cluster: name.slice(0, at), group: name.slice(at + 1) };
  }
}

function timeOf(flags: Flags, name: 'since' | 'until', nowMs: number): number | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const agoMs = parseDurationMs(text);
  const atMs = agoMs === null ? Date.parse(text) : nowMs - agoMs;
  if (Number.isFinite(atMs) && atMs > 0) return atMs;
  throw new UsageError(
    `--${name} is "${text}", but must be a duration such as 1h, or a time such as 2026-11-18T10:00:00Z.`,
  );
}

const COLOURS: Readonly<Record<string, Colour>> = {
  bound: 'green',
  need_met: 'green',
  recovered: 'green',
  preempted: 'yellow',
  reclaim_started: 'yellow',
  unbound: 'yellow',
  need_unmet: 'red',
  interrupted: 'red',
  failed: 'red',
  bind_failed: 'red',
  create_failed: 'red',
  drain_failed: 'red',
  release_failed: 'red',
  events_lost: 'red',
  fenced: 'red',
  shard_started: 'cyan',
  takeover: 'cyan',
  control: 'cyan',
};

function textOf({ output }: CommandContext, answer: ApiEvents): string {
  const paint = painter(output);
  const lines = answer.events.map((event) => {
    const kind = paint(COLOURS[event.kind] ?? 'bold', event.kind.padEnd(15));
    const of = event.epoch === 0 ? 'standby' : `epoch ${event.epoch}, cycle ${count(event.cycle)}`;
    const cycle = paint('dim', `  (${of})`);
    return `${paint('dim', moment(event.atMs))} ${kind} ${event.sentence}${cycle}\n`;
  });
  const found = answer.events.length === 0 ? 'No event matches.' : '';
  const older = answer.next === '' ? '' : ' Older events match too: add --limit or --all.';
  const since = answer.beginsAtMs === 0 ? 'The history is empty.' : wholeSince(answer);
  return `${lines.join('')}${paint('dim', `${[found, since].filter((text) => text !== '').join(' ')}${older}`)}\n`;
}

function wholeSince({ wholeSinceAtMs, beginsAtMs, gaps }: ApiEvents): string {
  const begins = `The history begins at ${moment(beginsAtMs)}`;
  const [gap] = gaps;
  if (gap === undefined) return `${begins} and is whole since then.`;
  return `${begins} and is whole since ${moment(wholeSinceAtMs)}; before that: ${gap.why}.`;
}
