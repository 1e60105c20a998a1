import { MachineState } from '../../../src/machine/state.ts';
import { refused } from '../../../src/simulation/provider/requests.ts';
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import { ASYNCHRONOUS } from '../subject.ts';
import { altered, type Mutant, withAcks, withGet, withList, withMachines, withMutations } from './bend.ts';

const S = MachineState;

const mapValues = (machine: Machine, change: (value: string) => string): Machine => ({
  ...machine,
  shardMetadata: Object.fromEntries(
    Object.entries(machine.shardMetadata).map(([key, value]) => [key, change(value)]),
  ),
});

export const ECHO_MUTANTS: readonly Mutant[] = [
  {
    name: 'an ack of Configure without the metadata',
    breaks: 'echo/configure-ack',
    says: 'is missing',
    bend: (calls) =>
      withAcks(calls, (ack) => ({ ...ack, machine: { ...ack.machine, shardMetadata: {} } }), ['configure']),
  },
  {
    name: 'a CONFIGURING machine without metadata',
    breaks: 'echo/configure-ack',
    says: 'is missing',
    settings: ASYNCHRONOUS,
    bend: (calls) =>
      withGet(calls, (machine) =>
        machine.state === S.Configuring ? { ...machine, shardMetadata: {} } : machine,
      ),
  },
  {
    name: 'trimmed values',
    breaks: 'echo/get',
    says: 'kept at both ends',
    bend: (calls) => withMachines(calls, (machine) => mapValues(machine, (value) => value.trim())),
  },
  {
    name: 'normalised values',
    breaks: 'echo/get',
    says: 'decomposed',
    bend: (calls) => withMachines(calls, (machine) => mapValues(machine, (value) => value.normalize('NFC'))),
  },
  {
    name: 'metadata without its empty values',
    breaks: 'echo/get',
    says: 'assigned-group" is missing',
    bend: (calls) =>
      withMachines(calls, (machine) => ({
        ...machine,
        shardMetadata: Object.fromEntries(
          Object.entries(machine.shardMetadata).filter(([, value]) => value !== ''),
        ),
      })),
  },
  {
    name: 'strings cut at a zero byte',
    breaks: 'echo/get',
    says: 'control',
    bend: (calls) => withMachines(calls, (machine) => mapValues(machine, (value) => value.split('\0')[0]!)),
  },
  {
    name: 'a cluster in lower case',
    breaks: 'echo/get',
    says: 'conformance.cluster_a',
    bend: (calls) =>
      withMachines(calls, (machine) => ({ ...machine, cluster: machine.cluster.toLowerCase() })),
  },
  {
    name: 'a listing without metadata',
    breaks: 'echo/list',
    says: 'is missing',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: listing.machines.map((machine) => ({ ...machine, shardMetadata: {} })),
      })),
  },
  {
    name: 'the latest binding shown for all machines',
    breaks: 'echo/own-machine',
    says: 'conformance-small',
    bend(calls) {
      let latest = { clusterId: '', shardMetadata: {} as Record<string, string> };
      const remembering = withMutations(
        calls,
        (call, _operation, next) => {
          latest = { clusterId: call.clusterId, shardMetadata: { ...call.shardMetadata } };
          return next(call);
        },
        ['configure'],
      );
      return withGet(remembering, (machine) =>
        machine.cluster === ''
          ? machine
          : { ...machine, cluster: latest.clusterId, shardMetadata: latest.shardMetadata },
      );
    },
  },
  {
    name: 'a binding cleared when the drain begins',
    breaks: 'echo/draining',
    says: '""',
    settings: ASYNCHRONOUS,
    bend: (calls) =>
      withMachines(calls, (machine) =>
        machine.state === S.Draining ? { ...machine, cluster: '', shardMetadata: {} } : machine,
      ),
  },
  {
    name: 'metadata that survives the drain',
    breaks: 'echo/cleared',
    says: 'leftover',
    bend: (calls) =>
      withMachines(calls, (machine) =>
        machine.state === S.Idle ? { ...machine, shardMetadata: { leftover: 'yes' } } : machine,
      ),
  },
  {
    name: 'a cluster that survives the drain in List',
    breaks: 'echo/cleared',
    says: 'conformance-ghost',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: listing.machines.map((machine) =>
          machine.state === S.Idle ? { ...machine, cluster: 'conformance-ghost' } : machine,
        ),
      })),
  },
  {
    name: 'metadata merged with that of the earlier binding',
    breaks: 'echo/replaced',
    says: 'the suite never sent',
    bend(calls) {
      const known = new Map<string, Record<string, string>>();
      return withMutations(
        calls,
        (call, _operation, next) => {
          const merged = { ...known.get(call.machineId), ...call.shardMetadata };
          known.set(call.machineId, merged);
          return next(altered(call, { shardMetadata: merged }));
        },
        ['configure'],
      );
    },
  },
  {
    name: "the provider's own key among the metadata",
    breaks: 'echo/no-metadata',
    says: '"provider/managed"',
    bend: (calls) =>
      withMutations(
        calls,
        (call, _operation, next) =>
          next(altered(call, { shardMetadata: { 'provider/managed': 'true', ...call.shardMetadata } })),
        ['configure'],
      ),
  },
  {
    name: 'values cut at 256 characters',
    breaks: 'echo/long',
    says: 'assigned-need-fingerprint',
    bend: (calls) => withMachines(calls, (machine) => mapValues(machine, (value) => value.slice(0, 256))),
  },
  {
    name: 'a provider that parses the metadata and refuses values that it cannot parse',
    breaks: 'echo/not-interpreted',
    says: 'not a priority',
    bend: (calls) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const priority = call.shardMetadata?.['bigfleet.lucy.sh/assigned-priority'];
          if (priority !== undefined && Number.isNaN(Number(priority))) {
            return refused('invalid_argument', 'not a priority');
          }
          return next(call);
        },
        ['configure'],
      ),
  },
];
