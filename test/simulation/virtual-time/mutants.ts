/**
 * Bugs that somebody could write: each a change of one text in one compiled module. The simulator has to notice every
 * one of them, or it would not notice the real ones either. `find` must occur exactly once in its file.
 */
export interface Mutant {
  readonly why: string;
  /** Below dist/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Whose histories show it. */
  readonly profile: 'calm' | 'usual' | 'storm' | 'restarts' | 'liar';
  /** Also in `npm test`. */
  readonly isQuick?: true;
}

const APPLY = 'listing/apply/apply.js';
const RECONCILER = 'shard/reconcile/reconciler.js';
const CHANGES = 'shard/machines/changes.js';
const BACKOFF = 'shard/machines/backoff.js';
const ANNOUNCE = 'shard/machines/announce.js';
const EXECUTOR = 'shard/execute/executor.js';
const RUNNER = 'shard/execute/runner.js';
const SLOTS = 'shard/execute/fair-slots.js';
const RAILS = 'shard/cycle/rails.js';
const SHARD = 'shard/shard.js';
const ENGINE = 'decision/engine.js';
const FREED = 'decision/preempt/draining-credit.js';

export const MUTANTS: readonly Mutant[] = [
  {
    why: 'S4: rows are applied to machines in flight',
    file: APPLY,
    find: 'this.#inventory.columns.intent[slot] !== Intent.None ||',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'S4: rows that were listed before the last local change are applied',
    file: APPLY,
    find: 'this.#context.changes.changedSince(slot, this.#begun)',
    replace: 'false',
    profile: 'storm',
  },
  {
    why: 'S4: a deferred row is never read again',
    file: EXECUTOR,
    find: 'reads.settled(slot);',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'X1: an action settles and its machine goes on carrying it',
    file: EXECUTOR,
    find: 'inventory.clearIntent(slot);',
    replace: '',
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'S2: an impossible state is believed at once',
    file: CHANGES,
    find: "return 'doubted';",
    replace: "return 'confirmed';",
    profile: 'liar',
  },
  {
    why: 'S2: an impossible state is never believed',
    file: CHANGES,
    find: "if (isAgain)\n            return 'confirmed';",
    replace: '',
    profile: 'usual',
  },
  {
    why: 'I2: a listing does not say whose a machine is',
    file: APPLY,
    find: 'row.cluster = this.#refs.clusters.get(rows.cluster[index]);',
    replace: 'row.cluster = 0;',
    profile: 'restarts',
  },
  {
    why: 'X8: nobody asks what became of a call without an answer',
    file: RUNNER,
    find: "return settlement('timeout', detail, 'follow');",
    replace: "return settlement('timeout', detail);",
    profile: 'usual',
  },
  {
    why: 'X13: nobody looks after an asynchronous operation',
    file: RUNNER,
    find: "return settlement('accepted', '', 'follow');",
    replace: "return settlement('accepted', '');",
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'X5: a roll-back leaves the machine as it is',
    file: RUNNER,
    find: 'this.#move(action.slot, S.Idle);',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'X9: a roll-back counts as success',
    file: RUNNER,
    find: 'this.#move(action.slot, S.Idle);\n        return settlement(outcome, detail);',
    replace: "this.#move(action.slot, S.Idle);\n        return settlement('success', detail);",
    profile: 'usual',
  },
  {
    why: 'X5: a need without a blob is asked for again at once',
    file: RUNNER,
    find: 'needBackoffs.failed(needCluster, needFingerprint, needGroup, detail, clock.nowMs());',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'X10: the provider is not told what the machine is bound for',
    file: RUNNER,
    find: 'shardMetadata: shardMetadata(assignment),',
    replace: 'shardMetadata: {},',
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'X1: an enqueued action does not show on its machine whom it is for',
    file: EXECUTOR,
    find: 'isBinding ? this.#bindingAt(list, index) : undefined',
    replace: 'undefined',
    profile: 'calm',
  },
  {
    why: 'M5: a machine that is Idle again keeps its binding',
    file: 'inventory/binding.js',
    find: 'if (to === S.Idle || to === S.Speculative)\n        return from !== to;',
    replace: '',
    profile: 'calm',
  },
  {
    why: 'O3: a machine leaves without a word',
    file: ANNOUNCE,
    find: 'this.#left(slot, to, before);',
    replace: ';',
    profile: 'calm',
  },
  {
    why: 'O3: only new states of other machines are told',
    file: ANNOUNCE,
    find: 'if (after !== 0 && (from !== 0 || this.#mustReport(after)))',
    replace: 'if (after !== 0 && from === 0)',
    profile: 'calm',
  },
  {
    why: 'P6: machines that are found Draining are not marked',
    file: APPLY,
    find: 'this.#inventory.setFlag(slot, Flag.FoundDraining, true);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'P6: a drain that its owner no longer needs counts for nobody',
    file: FREED,
    find: '!this.#counted.has(slot) && this.#isDraining(slot)',
    replace: 'this.#drains.assignmentOf(slot) === 0 && this.#isDraining(slot)',
    profile: 'storm',
  },
  {
    why: 'P6: what drains for a need does not count for it',
    file: SHARD,
    find: '=> this.engine.preemptionBegan(slot, cluster, fingerprint, group),',
    replace: '=> {},',
    profile: 'usual',
  },
  {
    why: 'X12: a back-off never ends',
    file: BACKOFF,
    find: 'this.#flag(slot, this.#isBarred(slot));\n        }\n        for',
    replace: '}\n        for',
    profile: 'usual',
  },
  {
    why: 'X12: a failure has no consequence',
    file: BACKOFF,
    find: 'this.#flag(slot, true);\n        if (from === S.Creating)',
    replace: 'if (from === S.Creating)',
    profile: 'usual',
  },
  {
    why: 'R2: the cap of reclaims is not kept',
    file: RAILS,
    find: 'taken >= reclaimMax(configuredOf(cluster), rails.reclaimCapFraction)',
    replace: 'false',
    profile: 'usual',
  },
  {
    why: 'C3: actions of a cycle have no limit',
    file: RAILS,
    find: 'rails.actionsPerCycleMax > 0 && admitted.length >= rails.actionsPerCycleMax',
    replace: 'false',
    profile: 'calm',
  },
  {
    why: 'C4: the kill switch does nothing',
    file: RAILS,
    find: "return 'suppressed';",
    replace: "return 'none';",
    profile: 'usual',
  },
  {
    why: 'X3: calls under way have no limit',
    file: SLOTS,
    find: 'this.#inUse < this.slotsMax &&',
    replace: '',
    profile: 'calm',
  },
  {
    why: 'N6: machines are reclaimed before their cluster has reported',
    file: ENGINE,
    find: 'const isPastGate = (cluster) => needs.hasReported(cluster);',
    replace: 'const isPastGate = () => true;',
    profile: 'restarts',
    isQuick: true,
  },
  {
    why: 'C1: woken cycles reclaim',
    file: ENGINE,
    find: 'if (input.isOrdinary)\n            this.#reclamation',
    replace: 'this.#reclamation',
    profile: 'calm',
  },
  {
    why: 'A9: machines are bound for clusters without a session',
    file: ENGINE,
    find: 'if (!this.#options.hasSession(ref))\n            return true;',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'R3: idle machines are released at once',
    file: 'decision/reclaim/reclaim.js',
    find: 'nowMs - columns.stateSinceMsOf(slot) <= holdMs',
    replace: 'false',
    profile: 'calm',
  },
  {
    why: 'C2: nobody waits for the first listing of every provider',
    file: RECONCILER,
    find: '.filter((known) => !known.isOptional && known.listings === 0)',
    replace: '.filter(() => false)',
    profile: 'usual',
  },
  {
    why: 'S6: one empty listing removes everything',
    file: RECONCILER,
    find: 'const AGREEING_LISTINGS = 3;',
    replace: 'const AGREEING_LISTINGS = 1;',
    profile: 'liar',
    isQuick: true,
  },
  {
    why: 'S5: with cursors no listing is ever full again',
    file: RECONCILER,
    find: 'provider.cursor.length === 0 || isDue || hasMoved;',
    replace: 'provider.cursor.length === 0 || hasMoved;',
    profile: 'usual',
  },
  {
    why: 'S1: the cursor is kept and the rows are not applied',
    file: RECONCILER,
    find: 'while (!application.isDone && !this.#isStopped) {',
    replace: 'while (!application.isDone && !this.#isStopped && (number < 4 || number % 4 > 0)) {',
    profile: 'usual',
  },
  {
    why: 'X8: a fenced process goes on',
    file: SHARD,
    find: 'void this.executor.stop(0);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'X8: a fenced process keeps its sessions',
    file: SHARD,
    find: 'this.#operators.endAll(this.#fenced);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'V2: a penalty bucket that nobody knows is accepted',
    file: 'needs/rollup.js',
    find: 'if (!isPenaltyBucket(bucket))',
    replace: 'if (false)',
    profile: 'usual',
  },
];
