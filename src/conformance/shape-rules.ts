/**
 * Rules for every machine record, in whichever answer it comes. A shard rejects a record that breaks one of
 * them and keeps the last good record, so it never sees what such a provider reports.
 */
import { isCapacityType } from '../machine/capacity-type.ts';
import { isMachineState, MachineState } from '../machine/state.ts';
import { describeMap, quote, type Snapshot, shorten, stateName } from './snapshot.ts';

export interface ShapeRule {
  /** The id of the check that reports it. */
  readonly id: string;
  readonly contract: string;
  readonly expected: string;
  readonly change: string;
  /** What is wrong with the machine, or null. Called for every machine of every listing. */
  violation(machine: Snapshot): string | null;
}

const S = MachineState;
const MUST_HAVE_HOST: ReadonlySet<number> = new Set([
  S.Idle,
  S.Configuring,
  S.Configured,
  S.Draining,
  S.Deleting,
]);
const NEVER_HAS_HOST: ReadonlySet<number> = new Set([S.Speculative, S.Creating]);
const MUST_HAVE_CLUSTER: ReadonlySet<number> = new Set([S.Configured, S.Draining]);
const NEVER_HAS_CLUSTER: ReadonlySet<number> = new Set([S.Speculative, S.Creating, S.Idle, S.Deleting]);

/** Kubernetes quantities that are not negative: a decimal number, then an exponent or one suffix. */
const QUANTITY = /^\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;

export const SHAPE_RULES: readonly ShapeRule[] = [
  {
    id: 'shape/id',
    contract: 'Every machine has an id, and no two machines share one.',
    expected: 'an id on every machine, unique within a listing',
    change: 'give every machine an id of its own that never changes; a shard rejects records without one',
    violation: (machine) => (machine.id === '' ? 'a machine with an empty id' : null),
  },
  {
    id: 'shape/state',
    contract: 'A machine is in one of the eight states, never in MACHINE_STATE_UNSPECIFIED.',
    expected: 'a state from 1 (SPECULATIVE) to 8 (FAILED)',
    change: 'map every state of your backend to one of the eight; an unset state reads as UNSPECIFIED',
    violation: (machine) => (isMachineState(machine.state) ? null : `state ${machine.state}`),
  },
  {
    id: 'shape/capacity-type',
    contract: 'A capacity type is one of the five values of the protocol.',
    expected: 'a capacity_type from 0 to 4',
    change: 'send BARE_METAL, RESERVED, ON_DEMAND or SPOT, or leave it unset',
    violation: (machine) =>
      isCapacityType(machine.capacityType) ? null : `capacity_type ${machine.capacityType}`,
  },
  {
    id: 'shape/price',
    contract: 'A price is in dollars per hour, finite and not negative.',
    expected: 'a finite price_per_hour ≥ 0',
    change: 'send 0 for capacity that costs nothing, and check computed prices for NaN and infinity',
    violation: ({ pricePerHour: price }) =>
      price >= 0 && price < Number.POSITIVE_INFINITY ? null : `price_per_hour ${price}`,
  },
  {
    id: 'shape/interruption-probability',
    contract: 'An interruption probability is between 0 and 1.',
    expected: 'interruption_probability between 0 and 1',
    change: 'send a probability, not a percentage; send 0 for machines that are never interrupted',
    violation: ({ interruptionProbability: probability }) =>
      probability >= 0 && probability <= 1 ? null : `interruption_probability ${probability}`,
  },
  {
    id: 'shape/host',
    contract:
      'SPECULATIVE and CREATING machines have no host; IDLE, CONFIGURING, CONFIGURED, DRAINING and DELETING ones have one.',
    expected: 'a host exactly while the machine exists',
    change:
      'set host when CREATING ends and clear it when DELETING ends; operators match a node to its machine by host.ref',
    violation: (machine) => {
      const hasHost = machine.host !== null && (machine.host.ref !== '' || machine.host.provider !== '');
      if (MUST_HAVE_HOST.has(machine.state) && !hasHost) return `${stateName(machine.state)} without a host`;
      if (NEVER_HAS_HOST.has(machine.state) && hasHost) return `${stateName(machine.state)} with a host`;
      return null;
    },
  },
  {
    id: 'shape/cluster',
    contract: 'CONFIGURED and DRAINING machines show their cluster; unbound machines show none.',
    expected: 'a cluster exactly while the machine is bound',
    change: 'store cluster_id with Configure, show it until the drain ends, then clear it',
    violation: ({ state, cluster }) => {
      if (MUST_HAVE_CLUSTER.has(state) && cluster === '') return `${stateName(state)} without a cluster`;
      if (NEVER_HAS_CLUSTER.has(state) && cluster !== '') {
        return `${stateName(state)} with cluster ${shorten(quote(cluster))}`;
      }
      return null;
    },
  },
  {
    id: 'shape/metadata-of-unbound',
    contract: 'An unbound machine carries no shard_metadata.',
    expected: 'no shard_metadata on SPECULATIVE, CREATING, IDLE and DELETING machines',
    change: 'clear shard_metadata in the same step as cluster',
    violation: ({ state, shardMetadata }) =>
      NEVER_HAS_CLUSTER.has(state) && Object.keys(shardMetadata).length > 0
        ? `${stateName(state)} with shard_metadata ${shorten(describeMap(shardMetadata))}`
        : null,
  },
  {
    id: 'shape/last-error',
    contract: 'A FAILED machine gives the reason in last_error.',
    expected: 'a reason in last_error of every FAILED machine',
    change: 'store the reason when a machine fails and return it; operators see this text',
    violation: ({ state, lastError }) =>
      state === S.Failed && lastError === '' ? 'FAILED without last_error' : null,
  },
  {
    id: 'shape/quantities',
    contract: 'Resources are Kubernetes quantities by resource name.',
    expected: 'quantities such as 96, 500m, 768Gi or 1e3 under a resource name',
    change: 'write every amount as a Kubernetes quantity, without blanks and without other units',
    violation: (machine) =>
      findBadQuantity('resources', machine.resources?.resources) ??
      findBadQuantity('allocatable', machine.allocatable?.resources),
  },
  {
    id: 'shape/allocatable',
    contract: 'If allocatable is unset, resources is the capacity; allocatable is never set and empty.',
    expected: 'allocatable either unset or with at least one amount',
    change: 'leave allocatable unset if you do not know it; an empty one means a machine without capacity',
    violation: ({ resources, allocatable }) =>
      allocatable !== null &&
      Object.keys(allocatable.resources).length === 0 &&
      Object.keys(resources?.resources ?? {}).length > 0
        ? `an empty allocatable beside resources ${shorten(describeMap(resources!.resources))}`
        : null,
  },
  {
    id: 'shape/labels',
    contract: 'Every label has a key.',
    expected: 'a key on every label',
    change: 'leave out labels without a key',
    violation: ({ labels }) =>
      Object.hasOwn(labels, '') ? `a label without a key: ${quote(labels['']!)}` : null,
  },
];

function findBadQuantity(
  field: string,
  amounts: Readonly<Record<string, string>> | undefined,
): string | null {
  if (amounts === undefined) return null;
  for (const name in amounts) {
    if (name === '' || !QUANTITY.test(amounts[name]!)) {
      return `${field} has ${shorten(quote(name))}: ${shorten(quote(amounts[name]!))}`;
    }
  }
  return null;
}
