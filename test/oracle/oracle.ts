/**
 * The oracle: rules A0–A9, P1–P6, R1, R3 and R4 (docs/rules.md) as a plain, slow program over plain objects. Tests compare
 * the decision engine with it, so each function quotes the sentence that it implements, in the words in which the rules
 * were first written; `READING:` marks where a sentence leaves a choice, and `OURS:` where this project decided otherwise.
 * Nothing is cached: a cycle of forty machines takes milliseconds, which is enough.
 */
import { acquire } from './acquire.ts';
import { credit } from './credit.ts';
import { holdLeaving } from './leaving.ts';
import { normalise, originalNeeds } from './normalise.ts';
import { preempt } from './preempt.ts';
import { reclaim, release, withdraw } from './reclaim.ts';
import { parkingAfter, shortfallsOf, verdictsOf } from './verdicts.ts';
import type { Cycle, LiveNeed, Turn } from './view.ts';
import { needKey, type OracleResult, type World } from './world.ts';

export function decide(world: World): OracleResult {
  const originals = originalNeeds(world);
  const needs = normalise(world, originals);
  const turns = new Map(needs.map((need) => [need.key, beginTurn(world, need)]));
  const cycle: Cycle = { world, needs, turns, claims: new Map(), actions: [], limitTaken: new Map() };

  // R4: "Actions of a cycle are ordered: phase 1, phase 2, phase 3."
  credit(cycle);
  holdLeaving(cycle);
  acquire(cycle);
  preempt(cycle);
  withdraw(cycle);
  reclaim(cycle);
  release(cycle);

  const verdicts = verdictsOf(cycle, originals);
  const unmetNow = verdicts.filter((verdict) => verdict.cyclesUnmet > 0);
  return {
    actions: cycle.actions,
    claims: new Map([...cycle.claims].map(([machine, need]) => [machine, need.key])),
    verdicts,
    parking: parkingAfter(cycle),
    unmet: new Map(
      unmetNow.map(({ cluster, group, fingerprint, cyclesUnmet }) => [
        needKey(cluster, group, fingerprint),
        cyclesUnmet,
      ]),
    ),
    shortfalls: shortfallsOf(cycle),
  };
}

function beginTurn(world: World, need: LiveNeed): Turn {
  return {
    need,
    isParked: isParked(world, need),
    // A9: "A cluster without a session […] and a need in X5's back-off get credit only".
    // H3: a cluster under a pause of create or bind, too.
    isBarred: !need.cluster.hasSession || need.backoff || need.cluster.paused === true,
    domain: null,
    isSatisfiable: true,
    reserved: new Set(),
    credited: [],
    held: [],
    heldOutside: [],
    acquired: [],
    bootstrapCount: 0,
    provisionCount: 0,
    remaining: need.aggregate,
    spreadDomains: new Set(),
    draining: [],
    victims: [],
    missing: {},
    limitedBy: '',
  };
}

/**
 * A7: "With a count of 8 or more at the start of a cycle it is parked […]; in an ordinary cycle whose count is a multiple of 32
 * it is tried." READING: a need that is tried is not parked in that cycle.
 */
function isParked(world: World, need: LiveNeed): boolean {
  const count = world.parking.get(need.key) ?? 0;
  if (need.sameKeys.length === 0 || count < 8) return false;
  return !(world.ordinary && count % 32 === 0);
}
