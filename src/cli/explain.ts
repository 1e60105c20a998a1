/** `flotilla explain`: why a need or a gang is unmet, what a machine is used for, how a cluster, provider, offering or shard fares. */
import type { ApiGangInFull } from '../dashboard/api/gang-types.ts';
import type { ApiShardInFull, ApiShards } from '../dashboard/api/shard-types.ts';
import type {
  ApiClusterInFull,
  ApiEvent,
  ApiEvents,
  ApiMachineInFull,
  ApiNeedExplanation,
  ApiNeedExplanations,
  ApiOfferingInFull,
  ApiProviderInFull,
} from '../dashboard/api/types.ts';
import { moment } from '../dashboard/client/format.ts';
import { SHARD_KINDS } from './history.ts';
import { AskError, type Parameters } from './inspect/api-client.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_FAILED,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  UsageError,
} from './inspect/command.ts';
import { type Colour, painter } from './inspect/terminal.ts';

const HELP = `Usage: flotilla explain need CLUSTER [FINGERPRINT] [options]
       flotilla explain gang CLUSTER/GROUP [options]
       flotilla explain machine ID [options]
       flotilla explain cluster ID [options]
       flotilla explain provider NAME [options]
       flotilla explain offering NAME [options]
       flotilla explain shard [ID] [options]

Explains why a need is unmet; without FINGERPRINT and --group, the first unmet needs of
the cluster, as many as the shard explains in half a second, at most 20.
Or explains a gang: its domain, the machines that serve it, and if it is folded, with which needs.
Or a machine: which need claims it, which action is in flight, and why the shard keeps it.
Or a cluster: its demand, machines, cost and session. Or a provider: its machines, listings and calls under way.
Or an offering: its machines, price and back-off; NAME is PROVIDER/TYPE/ZONE/CAPACITY, and the provider may be left out
if no other has the same. Or the shard: whether anything keeps it from its work.
The newest events of each follow; flotilla history has all of them.

  --group NAME      explain the need of this group
${COMMON_HELP}
Examples:
  flotilla explain need prod-eu-1
  flotilla explain need prod-eu-1 --group training/job-7
  flotilla explain gang prod-eu-1/training/job-7
  flotilla explain machine m-0042
  flotilla explain cluster prod-eu-1
  flotilla explain provider rack-a
  flotilla explain offering general-16/eu-north-1b/spot
  flotilla explain shard

Exit code: 0 explained, 1 unknown name or the shard did not answer, 2 invalid usage.
`;

const EVENTS_SHOWN = 5;

export const EXPLAIN: InspectCommand = {
  name: 'explain',
  help: HELP,
  options: { group: { type: 'string' } },
  positionals: true,
  run: async (context) => {
    const [what = '', name, fingerprint, ...rest] = context.flags.positionals;
    if (rest.length > 0) throw new UsageError(`Unexpected argument "${rest[0]}". See --help.`);
    if (what === 'need' && name !== undefined) return explainNeed(context, name, fingerprint);
    const explain = Object.hasOwn(EXPLAINED, what) ? EXPLAINED[what] : undefined;
    if (explain !== undefined && name !== undefined && fingerprint === undefined)
      return explain(context, name);
    if (what === 'shard' && name === undefined) return explainShard(context, '');
    throw new UsageError(
      'Write `need CLUSTER [FINGERPRINT]`, `gang CLUSTER/GROUP`, `machine ID`, `cluster ID`, `provider NAME`, `offering NAME` or `shard`. See --help.',
    );
  },
};

const EXPLAINED: Readonly<Record<string, (context: CommandContext, name: string) => Promise<number>>> = {
  gang: explainGang,
  machine: explainMachine,
  cluster: explainCluster,
  provider: explainProvider,
  offering: explainOffering,
  shard: explainShard,
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(EXPLAIN, argv);
}

interface Explained {
  readonly title: string;
  readonly about?: string;
  readonly sentences: readonly string[];
  /** Of the first sentence. */
  readonly colour?: Colour;
}

/** One thing in words with its newest events, or all of the answer with them as JSON. */
async function show(
  context: CommandContext,
  answer: object,
  explained: Explained | readonly Explained[],
  asked: Parameters,
): Promise<number> {
  const { output, isJson } = context;
  const events = await newestEvents(context, asked);
  if (isJson) {
    output.out(`${JSON.stringify({ ...answer, events })}\n`);
    return EXIT_OK;
  }
  const paint = painter(output);
  const texts = [explained].flat().map(({ title, about = '', sentences, colour }) => {
    const [first = '', ...others] = sentences;
    const answered = colour === undefined ? first : paint(colour, first);
    return `${paint('bold', title)}${about === '' ? '' : ` ${paint('dim', about)}`}\n${answered}\n${list(others)}`;
  });
  const past = events.map(({ atMs, sentence }) => `  ${paint('dim', moment(atMs))} ${sentence}\n`);
  output.out(`${texts.join('\n')}${past.length === 0 ? '' : `Newest events:\n${past.join('')}`}`);
  return EXIT_OK;
}

