/** `flotilla explain`: why a need is unmet, what a machine is used for, how a cluster, provider or offering fares. */
import type {
  ApiClusterInFull,
  ApiMachineInFull,
  ApiNeedExplanation,
  ApiNeedExplanations,
  ApiOfferingInFull,
  ApiProviderInFull,
} from '../dashboard/api/types.ts';
import {
  COMMON_HELP,
  type CommandContext,
  EXIT_FAILED,
  EXIT_OK,
  type InspectCommand,
  runCommand,
  UsageError,
} from './inspect/command.ts';
import { painter } from './inspect/terminal.ts';

const HELP = `Usage: flotilla explain need CLUSTER [FINGERPRINT] [options]
       flotilla explain machine ID [options]
       flotilla explain cluster ID [options]
       flotilla explain provider NAME [options]
       flotilla explain offering NAME [options]

Explains why a need is unmet; without FINGERPRINT and --group, the first unmet needs of
the cluster, as many as the shard explains in half a second, at most 20.
Or explains a machine: which need claims it, which action is in flight, and why the shard keeps it.
Or a cluster: its demand, machines, cost and session. Or a provider: its machines, listings and calls under way.
Or an offering: its machines, price and back-off; NAME is PROVIDER/TYPE/ZONE/CAPACITY, and the provider may be left out
if no other has the same. flotilla history tells what happened to any of them.

  --group NAME      explain the need of this group
${COMMON_HELP}
Examples:
  flotilla explain need prod-eu-1
  flotilla explain need prod-eu-1 --group training/job-7
  flotilla explain machine m-0042
  flotilla explain cluster prod-eu-1
  flotilla explain provider rack-a
  flotilla explain offering general-16/eu-north-1b/spot

Exit code: 0 explained, 1 unknown name or the shard did not answer, 2 invalid usage.
`;

export const EXPLAIN: InspectCommand = {
  name: 'explain',
  help: HELP,
  options: { group: { type: 'string' } },
  positionals: true,
  run: async (context) => {
    const [what, name, fingerprint, ...rest] = context.flags.positionals;
    if (rest.length > 0) throw new UsageError(`Unexpected argument "${rest[0]}". See --help.`);
    if (what === 'need' && name !== undefined) return explainNeed(context, name, fingerprint);
    if (what === 'machine' && name !== undefined && fingerprint === undefined)
      return explainMachine(context, name);
    if (what === 'cluster' && name !== undefined && fingerprint === undefined)
      return explainCluster(context, name);
    if ((what === 'provider' || what === 'offering') && name !== undefined && fingerprint === undefined)
      return explainSupply(context, what, name);
    throw new UsageError(
      'Write `need CLUSTER [FINGERPRINT]`, `machine ID`, `cluster ID`, `provider NAME` or `offering NAME`. See --help.',
    );
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommand(EXPLAIN, argv);
}

async function explainNeed(
  { api, flags, output, isJson }: CommandContext,
  cluster: string,
  fingerprint: string | undefined,
): Promise<number> {
  const group = flags.text('group');
  const answer = await api.get<ApiNeedExplanations>('needs/explain', { cluster, fingerprint, group });
  if (isJson) output.out(`${JSON.stringify(answer)}\n`);
  if (answer.explanations.length === 0) {
    const isNamed = fingerprint !== undefined || group !== undefined;
    if (!isJson && isNamed) output.error(`flotilla explain: Cluster ${cluster} has no such need.\n`);
    else if (!isJson) output.out(`Cluster ${cluster} has no unmet needs.\n`);
    return isNamed ? EXIT_FAILED : EXIT_OK;
  }
  if (isJson) return EXIT_OK;
  const paint = painter(output);
  const text = (one: ApiNeedExplanation) => {
    const [first, ...rest] = one.sentences;
    const name = `${one.need.clusterId} ${one.need.group || '(no group)'}`;
    const answerText = paint(one.need.satisfied ? 'green' : 'yellow', first ?? '');
    return `${paint('bold', name)}\n${paint('dim', one.need.fingerprint)}\n${answerText}\n${list(rest)}`;
  };
  output.out(answer.explanations.map(text).join('\n'));
  if (fingerprint === undefined && group === undefined)
    output.out(paint('dim', `\nflotilla needs --unmet --cluster ${cluster} lists all unmet needs.\n`));
  return EXIT_OK;
}

async function explainMachine({ api, output, isJson }: CommandContext, id: string): Promise<number> {
  const answer = await api.get<ApiMachineInFull>(`machines/${encodeURIComponent(id)}`);
  if (isJson) output.out(`${JSON.stringify(answer)}\n`);
  else {
    const paint = painter(output);
    const [first, ...rest] = answer.sentences;
    const { machine } = answer;
    const about = [machine.instanceType, machine.zone, machine.capacityType]
      .filter((text) => text !== '')
      .join(', ');
    output.out(`${paint('bold', machine.id)} ${paint('dim', about)}\n${first}\n${list(rest)}`);
  }
  return EXIT_OK;
}

async function explainCluster({ api, output, isJson }: CommandContext, id: string): Promise<number> {
  const answer = await api.get<ApiClusterInFull>(`clusters/${encodeURIComponent(id)}`);
  if (isJson) output.out(`${JSON.stringify(answer)}\n`);
  else {
    const paint = painter(output);
    const [first, ...rest] = answer.sentences;
    const colour = answer.cluster.unmetNeeds === 0 ? 'green' : 'yellow';
    output.out(`${paint('bold', id)}\n${paint(colour, first ?? '')}\n${list(rest)}`);
  }
  return EXIT_OK;
}

async function explainSupply(
  { api, output, isJson }: CommandContext,
  what: 'provider' | 'offering',
  name: string,
): Promise<number> {
  const path = `${what}s/${encodeURIComponent(name)}`;
  const answer = await api.get<ApiProviderInFull | ApiOfferingInFull>(path);
  if (isJson) output.out(`${JSON.stringify(answer)}\n`);
  else {
    const [first, ...rest] = answer.sentences;
    const full = 'offering' in answer ? answer.offering.name : answer.provider.name;
    output.out(`${painter(output)('bold', full)}\n${first}\n${list(rest)}`);
  }
  return EXIT_OK;
}

function list(sentences: readonly string[]): string {
  return sentences.map((sentence) => `  - ${sentence}\n`).join('');
}
