/** `flotilla providers`: machines, listings, calls and back-offs of each provider. */
import type { ApiProvider, ApiProviders } from '../dashboard/api/types.ts';
import { age, count, usd } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla providers [options]

Lists providers in order of their names. flotilla explain provider NAME tells about one of them.

  --prefix TEXT     name begins with this text
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla providers
  flotilla providers --sort failed:desc -o wide
  flotilla providers --json | jq '.providers[] | select(.heldListing)'

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'PROVIDER', isName: true },
  { name: 'MACHINES', align: 'right' },
  { name: 'CONFIGURED', align: 'right', isWide: true },
  { name: 'IDLE', align: 'right', isWide: true },
  { name: 'FAILED', align: 'right', colour: (text) => (text.trim() === '0' ? undefined : 'red') },
  { name: '$/H', align: 'right' },
  { name: 'LISTED', align: 'right' },
  { name: 'CALLS', align: 'right' },
  { name: 'REFUSED', align: 'right', isWide: true },
  { name: 'NOTES', colour: () => 'yellow' },
];

export const PROVIDERS = listCommand<ApiProviders, ApiProvider>({
  name: 'providers',
  help: HELP,
  options: { prefix: { type: 'string' } },
  ask: (flags) => ['providers', { prefix: flags.text('prefix') }],
  rowsOf: (answer) => answer.providers,
  withRows: (answer, providers) => ({ ...answer, providers }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} providers`,
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ name }) => name,
  none: 'No provider matches the filters.',
});

export const run = runList(PROVIDERS);

function rowOf(provider: ApiProvider, { nowMs }: ApiProviders): string[] {
  const { heldListing, backoff, byState, offeringsInBackoff } = provider;
  const notes = [
    provider.refusedWholly === '' ? '' : 'every row refused',
    heldListing === null ? '' : `listing held: lacks ${count(heldListing.missing)}`,
    provider.listingFailure === '' ? '' : `listing failed: ${provider.listingFailure}`,
    backoff === null ? '' : `in back-off for ${age(backoff.untilMs - nowMs)}`,
    offeringsInBackoff === 0 ? '' : `offerings in back-off: ${count(offeringsInBackoff)}`,
  ];
  return [
    provider.name,
    count(provider.machines),
    count(byState.Configured),
    count(byState.Idle),
    count(byState.Failed),
    usd(provider.usdPerHour),
    provider.listedAtMs === 0 ? '-' : `${age(nowMs - provider.listedAtMs)} ago`,
    count(provider.callsInFlight + provider.readsInFlight),
    count(provider.refused),
    notes.filter((note) => note !== '').join(', '),
  ];
}
