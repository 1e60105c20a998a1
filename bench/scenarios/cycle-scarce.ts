// Question: what does a cycle cost when machines are scarce? 500,000 machines, of which 99.7 % are bound; the others are
// unassigned in two zones, and the third zone is full, as the soak is after some minutes. So are two machine types, because a
// spread need can do without one zone. More than 2,000 needs stay unmet: plain ones, spread ones, folds, and gangs that
// wait for a rack. 1 % of the demand changes every ten seconds, and bursts of high priority begin and end, which preempt.
// Seed 1; the fleet is built and settled untimed, and only `decide` is timed.
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { ZONE_KEY, ZONES } from '../../src/simulation/catalogue/hardware.ts';
import { DEMAND_SHARE } from '../../src/simulation/catalogue/steady-demand.ts';
import type { ClusterDemand } from '../../src/simulation/operators/cluster-demand.ts';
import { ClosedLoop } from '../catalogue/closed-loop.ts';
import { CYCLE_MS } from '../catalogue/engine-fleet.ts';
import { timeLiveCycles } from '../catalogue/live-cycles.ts';
import { LiveFleet } from '../catalogue/live-fleet.ts';
import { QueuedLoop } from '../catalogue/queued-loop.ts';
import type { BenchContext, Scenario } from '../harness.ts';

const CHURN_SHARE = 0.01;
/** As in the soak: actions at a time, and half a second at the provider. */
const CONCURRENCY = 1_024;
const LATENCY_STEPS = 5;
/** Share of the machines that are unbound at first; bursts and other needs then take some: 2,500 and 1,000 of 500,000. */
const UNBOUND_SHARE = 0.005;
/** Machines that needs lack because a zone or a type is full, as a share of all: 2,250 of 500,000. */
const LACKING_SHARE = 0.0045;
const FULL_ZONE = ZONES[2];
const FULL_TYPES = ['realtime-48', 'gpu-infer-4'];
/** Unmet needs in every cycle: 2,000 of 500,000 machines. */
const UNMET_SHARE_MIN = 0.004;
/** Share of the clusters that have a burst, and the machines that it asks for. */
const BURSTING_SHARE = 0.05;
const BURST_MACHINES = 8;
/** Chance that a burst ends when its cluster reports. */
const BURST_END = 0.25;
const BURST_TYPES = ['cpu-batch-32', 'cpu-service-16', 'gpu-infer-1', 'mem-db-32'];
/** A gang is parked after eight ordinary cycles. */
const SETTLE_CYCLES = 10;
const WARMUPS = 10;
const CYCLES = 200;
const ORDINARY_EVERY = 100;

const FORMS = ['plain', 'spread', 'fold', 'gang'] as const;
type Form = (typeof FORMS)[number];

/** The form of the need that a machine serves, if no unassigned machine could replace this one; else null. */
function formWithoutOther({ zone, instanceType, assignment }: Machine): Form | null {
  if (zone !== FULL_ZONE || assignment === null) return null;
  const { fingerprint, group } = assignment;
  if (fingerprint.includes(`spr=${ZONE_KEY}`)) return FULL_TYPES.includes(instanceType) ? 'spread' : null;
  if (!fingerprint.includes(FULL_ZONE)) return null;
  if (group.startsWith('fold:')) return 'fold';
  return group === '' ? 'plain' : 'gang';
}

/** Takes every so many-th of `count` things, evenly, so that it takes `wanted` in all. */
class EvenChoice {
  readonly #step: number;
  #seen = 0;

  constructor(count: number, wanted: number) {
    this.#step = Math.min(1, wanted / Math.max(1, count));
  }

