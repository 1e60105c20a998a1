/** Records that break one rule each, visible in the first listing. */
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import { type Mutant, withList, withMachines } from './bend.ts';

function misshapen(
  rule: string,
  says: string,
  name: string,
  id: string,
  change: (machine: Machine) => Partial<Machine>,
): Mutant {
  return {
    name,
    breaks: `shape/${rule}`,
    says,
    bend: (calls) =>
      withMachines(calls, (machine) => (machine.id === id ? { ...machine, ...change(machine) } : machine)),
  };
}

export const SHAPE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a machine without an id',
    breaks: 'shape/id',
    says: 'empty id',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: listing.machines.map((machine) =>
          machine.id === 'idle-1' ? { ...machine, id: '' } : machine,
        ),
      })),
  },
  misshapen('state', 'state 0', 'a machine without a state', 'idle-1', () => ({ state: 0 })),
  misshapen('state', 'state 17', 'an unknown state', 'idle-1', () => ({ state: 17 })),
  misshapen('capacity-type', 'capacity_type 9', 'an unknown capacity type', 'idle-1', () => ({
    capacityType: 9,
  })),
  misshapen('price', 'price_per_hour NaN', 'a price that is not a number', 'idle-1', () => ({
    pricePerHour: Number.NaN,
  })),
  misshapen('price', 'price_per_hour -1', 'a negative price', 'idle-1', () => ({ pricePerHour: -1 })),
  misshapen('price', 'Infinity', 'an infinite price', 'idle-1', () => ({
    pricePerHour: Number.POSITIVE_INFINITY,
  })),
  misshapen('interruption-probability', '55', 'a percentage instead of a probability', 'idle-1', () => ({
    interruptionProbability: 55,
  })),
  misshapen('host', 'IDLE without a host', 'an IDLE machine without a host', 'idle-1', () => ({
    host: null,
  })),
  misshapen('host', 'SPECULATIVE with a host', 'a SPECULATIVE machine with a host', 'offer-1', () => ({
    host: { provider: 'p', ref: 'r' },
  })),
  misshapen(
    'cluster',
    'CONFIGURED without a cluster',
    'a bound machine without a cluster',
    'bound-0',
    () => ({
      cluster: '',
    }),
  ),
  misshapen('cluster', 'IDLE with cluster', 'an IDLE machine with a cluster', 'idle-1', () => ({
    cluster: 'c',
  })),
  misshapen(
    'metadata-of-unbound',
    'IDLE with shard_metadata',
    'an IDLE machine with metadata',
    'idle-1',
    () => ({
      shardMetadata: { a: 'b' },
    }),
  ),
  misshapen('last-error', 'without last_error', 'a FAILED machine without a reason', 'failed-0', () => ({
    lastError: '',
  })),
  misshapen('quantities', '64 GB', 'memory in GB', 'idle-1', () => ({
    resources: { resources: { memory: '64 GB' } },
  })),
  misshapen('quantities', '"-1"', 'a negative amount', 'idle-1', () => ({
    allocatable: { resources: { cpu: '-1' } },
  })),
  misshapen('allocatable', 'empty allocatable', 'an empty allocatable', 'idle-1', () => ({
    allocatable: { resources: {} },
  })),
  misshapen('labels', 'without a key', 'a label without a key', 'idle-1', () => ({ labels: { '': 'x' } })),
];