/** The newest first; none if the shard keeps no history or cannot read it now. */
async function newestEvents({ api }: CommandContext, asked: Parameters): Promise<readonly ApiEvent[]> {
  try {
    return (await api.get<ApiEvents>('events', { ...asked, limit: EVENTS_SHOWN })).events;
  } catch (error) {
    if (error instanceof AskError) return [];
    throw error;
  }
}

async function explainNeed(
  context: CommandContext,
  cluster: string,
  fingerprint: string | undefined,
): Promise<number> {
  const { api, flags, output, isJson } = context;
  const group = flags.text('group');
  const answer = await api.get<ApiNeedExplanations>('needs/explain', { cluster, fingerprint, group });
  const isNamed = fingerprint !== undefined || group !== undefined;
  const { explanations } = answer;
  if (explanations.length === 0) {
    if (isJson) output.out(`${JSON.stringify(answer)}\n`);
    else if (isNamed) output.error(`flotilla explain: Cluster ${cluster} has no such need.\n`);
    else output.out(`Cluster ${cluster} has no unmet needs.\n`);
    return isNamed ? EXIT_FAILED : EXIT_OK;
  }
  await show(context, answer, explanations.map(needExplained), eventsOf(cluster, explanations));
  if (!isNamed && !isJson)
    output.out(
      painter(output)('dim', `\nflotilla needs --unmet --cluster ${cluster} lists all unmet needs.\n`),
    );
  return EXIT_OK;
}

function needExplained({ need, sentences }: ApiNeedExplanation): Explained {
  return {
    title: `${need.clusterId} ${need.group || '(no group)'}`,
    about: `\n${need.fingerprint}`,
    sentences,
    colour: need.satisfied ? 'green' : 'yellow',
  };
}

/** The events of a single need; of several, those of the cluster. A folded gang has the events of its fold. */
function eventsOf(cluster: string, explanations: readonly ApiNeedExplanation[]): Parameters {
  const [{ need, foldedAs }, ...others] = explanations as readonly [ApiNeedExplanation];
  if (others.length > 0) return { cluster };
  return foldedAs === ''
    ? { cluster, group: need.group, fingerprint: need.fingerprint }
    : { cluster, group: foldedAs };
}

async function explainGang(context: CommandContext, name: string): Promise<number> {
  const answer = await context.api.get<ApiGangInFull>(`gangs/${encodeURIComponent(name)}`);
  const { gangs, clusterId } = answer;
  return show(context, answer, gangs.map(needExplained), eventsOf(clusterId, gangs));
}

async function explainMachine(context: CommandContext, id: string): Promise<number> {
  const answer = await context.api.get<ApiMachineInFull>(`machines/${encodeURIComponent(id)}`);
  const { machine, sentences } = answer;
  const about = [machine.instanceType, machine.zone, machine.capacityType].filter((text) => text !== '');
  return show(context, answer, { title: machine.id, about: about.join(', '), sentences }, { machine: id });
}

async function explainCluster(context: CommandContext, id: string): Promise<number> {
  const answer = await context.api.get<ApiClusterInFull>(`clusters/${encodeURIComponent(id)}`);
  const { cluster, sentences } = answer;
  const colour = cluster.unmetNeeds === 0 ? 'green' : 'yellow';
  return show(context, answer, { title: id, sentences, colour }, { cluster: id });
}

async function explainProvider(context: CommandContext, name: string): Promise<number> {
  const answer = await context.api.get<ApiProviderInFull>(`providers/${encodeURIComponent(name)}`);
  return show(context, answer, { title: name, sentences: answer.sentences }, { provider: name });
}

async function explainOffering(context: CommandContext, name: string): Promise<number> {
  const answer = await context.api.get<ApiOfferingInFull>(`offerings/${encodeURIComponent(name)}`);
  const { offering, sentences } = answer;
  const { provider } = offering;
  const short = offering.name.slice(provider.length + 1); // as events name it
  return show(context, answer, { title: offering.name, sentences }, { provider, offering: short });
}

/** '': the one that answers. */
async function explainShard(context: CommandContext, id: string): Promise<number> {
  const { api } = context;
  const wanted = id === '' ? (await api.get<ApiShards>('shards')).shards[0]!.shardId : id;
  const answer = await api.get<ApiShardInFull>(`shards/${encodeURIComponent(wanted)}`);
  const { shard, sentences } = answer;
  const colour = shard.troubles.length === 0 ? 'green' : 'yellow';
  return show(context, answer, { title: shard.shardId, sentences, colour }, { kind: SHARD_KINDS });
}

function list(sentences: readonly string[]): string {
  return sentences.map((sentence) => `  - ${sentence}\n`).join('');
}
