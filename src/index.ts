/**
 * `flotilla`: the inventory and the decision engine as a library, for programs that need decisions without a running shard:
 * capacity planning, what-if questions, tests of a provider or an operator. A `Planner` holds machines and needs, and decides
 * one cycle per call. It is synchronous, reads no clock and does no I/O: the same calls give the same actions.
 *
 *   import { amountsOf, CapacityType, MachineState, Planner } from 'flotilla';
 *
 *   const planner = new Planner();
 *   planner.putMachine({
 *     id: 'm-1', state: MachineState.Idle, host: { provider: 'rack-a', ref: 'h-1' }, zone: 'eu-1a', instanceType: 'c-16',
 *     capacityType: CapacityType.OnDemand, pricePerHourUsd: 0.68, capacity: amountsOf({ cpu: '16', memory: '64Gi' }),
 *   }, 0);
 *   planner.setNeeds('blue', [{ aggregate: { cpu: '24' }, minUnit: { cpu: '8' } }], 0);
 *   for (const action of planner.decide(0)) planner.begin(action);   // Bootstrap m-1 for blue
 *   planner.verdictsOf('blue');                                      // not satisfied, deficit { cpu: '8' }
 *
 * Between two decisions the caller carries out the actions, calls `begin` for each action that is under way (later decisions
 * then count it as done, as in a shard), and calls `putMachine` with what the provider reports. `tenants`
 * limits what clusters may have; the shard's caps on actions, reclaims and preemptions per cycle are not part of a decision. `decide` and `verdictsOf` make one object per
 * action and per need, which suits thousands of them; the shard reads columns instead.
 *
 * Errors are `ShardError`s with a stable `code`; the planner stays as it was before the call.
 */
export { ShardError } from './base/errors.ts';
export { formatAmounts } from './base/quantity.ts';
export {
  type ActionName,
  amountsOf,
  type ClusterLimit,
  type MachineRecord,
  type Need,
  type NeedVerdict,
  type PlannedAction,
  type PlannerOptions,
  type Quantities,
  type UnmetReasonName,
} from './library/plan.ts';
export { InvalidLimitError, NotDecidedError, Planner, UnknownMachineError } from './library/planner.ts';
export { CapacityType } from './machine/capacity-type.ts';
export type { Assignment, HostRef, Machine, ResourceAmounts } from './machine/machine.ts';
export { bucketOfDollars, PenaltyBucket } from './machine/penalty.ts';
export { MachineState } from './machine/state.ts';
export { Operator, type Requirement, type Spread, WhenUnsatisfiable } from './needs/requirements.ts';