  take(): boolean {
    const before = Math.floor(this.#seen++ * this.#step);
    return Math.floor(this.#seen * this.#step) > before;
  }
}

/** The machines of a fleet that has more demand than machines: some needs of each form lack one. */
function* scarceMachines(steady: SteadyFleet, machines: number): Generator<Machine> {
  const counts = new Map<Form | 'unbound', number>();
  const count = (what: Form | 'unbound') => counts.set(what, (counts.get(what) ?? 0) + 1);
  const kindOf = (machine: Machine) => {
    if (machine.cluster !== '') return formWithoutOther(machine);
    return machine.zone === FULL_ZONE || FULL_TYPES.includes(machine.instanceType) ? null : 'unbound';
  };
  for (const machine of steady.machines()) {
    const kind = kindOf(machine);
    if (kind !== null) count(kind);
  }
  const unbound = new EvenChoice(counts.get('unbound') ?? 0, machines * UNBOUND_SHARE);
  const lackingOfForm = (machines * LACKING_SHARE) / FORMS.length;
  const lacking = new Map(FORMS.map((form) => [form, new EvenChoice(counts.get(form) ?? 0, lackingOfForm)]));
  for (const machine of steady.machines()) {
    const kind = kindOf(machine);
    if (
      kind === 'unbound'
        ? unbound.take()
        : kind === null
          ? machine.cluster !== ''
          : !lacking.get(kind)!.take()
    )
      yield machine;
  }
}

/** Bursts of high priority in some clusters. */
class Bursts {
  readonly #fleet: LiveFleet;
  readonly #types: readonly number[];
  readonly #bursting = new Set<ClusterDemand>();

  constructor(fleet: LiveFleet) {
    this.#fleet = fleet;
    this.#types = BURST_TYPES.map((wanted) => fleet.types.findIndex(({ name }) => name === wanted));
    for (const demand of fleet.clusters) if (fleet.random.chance(BURSTING_SHARE)) this.#begin(demand);
  }

  change(demand: ClusterDemand): void {
    const { random } = this.#fleet;
    if (this.#bursting.has(demand)) {
      if (!random.chance(BURST_END)) return;
      demand.endBurst();
      this.#bursting.delete(demand);
    } else if (random.chance((BURST_END * BURSTING_SHARE) / (1 - BURSTING_SHARE))) this.#begin(demand);
  }

  #begin(demand: ClusterDemand): void {
    demand.beginBurst(this.#fleet.random.pick(this.#types), BURST_MACHINES);
    this.#bursting.add(demand);
  }
}

function load(context: BenchContext): { readonly fleet: LiveFleet; readonly bursts: Bursts } {
  const { machines } = context.params;
  context.progress('building the fleet');
  // As many machines are wanted as there are.
  const steady = new SteadyFleet(Math.round(machines / DEMAND_SHARE));
  const fleet = new LiveFleet(Math.ceil(machines * 1.01), steady.demand, CHURN_SHARE);
  for (const machine of scarceMachines(steady, machines)) fleet.insert(machine);
  const bursts = new Bursts(fleet);
  fleet.reportAll();
  fleet.inventory.ensureRanks();
  return { fleet, bursts };
}

/** Every action is executed at once, until only needs without a machine are left. */
function settle(context: BenchContext, fleet: LiveFleet): void {
  context.progress('settling');
  const loop = new ClosedLoop(fleet);
  for (let cycle = 0; cycle < SETTLE_CYCLES; cycle++) {
    fleet.nowMs += CYCLE_MS;
    fleet.decide();
    loop.execute();
  }
}

/** How many unmet needs have each form. */
function sampleUnmet(context: BenchContext, fleet: LiveFleet): void {
  const { engine, needs, inventory } = fleet;
  const counts = new Map<Form, Set<string>>(FORMS.map((form) => [form, new Set()]));
  engine.unmetRows((cluster, row) => {
    const { fingerprint, group } = engine.servedAs(cluster, row);
    const groupText = inventory.tables.groups.get(group);
    const { spread } = needs.profiles.get(needs.profile[needs.sliceStart(cluster) + row]!);
    const form =
      spread.length > 0
        ? 'spread'
        : groupText.startsWith('fold:')
          ? 'fold'
          : groupText === ''
            ? 'plain'
            : 'gang';
    counts.get(form)!.add(`${cluster} ${fingerprint} ${group}`);
  });
  for (const [form, needsOfForm] of counts) {
    context.sample(`unmet at the start: ${form}`, 'needs', needsOfForm.size);
    context.check(needsOfForm.size > 0, `some needs of the form ${form} are unmet`);
  }
}

export const scenario: Scenario = {
  name: 'cycle-scarce',
  question: 'What does a cycle cost when 99.7 % of a fleet are bound and 2,000 needs stay unmet?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [
    { name: 'cycle in scarcity', metric: 'scarce', limit: 15, direction: 'below' },
    { name: 'its tail', metric: 'scarce', statistic: 'p99', limit: 40, direction: 'below' },
  ],
  async run(context) {
    const { fleet, bursts } = load(context);
    settle(context, fleet);
    sampleUnmet(context, fleet);
    const { indexes, count } = fleet.inventory;
    const boundShare = indexes.countInState(MachineState.Configured) / count;
    context.sample('bound at the start', '%', 100 * boundShare);
    context.check(boundShare > 0.99, 'nearly all machines are bound');
    const unmetMin = timeLiveCycles(context, fleet, new QueuedLoop(fleet, CONCURRENCY, LATENCY_STEPS), {
      name: 'scarce',
      warmups: WARMUPS,
      cycles: CYCLES,
      ordinaryEvery: ORDINARY_EVERY,
      changeDemand: (demand) => bursts.change(demand),
    });
    context.check(unmetMin >= count * UNMET_SHARE_MIN, `more needs stay unmet than ${unmetMin}`);
  },
};
