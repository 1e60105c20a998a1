/**
 * T2: a decision that may throw. One faulty need must not stop the decisions for all clusters, and a cycle that threw must
 * emit no action. So the shard rebuilds the engine from the tables and decides again; if that throws for a known need, it
 * suspends the need's cluster and decides once more. If nothing helps, the shard turns unready until an ordinary cycle
 * succeeds. A new engine has 13 to 100 MB of columns for a million machines, and those of the old one stay until they are
 * collected: throws that repeat within seconds get no second try.
 */
import { boundedDetail } from '../../base/outside-text.ts';
import type { CycleCost, CycleInput, Engine, PhaseListener } from '../../decision/engine.ts';
import type { NeedRefs } from '../../decision/inspection.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';
import type { Suspensions } from './suspensions.ts';

/** A first throw, one of the rebuilt engine, and one without the suspended cluster. */
const THROWS_MAX = 3;
/** Without a known need there is no cluster to suspend, so a third decision would do what the second did. */
const UNKNOWN_THROWS_MAX = 2;
/** Throws without a known need that follow each other this closely count as throws of one cycle. */
const UNKNOWN_REPEATED_MS = 10_000;
/** After a failure: one new engine a second, however short the interval of cycles is. */
const RETRY_MS = 1_000;

export interface GuardedDecisionOptions {
  readonly engine: Engine;
  readonly inventory: Inventory;
  readonly suspensions: Suspensions;
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
}

export class GuardedDecision {
  readonly #options: GuardedDecisionOptions;
  #failure = '';
  #failedMs = 0;
  /** When a decision threw last without a known need. */
  #unknownMs = Number.NEGATIVE_INFINITY;

  constructor(options: GuardedDecisionOptions) {
    this.#options = options;
  }

  /** Why the last decision failed: '' or a sentence. */
  get failure(): string {
    return this.#failure;
  }

  /** Null: the decision failed, or the last one did and this cycle is woken. The engine then has no actions. */
  decide(input: CycleInput, onPhase: PhaseListener): { cost: CycleCost; throws: number } | null {
    const { nowMs } = input;
    const isTooSoon = !input.isOrdinary || Math.abs(nowMs - this.#failedMs) < RETRY_MS;
    if (this.#failure !== '' && isTooSoon) return null;
    let unknown = Math.abs(nowMs - this.#unknownMs) < UNKNOWN_REPEATED_MS ? 1 : 0;
    for (let throws = 0; ; ) {
      try {
        const cost = this.#options.engine.decide(input, onPhase);
        this.#failure = '';
        return { cost, throws };
      } catch (error) {
        throws++;
        const need = this.#threw(error);
        const isRepeated = need !== null && this.#options.suspensions.threw(need.cluster, nowMs);
        if (need === null) {
          unknown++;
          this.#unknownMs = nowMs;
        }
        if (throws >= THROWS_MAX || unknown >= UNKNOWN_THROWS_MAX) {
          this.#fail(error, throws, nowMs);
          return null;
        }
        if (need !== null && (throws > 1 || isRepeated)) this.#suspend(need, error, nowMs);
      }
    }
  }

  /** Counts and logs the throw, and rebuilds the engine. Returns the need that the engine worked on. */
  #threw(error: unknown): NeedRefs | null {
    const { engine, counters, observer } = this.#options;
    counters.decisionThrows++;
    const need = engine.culprit();
    const worksOn = need === null ? '' : this.#textOf(need);
    const lost = engine.rebuild();
    observer.happened({
      kind: 'decision_threw',
      level: 'error',
      detail: detailOf(error),
      need: worksOn,
      lost,
    });
    return need;
  }

  #suspend(need: NeedRefs, error: unknown, nowMs: number): void {
    const { suspensions, counters, observer } = this.#options;
    const reason = `the decision for ${this.#textOf(need)} threw: ${messageOf(error)}`;
    const { clusterId, untilMs } = suspensions.suspend(need.cluster, reason, nowMs);
    counters.clustersSuspended++;
    observer.happened({ kind: 'cluster_suspended', level: 'error', clusterId, reason, untilMs });
  }

  #fail(error: unknown, throws: number, nowMs: number): void {
    const { counters, observer } = this.#options;
    this.#failedMs = nowMs;
    const how = throws === 1 ? 'threw again' : `threw ${throws} times in one cycle`;
    this.#failure =
      `the decision ${how}: ${messageOf(error)}; the shard emits no action and tries ` +
      'again with the next ordinary cycle';
    counters.decisionsFailed++;
    observer.happened({ kind: 'decision_failed', level: 'error', detail: this.#failure });
  }

  #textOf({ cluster, fingerprint, group }: NeedRefs): string {
    const { clusters, fingerprints, groups } = this.#options.inventory.tables;
    return `need ${clusters.get(cluster)}/${groups.get(group)} (${boundedDetail(fingerprints.get(fingerprint))})`;
  }
}

function messageOf(error: unknown): string {
  return boundedDetail(error instanceof Error ? error.message : String(error));
}

/** With the stack: a throw is a defect of the shard, and its place says which. */
function detailOf(error: unknown): string {
  return boundedDetail(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
