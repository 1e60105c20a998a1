/**
 * Controls of people (H1 to H6) as accidents: they appear, are lifted, and expire, over restarts. The world keeps its own record of
 * what was commanded, so that a shard which forgets a control is found out.
 */
import type { Random } from '../../base/random.ts';
import { Intent } from '../../inventory/intent.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import { sameScope, WHOLE_FLEET } from '../../shard/controls/control.ts';
import { cordons } from '../../shard/controls/flags.ts';
import {
  type Control,
  type ControlScope,
  PAUSABLE,
  type Pausable,
  type Told,
} from '../../shard/ports/controls.ts';
import type { ProviderCall } from '../../shard/ports/providers.ts';
import { Violation } from './invariants.ts';
import type { Process, SimulatedWorld } from './world.ts';

const COMMANDER = { who: 'simulated', why: 'drawn from the seed', via: 'simulation' };

/** Commands a pause, a cordon or a drain. It is in force when the shard says so. */
export function controlAtRandom(world: SimulatedWorld, random: Random): string {
  return random.chance(0.5) ? pauseAtRandom(world, random) : orderAtRandom(world, random);
}

/** H5, H6: about one machine or a place. */
function orderAtRandom(world: SimulatedWorld, random: Random): string {
  const order = random.pick(['cordon', 'drain', 'drain', 'drain-now']);
  const drawn = { ...drawScope(world, random), cluster: '' };
  const machine = random.pick(world.links).provider.list();
  const ids = machine.kind === 'ok' ? machine.value.machines.map(({ id }) => id) : [];
  const scope = random.chance(0.5) && ids.length > 0 ? { ...WHOLE_FLEET, machine: random.pick(ids) } : drawn;
  const forMs = random.between(10, 240) * 1_000;
  const { process } = world;
  process?.life.receive(() => {
    // It takes the place of an order for the same machines.
    for (const [id, control] of world.commanded)
      if (cordons(control) && sameScope(control.scope, scope)) world.commanded.delete(id);
    process.shard.admin.order({ order, scopes: [scope], forMs, isPreview: false, ...COMMANDER }).then(
      ({ controls }) => {
        // A cycle ran since it came into force, and it may have been lifted meanwhile.
        const { inForce } = process.shard.controls;
        for (const control of controls)
          if (inForce.some(({ id }) => id === control.id)) world.commanded.set(control.id, control);
      },
      () => {}, // the whole fleet, or a machine that the shard does not know
    );
  });
  return `${order} ${JSON.stringify(scope)} for ${forMs} ms`;
}

function pauseAtRandom(world: SimulatedWorld, random: Random): string {
  const pauses = random.chance(0.1) ? ['all'] : random.shuffle([...PAUSABLE]).slice(0, random.between(1, 2));
  const scope = drawScope(world, random);
  const forMs = random.between(10, 240) * 1_000;
  const { process } = world;
  process?.life.receive(() => {
    process.shard.admin.pause({ pauses, scope, forMs, ...COMMANDER }).then(
      (control) => world.commanded.set(control.id, control),
      () => {}, // release of a cluster, for example
    );
  });
  return `${pauses.join(',')} ${JSON.stringify(scope)} for ${forMs} ms`;
}

export function liftAtRandom(world: SimulatedWorld, random: Random): string {
  const ids = [...world.commanded.keys()];
  if (ids.length === 0) return 'none';
  const id = random.pick(ids);
  lift(world, { id, isEvery: false });
  return id;
}

export function liftEvery(world: SimulatedWorld): void {
  lift(world, { id: '', isEvery: true });
}

function lift(world: SimulatedWorld, named: { readonly id: string; readonly isEvery: boolean }): void {
  const { process } = world;
  process?.life.receive(() => {
    const forget = () => (named.isEvery ? world.commanded.clear() : world.commanded.delete(named.id));
    forget();
    // A pause may come into force before its lifting does. It may also have expired meanwhile.
    process.shard.admin
      .resume({ ...named, pauses: [], scope: WHOLE_FLEET, ...COMMANDER })
      .then(forget, () => {});
  });
}

