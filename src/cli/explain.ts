/** `flotilla explain`: why a need is unmet, why a machine is where it is. */
import type { ApiMachineInFull, ApiNeedExplanation, ApiNeedExplanations } from '../dashboard/api/types.ts';
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

Says in sentences why a need is unmet (without a name: each unmet need of the cluster), or why a machine is where it is:
who claims it, what is under way, why it is not given back.

  --group NAME      the need of this group
${COMMON_HELP}
Examples:
  flotilla explain need prod-eu-1
  flotilla explain need prod-eu-1 --group training/job-7
  flotilla explain machine m-0042

Exit code: 0 explained, 1 there is no such need or machine or the shard did not answer, 2 wrong usage.
`;

export const EXPLAIN: InspectCommand = {
  name: 'explain',
  help: HELP,
  options: { group: { type: 'string' } },
  positionals: true,
  run: async (context) => {
    const [what, name, fingerprint, ...rest] = context.flags.positionals;
    if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one name too many. See --help.`);
    if (what === 'need' && name !== undefined) return explainNeed(context, name, fingerprint);
    if (what === 'machine' && name !== undefined && fingerprint === undefined)
      return explainMachine(context, name);
    throw new UsageError('Say `need CLUSTER [FINGERPRINT]` or `machine ID`. See --help.');
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
    const words = isNamed ? `cluster ${cluster} has no such need` : `cluster ${cluster} has no unmet need`;
    if (!isJson)
      (isNamed ? output.error : output.out)(isNamed ? `flotilla explain: ${words}\n` : `${words}\n`);
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

function list(sentences: readonly string[]): string {
  return sentences.map((sentence) => `  - ${sentence}\n`).join('');
}
