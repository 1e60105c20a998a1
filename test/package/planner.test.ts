/** The library: a planner decides what a shard would, and its words for it are stable. */
import { describe, expect, it } from 'vitest';
import {
  amountsOf,
  CapacityType,
  type MachineRecord,
  MachineState,
  type Need,
  type PlannedAction,
  Planner,
  type PlannerOptions,
  ShardError,
} from '../../src/index.ts';

const IDLE: MachineRecord = {
  id: 'm-1',
  state: MachineState.Idle,
  host: { provider: 'rack-a', ref: 'h-1' },
  instanceType: 'c-16',
  zone: 'eu-1a',
  capacityType: CapacityType.OnDemand,
  pricePerHourUsd: 0.68,
  capacity: amountsOf({ cpu: '16', memory: '64Gi' }),
};
const NEED: Need = { aggregate: { cpu: '24' }, minUnit: { cpu: '8' } };

function withMachine(machine: MachineRecord = IDLE): Planner {
  const planner = new Planner({ machinesMax: 64 });
  planner.putMachine(machine, 0);
  return planner;
}

function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof ShardError) return error.code;
    throw error;
  }
  return 'no error';
}

/** Begins the actions and reports what a provider would that is done at once. */
function carryOut(planner: Planner, actions: readonly PlannedAction[], nowMs: number): void {
  for (const action of actions) {
    planner.begin(action);
    const { cluster, assignment } = action;
    if (action.kind === 'Bootstrap')
      planner.putMachine(
        { ...IDLE, id: action.machineId, state: MachineState.Configured, cluster, assignment },
        nowMs,
      );
  }
}

describe('limits of a planner', () => {
  const two = (tenants: PlannerOptions['tenants']) => {
    const planner = new Planner({ machinesMax: 64, tenants: tenants ?? [] });
    planner.putMachine(IDLE, 0);
    planner.putMachine({ ...IDLE, id: 'm-2', host: { provider: 'rack-a', ref: 'h-2' } }, 0);
    planner.setNeeds('blue', [NEED], 0);
    return planner;
  };

  it('T8: keep a cluster from a second machine, and say which of them did', () => {
    const planner = two([{ cluster: 'bl*', maxMachines: 1 }]);
    expect(planner.decide(0)).toHaveLength(1);
    expect(planner.verdictsOf('blue')).toMatchObject([{ satisfied: false, limitedBy: 'max-machines' }]);
  });

  it('T8: count resources as Kubernetes writes them', () => {
    const planner = two([{ cluster: 'blue', maxResources: { memory: '100Gi' } }]);
    expect(planner.decide(0)).toHaveLength(1);
    expect(planner.verdictsOf('blue')).toMatchObject([{ limitedBy: 'max-resources' }]);
  });

  it('T8: apply to no cluster that no entry names', () => {
    const planner = two([{ cluster: 'green', maxMachines: 0 }]);
    expect(planner.decide(0)).toHaveLength(2);
    expect(planner.verdictsOf('blue')).toMatchObject([{ satisfied: true, limitedBy: '' }]);
  });

  it('T8: are refused if an amount means nothing', () => {
    expect(codeOf(() => two([{ cluster: 'blue', maxMachines: -1 }]))).toBe('invalid_limit');
    expect(codeOf(() => two([{ cluster: 'blue', maxResources: { cpu: 'much' } }]))).toBe('invalid_quantity');
  });
});

