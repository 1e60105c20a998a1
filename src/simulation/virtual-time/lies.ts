/**
 * Providers with wrong listings: repeated rows, old rows, single wrong rows, empty listings, machines of another provider,
 * invalid records. Each lie ends by itself and must do no harm.
 */
import type { Random } from '../../base/random.ts';
import { canMove, MachineState } from '../../machine/state.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { MachineListing } from '../provider/provider.ts';
import type { Lie, SimulatedLink } from './provider-port.ts';
import type { SimulatedWorld } from './world.ts';

const S = MachineState;
/** Listings in a row that a lie changes. */
const TIMES_MAX = 2;
/** S6: the shard believes empty ones after ten minutes, so it must not believe these. */
const EMPTY_TIMES_MAX = 8;
const REPEATED_MS = 300_000;

type Bend = NonNullable<SimulatedLink['bend']>;

/** Changes the next `times` listings of a random provider. */
function bendNext(world: SimulatedWorld, random: Random, times: number, bend: Bend): SimulatedLink {
  const link = random.pick(world.links);
  let left = times;
  link.lies?.clear();
  link.bend = (listing, isFull) => {
    if (--left <= 0) link.bend = null;
    return bend(listing, isFull);
  };
  return link;
}

function changed(
  listing: MachineListing,
  share: number,
  random: Random,
  change: (machine: Machine) => Machine,
) {
  return {
    ...listing,
    machines: listing.machines.map((machine) => (random.chance(share) ? change(machine) : machine)),
  };
}

/**
 * S2: the shard believes an impossible state that two observations in a row show, so a repeated lie is not recorded. A
 * process may have been stopped between the two.
 */
function noteLie({ lies, latestLies }: SimulatedLink, id: string, lie: Lie): void {
  const before = latestLies?.get(id);
  const isRepeated = before?.state === lie.state && lie.atMs - before.atMs < REPEATED_MS;
  if (!isRepeated) lies?.set(id, lie);
  latestLies?.set(id, lie);
}

/** A state that cannot follow the machine's present one. */
function impossibleAfter(state: number, random: Random): MachineState {
  const states = [S.Speculative, S.Idle, S.Failed].filter(
    (to) => to !== state && !canMove(state as MachineState, to),
  );
  return states.length === 0 ? (state as MachineState) : random.pick(states);
}

function inState(machine: Machine, state: MachineState): Machine {
  const hasHost = state === S.Idle || state === S.Failed;
  return {
    ...machine,
    state,
    host: hasHost ? (machine.host ?? { provider: 'lie', ref: machine.id }) : null,
    cluster: '',
    shardMetadata: {},
    lastError: state === S.Failed ? 'a lie' : '',
  };
}

export const LIES = {
  'listing empty': (world: SimulatedWorld, random: Random) => {
    const times = random.between(1, EMPTY_TIMES_MAX);
    const link = bendNext(world, random, times, (listing, isFull) =>
      isFull ? { ...listing, machines: [], deletedIds: [] } : listing,
    );
    return `${link.name} ${times} times`;
  },
  'rows twice': (world: SimulatedWorld, random: Random) => {
    const { name } = bendNext(world, random, TIMES_MAX, (listing) => ({
      ...listing,
      machines: random.shuffle([...listing.machines, ...listing.machines.filter(() => random.chance(0.5))]),
    }));
    return name;
  },
  /** The old machines with the old revision, as from a lagging replica. */
  'old listing': (world: SimulatedWorld, random: Random) => {
    const link = random.pick(world.links);
    const old = link.provider.list();
    if (old.kind !== 'ok') return '';
    const afterMs = random.below(60_000);
    world.time.after(afterMs, () => {
      let left = random.between(1, TIMES_MAX);
      link.lies?.clear();
      link.bend = () => {
        if (--left <= 0) link.bend = null;
        return { ...old.value, deletedIds: [] };
      };
    });
    return `${link.name} as of ${afterMs} ms ago`;
  },
  'impossible rows': (world: SimulatedWorld, random: Random) => {
    const link = bendNext(world, random, 1, (listing) =>
      changed(listing, 0.2, random, (machine) => {
        const state = impossibleAfter(machine.state, random);
        noteLie(link, machine.id, { state, atMs: world.time.nowMs() });
        return inState(machine, state);
      }),
    );
    return link.name;
  },
  'broken records': (world: SimulatedWorld, random: Random) => {
    const link = bendNext(world, random, TIMES_MAX, (listing) =>
      changed(listing, 0.3, random, (machine) =>
        random.pick<Machine>([
          { ...machine, pricePerHour: -1 },
          { ...machine, interruptionProbability: 7 },
          { ...machine, state: 99 },
          { ...machine, state: S.Configured, cluster: '' },
          { ...machine, resources: { resources: { cpu: 'many' } }, allocatable: null },
        ]),
      ),
    );
    return link.name;
  },
  /** S1: an id belongs to the provider that listed it first. */
  "another's machines": (world: SimulatedWorld, random: Random) => {
    const foreign = world.links.flatMap(({ provider, name }) => {
      const listed = provider.list();
      return listed.kind === 'ok' ? listed.value.machines.map((machine) => ({ machine, name })) : [];
    });
    const link = bendNext(world, random, TIMES_MAX, (listing) => ({
      ...listing,
      machines: [
        ...listing.machines,
        ...foreign
          .filter(({ name }) => name !== link.name && random.chance(0.2))
          .map(({ machine }) => inState(machine, S.Idle)),
      ],
    }));
    return link.name;
  },
} as const;