function drawScope(world: SimulatedWorld, random: Random): ControlScope {
  const { provider, name } = random.pick(world.links);
  const listed = provider.list();
  const machines = listed.kind === 'ok' ? listed.value.machines : [];
  const machine = machines.length === 0 ? null : random.pick(machines);
  switch (random.below(6)) {
    case 0:
      return { ...WHOLE_FLEET, cluster: random.pick([...world.clusters.keys()]) };
    case 1:
      return { ...WHOLE_FLEET, provider: name };
    case 2:
      return { ...WHOLE_FLEET, zone: machine?.zone ?? 'nowhere' };
    case 3:
      return { ...WHOLE_FLEET, instanceType: machine?.instanceType ?? 'none' };
    case 4:
      return {
        ...WHOLE_FLEET,
        capacityType: CAPACITY_TYPE_NAMES[(machine?.capacityType ?? 0) as CapacityType],
        cluster: random.chance(0.3) ? random.pick([...world.clusters.keys()]) : '',
      };
    default:
      return WHOLE_FLEET;
  }
}

/** H3: a pause in force lets no call through, whenever the action was decided. */
export function checkPausedCall(world: SimulatedWorld, process: Process, call: ProviderCall): void {
  const slot = process.shard.inventory.find(call.machineId);
  const intent = process.shard.inventory.columns.intent[slot];
  const steps: readonly Pausable[] =
    call.kind === 'create'
      ? ['create', 'bind']
      : call.kind === 'configure'
        ? ['bind']
        : call.kind === 'delete'
          ? ['release']
          : [intent === Intent.Preempt ? 'preempt' : 'reclaim'];
  const control = pausing(world, process, slot, steps);
  if (control !== null)
    throw new Violation(
      `H3: the shard sends ${call.kind} for ${call.machineId}, although control ${control.id} pauses ${control.pauses.join(', ')}`,
    );
}

/** H2: a control ends in time, and one that was commanded is in force until then. */
export function checkInForce(world: SimulatedWorld, process: Process): void {
  const nowMs = process.life.nowMs();
  const { inForce } = process.shard.controls;
  for (const { id, untilMs } of inForce)
    if (untilMs !== null && untilMs <= nowMs)
      throw new Violation(`H2: control ${id} is in force after its end`);
  if (process !== world.process) return;
  for (const { id, untilMs } of world.commanded.values())
    if (untilMs! > nowMs && !inForce.some((control) => control.id === id))
      throw new Violation(`H2: control ${id} is not in force before its end`);
}

/** H3: a cycle decides nothing that a pause in force forbids. */
export function checkPausedAction(world: SimulatedWorld, process: Process, slot: number): void {
  const { inventory } = process.shard;
  const steps: Readonly<Record<number, readonly Pausable[]>> = {
    [Intent.Bootstrap]: ['bind'],
    [Intent.Provision]: ['create', 'bind'],
    [Intent.Reclaim]: ['reclaim'],
    [Intent.Preempt]: ['preempt'],
    [Intent.Delete]: ['release'],
  };
  const intent = inventory.columns.intent[slot]!;
  const control = pausing(world, process, slot, steps[intent] ?? []);
  if (control !== null)
    throw new Violation(
      `H3: the cycle begins action ${intent} for ${inventory.idOf(slot)}, although control ${control.id} pauses ${control.pauses.join(', ')}`,
    );
}

function pausing(
  world: SimulatedWorld,
  process: Process,
  slot: number,
  steps: readonly Pausable[],
): Control | null {
  if (process !== world.process || slot === 0) return null; // an older process has controls of its own
  const nowMs = process.life.nowMs();
  for (const control of world.commanded.values()) {
    if (control.untilMs !== null && control.untilMs <= nowMs) continue;
    // For a cluster, create and bind mean the same: it gets no machines.
    const acquires = steps.some((step) => step === 'create' || step === 'bind');
    const wanted: readonly Pausable[] = acquires && control.scope.cluster !== '' ? ['create', 'bind'] : steps;
    // H6: a cordoned machine gets no need, serves as no victim and is not released.
    const does: readonly Told[] = cordons(control)
      ? ['create', 'bind', 'preempt', 'release']
      : control.pauses;
    if (wanted.some((step) => does.includes(step)) && isIn(control.scope, process, slot)) return control;
  }
  return null;
}

function isIn(scope: ControlScope, { shard }: Process, slot: number): boolean {
  const { inventory } = shard;
  const machine = inventory.get(slot);
  const facts: ControlScope = {
    cluster: inventory.tables.clusters.get(inventory.columns.cluster[slot]!),
    provider: shard.reconciler.view()[inventory.columns.provider[slot]!]?.name ?? '',
    zone: machine.zone,
    instanceType: machine.instanceType,
    capacityType: CAPACITY_TYPE_NAMES[machine.capacityType],
    machine: machine.id,
  };
  return (Object.keys(scope) as (keyof ControlScope)[]).every(
    (part) => scope[part] === '' || scope[part] === facts[part],
  );
}