describe('a planner', () => {
  it('binds an idle machine to a need and says what is still missing', () => {
    const planner = withMachine();
    planner.setNeeds('blue', [NEED], 0);
    const actions = planner.decide(0);
    expect(actions).toMatchObject([
      { kind: 'Bootstrap', reason: 'phase1.idle', machineId: 'm-1', cluster: 'blue', forCluster: 'blue' },
    ]);
    const [verdict] = planner.verdictsOf('blue');
    expect(verdict).toMatchObject({ cluster: 'blue', satisfied: false, claimed: 1, bootstraps: 1 });
    expect(verdict!.deficit).toEqual({ cpu: '8' });
    expect(verdict!.fingerprint).toBe(actions[0]!.assignment!.fingerprint);
    expect(planner.unmet()).toEqual([verdict]);
  });

  it('counts an action that began as done, and chooses the machine again after it was abandoned', () => {
    const planner = withMachine();
    planner.setNeeds('blue', [{ ...NEED, aggregate: { cpu: '16' } }], 0);
    planner.begin(planner.decide(0)[0]!);
    expect(planner.decide(1)).toEqual([]);
    expect(planner.verdictsOf('blue')[0]!.satisfied).toBe(true);
    planner.abandon('m-1');
    expect(planner.decide(2)).toMatchObject([{ kind: 'Bootstrap', machineId: 'm-1' }]);
  });

  it('keeps the binding of a machine through observations that leave it out, until a reclaim has drained it', () => {
    const planner = withMachine();
    planner.setNeeds('blue', [NEED], 0);
    planner.begin(planner.decide(0)[0]!);
    planner.putMachine({ ...IDLE, state: MachineState.Configuring }, 1);
    planner.putMachine({ ...IDLE, state: MachineState.Configured }, 2);
    expect(planner.machine('m-1')).toMatchObject({ cluster: 'blue', assignment: { group: '', priority: 0 } });
    expect(planner.decide(3)).toEqual([]);

    planner.setNeeds('blue', [], 4);
    const [reclaim] = planner.decide(4);
    expect(reclaim).toMatchObject({ kind: 'Reclaim', cluster: 'blue', forCluster: '', assignment: null });
    expect(reclaim!.graceSeconds).toBeGreaterThan(0);
    planner.begin(reclaim!);
    planner.putMachine({ ...IDLE, state: MachineState.Draining }, 5);
    planner.putMachine(IDLE, 6);
    expect(planner.machine('m-1')).toMatchObject({ cluster: '', assignment: null });
    expect(planner.decide(6)).toEqual([]);
    expect(planner.decide(600_007)).toMatchObject([{ kind: 'Delete', machineId: 'm-1', cluster: '' }]);
  });

  it('preempts a need of lower priority, and gives the machine to the preemptor when it is idle', () => {
    const planner = withMachine();
    planner.setNeeds('blue', [{ ...NEED, aggregate: { cpu: '16' } }], 0);
    carryOut(planner, planner.decide(0), 0);
    planner.setNeeds('red', [{ ...NEED, aggregate: { cpu: '16' }, priority: 100 }], 1);
    const actions = planner.decide(1);
    expect(actions).toMatchObject([
      { kind: 'Preempt', machineId: 'm-1', cluster: 'blue', forCluster: 'red' },
    ]);
    carryOut(planner, actions, 1);
    expect(planner.decide(2), 'the drain counts for red').toEqual([]);
    planner.putMachine({ ...IDLE, state: MachineState.Draining }, 3);
    planner.putMachine(IDLE, 4);
    expect(planner.decide(5)).toMatchObject([{ kind: 'Bootstrap', machineId: 'm-1', cluster: 'red' }]);
  });

  it('creates a machine from an offer', () => {
    const planner = withMachine({ ...IDLE, state: MachineState.Speculative, host: null });
    planner.setNeeds('blue', [NEED], 0);
    expect(planner.decide(0)).toMatchObject([{ kind: 'Provision', machineId: 'm-1', cluster: 'blue' }]);
  });

  it('binds nothing to a cluster whose operator is not connected', () => {
    const connected = new Set<string>();
    const planner = new Planner({ machinesMax: 64, hasSession: (clusterId) => connected.has(clusterId) });
    planner.putMachine(IDLE, 0);
    planner.setNeeds('blue', [NEED], 0);
    expect(planner.decide(0)).toEqual([]);
    connected.add('blue');
    expect(planner.decide(1)).toHaveLength(1);
  });

  it('forgets a machine', () => {
    const planner = withMachine();
    expect(planner.machineCount).toBe(1);
    expect(planner.removeMachine('m-1')).toBe(true);
    expect(planner.removeMachine('m-1')).toBe(false);
    expect(planner.machine('m-1')).toBeNull();
    planner.setNeeds('blue', [NEED], 0);
    expect(planner.decide(0)).toEqual([]);
    expect(planner.machineCount).toBe(0);
  });

  it('refuses what is not valid, with a stable code, and stays as it was', () => {
    const planner = withMachine();
    planner.setNeeds('blue', [NEED], 0);
    const [action] = planner.decide(0);
    expect(codeOf(() => planner.putMachine({ ...IDLE, pricePerHourUsd: -1 }, 1))).toBe('invalid_machine');
    expect(codeOf(() => planner.setNeeds('blue', [{ aggregate: { cpu: 'much' } }], 1))).toBe(
      'rollup_rejected',
    );
    expect(codeOf(() => planner.begin({ ...action!, machineId: 'm-2' }))).toBe('unknown_machine');
    expect(codeOf(() => planner.abandon('m-2'))).toBe('unknown_machine');
    expect(planner.machine('m-1')!.pricePerHourUsd).toBe(0.68);
    expect(planner.verdictsOf('blue')).toHaveLength(1);
  });

  it('has no verdicts on needs that it has not decided on', () => {
    const planner = withMachine();
    expect(planner.verdictsOf('green')).toEqual([]);
    planner.setNeeds('blue', [NEED], 0);
    expect(codeOf(() => planner.verdictsOf('blue'))).toBe('not_decided');
    expect(codeOf(() => planner.unmet())).toBe('not_decided');
    planner.decide(0);
    expect(planner.verdictsOf('blue')).toHaveLength(1);
  });
});
