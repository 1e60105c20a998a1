/** Random operations on a fleet: mostly realistic ones, sometimes ones that must be refused. */
import fc from 'fast-check';
import type { MachineChange } from '../../src/inventory/inventory.ts';
import type { Assignment, Machine } from '../../src/machine/machine.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { LEGAL } from './fleet-model.ts';

const stateArb = fc.constantFrom(...Object.values(S));
const idArb = fc.constantFrom(
  ...['gpu-1', 'gpu-10', 'gpu-2', 'a', 'ab', 'b', 'é', 'z\u0000', 'z', '~', '0', '漢'],
);
const clusterArb = fc.constantFrom('east', 'west', 'north');
const priceArb = fc.constantFrom(0, 0.5, 0.5, 1.25, 7);

const assignmentArb: fc.Arbitrary<Assignment> = fc.record({
  fingerprint: fc.constantFrom('', 'p=1', 'p=2'),
  group: fc.constantFrom('', 'gang-1'),
  priority: fc.constantFrom(0, 100, -5),
  interruptionPenalty: fc.constantFrom(0, 3),
  reclamationPenalty: fc.constantFrom(0, 1, 5, 27),
});

const labelsArb = fc.constantFrom<Record<string, string>[]>(
  {},
  { rack: 'r1' },
  { rack: 'r2', tier: '' },
  { tier: '', rack: 'r2' },
  { rack: 'r1', 'kubernetes.io/hostname': 'node-7' },
  { 'kubernetes.io/hostname': 'node-8' },
);
const factsArb = fc.record({
  instanceType: fc.constantFrom('', 'm5', 'p4'),
  zone: fc.constantFrom('', 'z1', 'z2'),
  capacityType: fc.constantFrom(0, 3, 4) as fc.Arbitrary<Machine['capacityType']>,
  pricePerHourUsd: priceArb,
  interruptionProbability: fc.constantFrom(0, 0.25, 1),
  capacity: fc.constantFrom({}, { cpu: 4000 }, { cpu: 4000, memory: 8 }, { memory: 8, cpu: 4000, gpu: 0 }),
  labels: labelsArb,
});

/** The parts of a valid record in a state. */
function parts(state: number, cluster: string, assignment: Assignment | null) {
  const hasHost = state !== S.Speculative && state !== S.Creating;
  const isBound = state === S.Configured || state === S.Draining || state === S.Configuring;
  return {
    host: hasHost ? { provider: 'aws', ref: `i-${cluster}` } : null,
    cluster: isBound ? cluster : '',
    assignment: isBound ? assignment : null,
    lastError: state === S.Failed ? 'boom' : '',
  };
}

const machineArb: fc.Arbitrary<Machine> = fc
  .tuple(idArb, stateArb, factsArb, clusterArb, fc.option(assignmentArb))
  .map(([id, state, facts, cluster, assignment]) => ({
    id,
    state,
    ...facts,
    ...parts(state, cluster, assignment),
  }));

const brokenMachineArb: fc.Arbitrary<Machine> = fc
  .tuple(
    machineArb,
    fc.constantFrom<Partial<Machine>[]>(
      { id: '' },
      { state: 9 as Machine['state'] },
      { pricePerHourUsd: Number.NaN },
      { pricePerHourUsd: -1 },
      { pricePerHourUsd: Number.POSITIVE_INFINITY },
      { interruptionProbability: 1.5 },
      { interruptionProbability: Number.NaN },
      { state: S.Idle, host: null },
      { state: S.Speculative, host: { provider: 'aws', ref: 'i' } },
      { state: S.Configured, cluster: '' },
      { state: S.Failed, lastError: '' },
    ),
  )
  .map(([machine, flaw]) => ({ ...machine, ...flaw }));

/** A change that may be legal: `pickNext` chooses one of the legal next states. */
export type Step =
  | { kind: 'insert'; machine: Machine; provider: number }
  | { kind: 'apply'; at: number; change: MachineChange; force: boolean }
  | { kind: 'advance'; at: number; pick: number; cluster: string; assignment: Assignment | null }
  | { kind: 'move'; at: number; to: number; force: boolean }
  | { kind: 'remove'; at: number }
  | { kind: 'intent'; at: number; intent: number; cluster: string; assignment: Assignment }
  | { kind: 'settle'; at: number }
  | { kind: 'flag'; at: number; flag: 1 | 2 | 4; on: boolean }
  | { kind: 'read'; state: number; cluster: string };

const at = fc.nat(11);
const changeArb: fc.Arbitrary<MachineChange> = fc.oneof(
  fc.record({ pricePerHourUsd: priceArb }),
  fc.record({ labels: labelsArb }),
  factsArb,
  fc.record({ cluster: fc.constantFrom('', 'east', 'west') }),
  fc.record({ assignment: fc.option(assignmentArb) }),
  fc.record({ lastError: fc.constantFrom('', 'odd noise') }),
  fc.record({ host: fc.constantFrom(null, { provider: 'gcp', ref: 'h2' }, { provider: '', ref: '' }) }),
  fc
    .tuple(stateArb, clusterArb, assignmentArb)
    .map(([state, cluster, assignment]) => ({ state, ...parts(state, cluster, assignment) })),
  fc.constantFrom<MachineChange[]>({ state: 0 as Machine['state'] }, { pricePerHourUsd: Number.NaN }, {}),
);

export const stepArb: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('insert' as const), machine: machineArb, provider: fc.nat(2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      machine: brokenMachineArb,
      provider: fc.nat(2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('apply' as const), at, change: changeArb, force: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      at,
      pick: fc.nat(2),
      cluster: clusterArb,
      assignment: fc.option(assignmentArb),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('move' as const),
      at,
      to: fc.integer({ min: 0, max: 9 }),
      force: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), at }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('intent' as const),
      at,
      intent: fc.nat(5),
      cluster: fc.constantFrom('', 'east', 'west', 'north'),
      assignment: assignmentArb,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('settle' as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('flag' as const),
      at,
      flag: fc.constantFrom(1, 2, 4),
      on: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('read' as const), state: stateArb, cluster: clusterArb }),
  },
);

/** The change that moves a machine to one of its legal next states; null if there is none. */
export function advance(
  state: number,
  pick: number,
  cluster: string,
  assignment: Assignment | null,
): MachineChange | null {
  const next = LEGAL[state]!;
  if (next.length === 0) return null;
  const to = next[pick % next.length]!;
  return { state: to, ...parts(to, cluster, assignment) };
}
