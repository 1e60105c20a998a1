/**
 * Plausible bugs: each changes one text in one compiled module. The simulator must find every one of them, or it would not
 * find real ones either. `find` must occur exactly once in its file.
 */
export interface Mutant {
  readonly why: string;
  /** Below dist/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The profile whose histories reveal it. */
  readonly profile:
    | 'calm'
    | 'usual'
    | 'storm'
    | 'restarts'
    | 'liar'
    | 'breaking'
    | 'steered'
    | 'stalls'
    | 'replicas';
  /** Only histories that acquire by value reveal it (E1). */
  readonly isByValue?: true;
  /** Only histories beside a hostile tenant reveal it. */
  readonly isHostile?: true;
  /** Also runs in `npm test`. */
  readonly isQuick?: true;
}

const PULSE = 'base/pulse.js';
const LONE_CALL = 'shard/execute/lone-call.js';
const SESSION_BITS = 'shard/operators/session-bits.js';
const LEADERSHIP = 'directory/election/leadership.js';
const CLAIM = 'directory/election/claim.js';
const CANDIDACY = 'directory/election/candidacy.js';
const MIRROR = 'directory/mirror.js';
const FENCING = 'provider/client/fencing.js';
const ROW_INTENTS = 'inventory/row-intents.js';
const CONFIRMATION = 'base/confirmation.js';
const CONTROLS = 'replica/controls.js';
const APPLY = 'listing/apply/apply.js';
const RECONCILER = 'shard/reconcile/reconciler.js';
const REMOVAL_HOLD = 'shard/reconcile/removal-hold.js';
const INTENT = 'inventory/intent.js';
const CHANGES = 'shard/machines/changes.js';
const BACKOFF = 'shard/machines/backoff.js';
const READS = 'shard/machines/reads.js';
const ANNOUNCE = 'shard/machines/announce.js';
const STRING_TABLE = 'base/string-table.js';
const ACTION = 'shard/execute/action.js';
const EXECUTOR = 'shard/execute/executor.js';
const RUNNER = 'shard/execute/runner.js';
const FAILED_ATTEMPTS = 'shard/execute/failed-attempts.js';
const PROBATION = 'shard/cycle/probation.js';
const SLOTS = 'shard/execute/fair-slots.js';
const CYCLE = 'shard/cycle/cycle.js';
const RAILS = 'shard/cycle/rails.js';
const PREEMPTION_CAP = 'shard/cycle/preemption-cap.js';
const TENANT_LIMITS = 'needs/tenant-limits.js';
const EXECUTION = 'shard/execute/execution.js';
const BUDGETS = 'shard/disruption/budgets.js';
const FENCE = 'shard/execute/fence.js';
const STALLS = 'shard/execute/stalls.js';
const CHANGE_EFFECTS = 'shard/machines/change-effects.js';
const ENGINE = 'decision/engine.js';
const NEED_TABLE = 'needs/need-table.js';
const TAKE_UP = 'needs/take-up.js';
const FLAGS = 'shard/controls/flags.js';
const LEAVING = 'decision/assign/leaving.js';
const RESTRICTIONS = 'decision/restrictions.js';
const FREED = 'decision/preempt/draining-credit.js';
const VAIN = 'decision/preempt/vain-searches.js';
const VALUE_HEADS = 'decision/assign/value-heads.js';
const VALUE_PLAN = 'decision/assign/value-plan.js';
const PAUSES = 'shard/controls/pauses.js';
const CONTROL_BOOK = 'shard/controls/control-book.js';
const RECLAIM = 'decision/reclaim/reclaim.js';
const VICTIMS = 'decision/preempt/victim-lists.js';

export const MUTANTS: readonly Mutant[] = [
  {
    why: 'S4: the shard applies listed rows to machines in flight',
    file: APPLY,
    find: '!changes.freeForObservation(slot) ||',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'S4: the shard applies rows that are older than the last local change',
    file: APPLY,
    find: 'changes.changedSince(slot, this.#begun)',
    replace: 'false',
    profile: 'storm',
  },
  {
    why: 'S4: the shard never reads the machine of a deferred row again',
    file: READS,
    find: 'const isDeferred = this.#deferred.delete(slot);',
    replace: 'const isDeferred = false;',
    profile: 'usual',
  },
  {
    why: 'X1: an action settles, but stays on its machine',
    file: EXECUTOR,
    find: 'inventory.clearIntent(slot);',
    replace: '',
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'S2: the shard believes an impossible state at once',
    file: CHANGES,
    find: "return 'doubted';",
    replace: "return 'confirmed';",
    profile: 'liar',
  },
  {
    why: 'S2: the shard never believes an impossible state, even when it is confirmed',
    file: CHANGES,
    find: "if (isAgain)\n            return 'confirmed';",
    replace: '',
    profile: 'usual',
  },
  {
    why: 'I2: the shard ignores the cluster of a listed machine',
    file: APPLY,
    find: 'row.cluster = this.#refs.clusters.get(rows.cluster[index]);',
    replace: 'row.cluster = 0;',
    profile: 'restarts',
  },
  {
    why: 'X8: no follow-up read after a call without an answer',
    file: RUNNER,
    find: "return settlement('timeout', detail, 'follow');",
    replace: "return settlement('timeout', detail);",
    profile: 'usual',
  },
  {
    why: 'X13: no follow-up read after a transitional ack',
    file: RUNNER,
    find: "return settlement('accepted', '', 'await');",
    replace: "return settlement('accepted', '');",
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'X5: a roll-back does not return the machine to Idle',
    file: RUNNER,
    find: 'this.#move(action.slot, S.Idle);',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'X9: a roll-back is reported as success',
    file: RUNNER,
    find: 'this.#move(action.slot, S.Idle);\n        return settlement(outcome, detail);',
    replace: "this.#move(action.slot, S.Idle);\n        return settlement('success', detail);",
    profile: 'usual',
  },
  {
    why: 'X5: a need that got no blob has no back-off',
    file: RUNNER,
    find: 'failures.needs.failed(needCluster, needFingerprint, needGroup, { text: detail, slot }, clock.nowMs());',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'X5: a bootstrap that fails after its ack has no consequence',
    file: FAILED_ATTEMPTS,
    find: 'backoffs.failed(cluster, fingerprint, group, { text, slot, ...(isBurned && { candidates }) }, nowMs());',
    replace: '',
    profile: 'breaking',
  },
  {
    why: 'X5: a need on probation tries all the machines that it lacks',
    file: PROBATION,
    find: 'if (!needs.admit(forCluster[index], fingerprint[index], group[index], machine))\n            return false;\n        faults.tried',
    replace: 'faults.tried',
    profile: 'breaking',
  },
  {
    why: 'X14: a cluster never spends its burn budget',
    file: 'shard/execute/burn-budget.js',
    find: 'return this.countOf(cluster) >= this.limitOf(candidates);',
    replace: 'return false;',
    profile: 'breaking',
  },
  {
    why: 'X5: a drain that failed does not limit the next ones of its cluster',
    file: PROBATION,
    find: "if (!faults.mayTry(machine, 'drain') || !drains.admit(cluster[index], 0, 0, machine))",
    replace: "if (!faults.mayTry(machine, 'drain'))",
    profile: 'breaking',
  },
  {
    why: 'X10: Configure carries no assignment',
    file: RUNNER,
    find: 'shardMetadata: shardMetadata(assignment),',
    replace: 'shardMetadata: {},',
    profile: 'calm',
    isQuick: true,
  },
  {
    why: 'X1: an enqueued action does not put its cluster and need on the machine',
    file: EXECUTOR,
    find: 'this.#bindingAt(list, index), true',
    replace: 'undefined, true',
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
    why: 'O3: the shard does not report a machine that leaves its cluster',
    file: ANNOUNCE,
    find: 'this.#left(slot, to, before);',
    replace: ';',
    profile: 'calm',
  },
  {
    why: 'O3: the shard reports only machines that it sees for the first time',
    file: ANNOUNCE,
    find: 'if (after !== 0 && (from !== 0 || this.#mustReport(after)))',
    replace: 'if (after !== 0 && from === 0)',
    profile: 'calm',
  },
  {
    why: 'P6: a new process does not mark machines that it finds Draining',
    file: APPLY,
    find: 'this.#inventory.setFlag(slot, Flag.FoundDraining, true);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'P6: a draining machine counts for no other need when its own need no longer lacks it',
    file: FREED,
    find: '!this.#counted.has(slot) && this.#isDraining(slot)',
    replace: 'this.#drains.assignmentOf(slot) === 0 && this.#isDraining(slot)',
    profile: 'storm',
  },
  {
    why: 'P1: a need that found no victim does not search again when a machine of lower priority appears',
    file: VAIN,
    find: 'if (this.#isHelped(need, vain))',
    replace: 'if (false)',
    profile: 'storm',
  },
  {
    why: 'P6: a machine that drains for a need does not count for it',
    file: EXECUTION,
    find: 'engine.preemptionBegan(slot, cluster, fingerprint, group);',
    replace: ';',
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
    why: 'X12: a failure starts no back-off',
    file: BACKOFF,
    find: 'this.#until.set(slot, nowMs + durationMs(failures));',
    replace: '',
    profile: 'usual',
  },
  {
    why: 'R2: reclaims have no cap',
    file: RAILS,
    find: 'taken >= capOf(configuredOf(cluster), reclaimCapFraction)',
    replace: 'false',
    profile: 'usual',
  },
  {
    why: 'T9: preemptions have no cap',
    file: RAILS,
    find: '!preemptionCap.admits(actions, index)',
    replace: 'false',
    profile: 'usual',
  },
  {
    why: 'T9: claimed victims cost no token',
    file: PREEMPTION_CAP,
    find: 'bucket.tokens -= count;',
    replace: ';',
    profile: 'usual',
  },
  {
    why: 'T2: a suspended cluster gets and loses machines',
    file: RESTRICTIONS,
    find: 'return this.#options.isSuspended?.(cluster) ?? false;',
    replace: 'return false;',
    profile: 'usual',
  },
  {
    why: 'C3: the actions of a cycle have no limit',
    file: RAILS,
    find: 'rails.actionsPerCycleMax > 0 && admitted.length >= rails.actionsPerCycleMax',
    replace: 'false',
    profile: 'calm',
  },
  {
    why: 'C4: the kill switch has no effect',
    file: RAILS,
    find: "return 'suppressed';",
    replace: "return 'none';",
    profile: 'usual',
  },
  {
    why: 'X3: the queue takes no waiting binding when an action settles',
    file: EXECUTOR,
    find: 'this.#end(action, settled);\n        this.#beginWaiting();',
    replace: 'this.#end(action, settled);',
    profile: 'calm',
  },
  {
    why: 'X3: the action of a machine that no need claims any more goes on waiting',
    file: EXECUTOR,
    find: 'if (this.withdraw(list.slot[index]))',
    replace: 'if (false)',
    profile: 'usual',
  },
  {
    why: 'C4: bindings go on waiting while the kill switch is on',
    file: CYCLE,
    find: 'executor.withdrawAll();',
    replace: ';',
    profile: 'usual',
  },
  {
    why: 'X3: actions in flight have no limit',
    file: SLOTS,
    find: 'this.#inUse < this.slotsMax &&',
    replace: '',
    profile: 'calm',
  },
  {
    why: 'N6: the shard reclaims machines before their cluster has reported',
    file: RESTRICTIONS,
    find: 'this.#needTable.hasReported(cluster) &&',
    replace: '',
    profile: 'restarts',
    isQuick: true,
  },
  {
    why: 'T7: machines are reclaimed while rows that need them wait to be taken up',
    file: RESTRICTIONS,
    find: '&& !this.#needTable.isTakingUp(cluster)',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'T7: rows that wait to be taken up are lost when a newer roll-up arrives',
    file: NEED_TABLE,
    find: 'const isLarge = replaced !== undefined || this.#takeUps.isLarge(',
    replace: 'const isLarge = replaced === undefined && this.#takeUps.isLarge(',
    profile: 'usual',
  },
  {
    why: 'T7: rows that cannot be served keep others waiting for ever',
    file: TAKE_UP,
    find: 'weightLeft = this.#putBack(backlog.idle, isGone);',
    replace: ';',
    profile: 'usual',
  },
  {
    why: 'C1: woken cycles reclaim machines',
    file: ENGINE,
    find: 'if (input.isOrdinary)\n            this.#reclamation',
    replace: 'this.#reclamation',
    profile: 'calm',
  },
  {
    why: 'A9: the shard binds machines for clusters without a session',
    file: RESTRICTIONS,
    find: 'if (!this.#options.hasSession(ref))\n            return true;',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'R3: the shard releases Idle machines without waiting for their hold',
    file: 'decision/reclaim/reclaim.js',
    find: 'nowMs - columns.stateSinceMsOf(slot) <= holdMs',
    replace: 'false',
    profile: 'calm',
  },
  {
    why: 'C2: cycles count before the shard has listed every provider',
    file: CYCLE,
    find: "isOrdinary && barredBy === ''",
    replace: 'isOrdinary',
    profile: 'usual',
  },
  {
    why: 'C2: the shard acts before it has listed every provider',
    file: RECONCILER,
    find: '.filter((known) => !known.isOptional && known.listings === 0)',
    replace: '.filter(() => false)',
    profile: 'usual',
  },
  {
    why: 'S6: one empty listing removes all machines',
    file: REMOVAL_HOLD,
    find: 'const hasAgreed = inARow >= AGREEING_LISTINGS &&',
    replace: 'const hasAgreed = true ||',
    profile: 'liar',
  },
  {
    why: 'S6: three empty listings remove all machines at once',
    file: REMOVAL_HOLD,
    find: 'isVanishing ? vanishingHoldMs : removalHoldMs',
    replace: '0',
    profile: 'liar',
    isQuick: true,
  },
  {
    why: 'T10: the shard acts on machines in dispute',
    file: INTENT,
    find: 'Flag.Backoff | Flag.Disputed',
    replace: 'Flag.Backoff',
    profile: 'storm',
    isQuick: true,
  },
  {
    why: 'T10: a dispute never ends',
    file: RECONCILER,
    find: 'listing.isFull ? disputes.listed(provider.index, provider.listings + 1) : 0',
    replace: '0',
    profile: 'storm',
  },
  {
    why: 'S5: in incremental mode the shard never makes another full listing',
    file: RECONCILER,
    find: 'fullListEveryCycles > 0 && provider.cyclesSinceFull >= fullListEveryCycles',
    replace: 'false',
    profile: 'usual',
  },
  {
    why: 'S1: the shard keeps the cursor although it did not apply all rows',
    file: RECONCILER,
    find: 'while (!application.isDone && !this.#isStopped) {',
    replace: 'while (!application.isDone && !this.#isStopped && (number < 4 || number % 4 > 0)) {',
    profile: 'usual',
  },
  {
    why: 'X8: a fenced process continues to execute',
    file: FENCE,
    find: 'void executor.stop(0);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'X8: a fenced process keeps its sessions',
    file: FENCE,
    find: 'operators.endAll(this.#reason);',
    replace: '',
    profile: 'restarts',
  },
  {
    why: 'V2: the shard accepts an unknown penalty bucket',
    file: 'needs/rollup.js',
    find: 'if (!isPenaltyBucket(bucket))',
    replace: 'if (false)',
    profile: 'usual',
  },
  {
    why: 'T4: the shard writes a long fingerprint whole',
    file: ACTION,
    find: 'fingerprint: fingerprints.shortText(needFingerprint),',
    replace: 'fingerprint: fingerprints.get(needFingerprint),',
    profile: 'calm',
  },
  {
    why: 'T4: the shard does not know the digest of a long group that it wrote',
    file: ACTION,
    find: 'group: groups.shortText(needGroup),',
    replace: "group: groups.shortText(needGroup).replace('sha256:', 'sha256-'),",
    profile: 'calm',
  },
  {
    why: 'T4: the tables hold a long text whole, so that its digest names another need',
    file: STRING_TABLE,
    find: 'if (end - start > this.#textBytesMax)\n            return this.intern(',
    replace: 'if (false)\n            return this.intern(',
    profile: 'calm',
  },
  {
    why: 'T1: the profiles of all roll-ups count for the limit of one cluster',
    file: TENANT_LIMITS,
    find: 'this.#profileCount = this.#fingerprintCount = this.#fingerprintBytes = 0;',
    replace: 'this.#fingerprintBytes = 0;',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T1: a cluster may fill the table of fingerprints',
    file: TENANT_LIMITS,
    find: 'if (this.#fingerprintCount > fingerprints.entriesMax)',
    replace: 'if (false)',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T1: groups have no limit',
    file: TENANT_LIMITS,
    find: 'if (this.#groupCount > entriesMax)',
    replace: 'if (false)',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T2: the decision that throws takes the actions of all clusters with it',
    file: 'shard/cycle/guarded-decision.js',
    find: 'const THROWS_MAX = 3;',
    replace: 'const THROWS_MAX = 1;',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T3: a group may have any length',
    file: 'needs/rollup.js',
    find: 'if (!fits(row.group, GROUP_BYTES_MAX))',
    replace: 'if (false)',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T5: a malformed row hides the rows after it',
    file: 'listing/decode/decoder.js',
    find: 'this.#noteMalformed(error);\n                }',
    replace: 'this.#noteMalformed(error);\n                    return;\n                }',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T6: a cluster may bring any number of resource names',
    file: 'needs/rollup.js',
    find: 'if (names.length > CLUSTER_DEMAND_NAMES_MAX)',
    replace: 'if (false)',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T6: a provider may bring any number of resource names',
    file: 'listing/apply/provider-names.js',
    find: 'export const OWN_NAMES_MAX = 64;',
    replace: 'export const OWN_NAMES_MAX = 1_000;',
    profile: 'restarts',
    isHostile: true,
  },
  {
    why: 'T6: a resource name is never given back',
    file: 'base/vectors.js',
    find: 'this.dimensions.release(this.#dims[entry]);',
    replace: ';',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'T8: machines that are being created do not count for the limit of a cluster',
    file: 'decision/limits.js',
    find: 'return role === Role.Creating || role === Role.Configuring ||',
    replace: 'return role === Role.Configuring ||',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'E7: a machine whose creation is enqueued counts for no ceiling',
    file: 'decision/ceilings.js',
    find: 'if (state[slot] === MachineState.Speculative && intent[slot] !== Intent.Provision)',
    replace: 'if (state[slot] === MachineState.Speculative)',
    profile: 'restarts',
  },
  {
    why: 'E7: what a need takes does not count for the ceiling of the next need',
    file: 'decision/limits.js',
    find: 'this.#fleetCost?.take(slot);',
    replace: ';',
    profile: 'calm',
  },
  {
    why: 'E8: spot machines that the cluster has count for no share',
    file: 'decision/limits.js',
    find: 'counts.spot++;',
    replace: ';',
    profile: 'calm',
  },
  {
    why: 'E8: a spot machine may leave the others one less than their share',
    file: 'decision/limits.js',
    find: 'this.#exceedsShare(slot, 1)',
    replace: 'this.#exceedsShare(slot, 0)',
    profile: 'calm',
  },
  {
    why: 'T12: the groups of withdrawn needs stay in the table',
    file: 'needs/need-columns.js',
    find: 'refs.groups.releaseWhole(columns.group[row]);',
    replace: ';',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'V2: a refused roll-up withdraws the demand of its cluster',
    file: 'needs/need-table.js',
    find: 'if (error instanceof ShardError)\n                this.reject(clusterId);',
    replace: 'if (error instanceof ShardError)\n                this.forget(this.#ledger.open(clusterId));',
    profile: 'calm',
    isHostile: true,
  },
  {
    why: 'E3: a need gives back machines that it needs',
    file: VALUE_PLAN,
    find: 'if (this.#isNeeded(slot))',
    replace: 'if (false)',
    profile: 'calm',
    isByValue: true,
    isQuick: true,
  },
  {
    why: 'T8: by value, limits bar nothing',
    file: VALUE_HEADS,
    find: 'if (limit === Limit.None)',
    replace: 'if (limit >= Limit.None)',
    profile: 'calm',
    isByValue: true,
    isHostile: true,
  },
  {
    why: 'H3: a pause lets a queued action through',
    file: RUNNER,
    find: "return settlement('suppressed', this.#stoppedBy(control));",
    replace: ';',
    profile: 'steered',
  },
  {
    why: 'H3: a pause between Create and Configure is not seen',
    file: RUNNER,
    find: 'if (control !== null || !this.#mayTry(action)) {',
    replace: 'if (!this.#mayTry(action)) {',
    profile: 'steered',
  },
  {
    why: 'H2: controls are forgotten by a restart',
    file: CONTROL_BOOK,
    find: 'this.#commanded = options.stored;',
    replace: 'this.#commanded = [];',
    profile: 'steered',
    isQuick: true,
  },
  {
    why: 'H3: a machine that changes its state under a pause is not flagged',
    file: CHANGE_EFFECTS,
    find: 'pauses.changed(slot);',
    replace: ';',
    profile: 'steered',
  },
  {
    why: 'H3: the end of a pause leaves its flags on machines',
    file: PAUSES,
    find: 'if (before === wanted)',
    replace: 'if (before === wanted || wanted === 0)',
    profile: 'steered',
  },
  {
    why: 'H3: the decision reclaims machines under a pause',
    file: RECLAIM,
    find: 'this.#fleet.isBarred(slot, Flag.NotReclaimed)',
    replace: 'this.#fleet.isBarred(slot, Flag.Backoff)',
    profile: 'steered',
  },
  {
    why: 'H3: the decision releases machines under a pause',
    file: RECLAIM,
    find: '!this.#fleet.isBarred(slot, NOT_RELEASED)',
    replace: '!this.#fleet.isBarred(slot, Flag.Backoff)',
    profile: 'steered',
  },
  {
    why: 'H3: the decision takes victims under a pause',
    file: VICTIMS,
    find: 'this.#fleet.isBarred(slot, NOT_PREEMPTED)',
    replace: 'this.#fleet.isBarred(slot, 0)',
    profile: 'steered',
  },
  {
    why: 'H3: a paused cluster still acquires machines',
    file: RESTRICTIONS,
    find: 'if (this.isSuspended(ref) || this.isPaused(ref))',
    replace: 'if (this.isSuspended(ref))',
    profile: 'steered',
  },
  {
    why: 'H6: the queue forgets cordons',
    file: PAUSES,
    find: 'if (cordons(control))',
    replace: 'if (false)',
    profile: 'steered',
  },
  {
    why: 'H6: the decision never learns of a cordon',
    file: FLAGS,
    find: 'cordon: CORDONED,',
    replace: 'cordon: {},',
    profile: 'steered',
  },
  {
    why: 'H6: a cordoned machine is a victim',
    file: INTENT,
    find: 'Flag.NotPreempted | CORDONED',
    replace: 'Flag.NotPreempted',
    profile: 'steered',
  },
  {
    why: 'H5: a leaving machine goes before its replacement is Configured',
    file: LEAVING,
    find: 'this.#holdIn(cluster);',
    replace: ';',
    profile: 'steered',
    isQuick: true,
  },
  {
    why: 'H5: a replacement that is on its way counts as Configured',
    file: LEAVING,
    find: 'if (role[slot] !== Role.Configured)',
    replace: 'if (role[slot] === Role.None)',
    profile: 'steered',
  },
  {
    why: 'H5: the replacement of a leaving machine preempts',
    file: FREED,
    find: 'this.#leaving.subtractHeld(unmet);',
    replace: ';',
    profile: 'steered',
  },
  {
    why: 'H2: an expired control stays in force',
    file: CONTROL_BOOK,
    find: 'untilMs !== null && untilMs <= nowMs);',
    replace: 'false);',
    profile: 'steered',
  },
  {
    why: 'H9: a disruption budget restarts with the process',
    file: BUDGETS,
    find: 'this.#usage.read(stored))',
    replace: 'true)',
    profile: 'steered',
    isQuick: true,
  },
  {
    why: 'H9: machines that drain already do not count for a disruption budget',
    file: BUDGETS,
    find: 'if (isDisrupted)',
    replace: 'if (false)',
    profile: 'steered',
  },
  {
    why: 'H9: a closed disruption budget lets machines go',
    file: BUDGETS,
    find: 'schedule !== null && !schedule.isOpenAt(nowMs)',
    replace: 'false',
    profile: 'steered',
  },
  {
    why: 'H9: only the first disruption budget of a machine counts',
    file: BUDGETS,
    find: 'own.some((counted)',
    replace: 'own.slice(0, 1).some((counted)',
    profile: 'steered',
  },
  {
    why: 'X16: a thread that wakes up first sends what was decided before the stall',
    file: PULSE,
    find: 'this.#passedMs() <= this.#stallMs && this.stretch === stretch',
    replace: 'this.stretch === stretch',
    profile: 'stalls',
  },
  {
    why: 'X16: a thread that wakes up last sends what was decided before the stall',
    file: PULSE,
    find: 'this.#passedMs() <= this.#stallMs && this.stretch === stretch',
    replace: 'this.#passedMs() <= this.#stallMs',
    profile: 'stalls',
  },
  {
    why: 'X16: no new stretch begins after a stall, so the main thread goes on with what it decided before',
    file: PULSE,
    find: 'Atomics.add(this.#words, STRETCH, 1n);',
    replace: '{}',
    profile: 'stalls',
  },
  {
    why: 'X16: sessions count without a ping after a stall',
    file: SESSION_BITS,
    find: 'this.#bits[cluster] = DOUBTED;',
    replace: '{}',
    profile: 'stalls',
  },
  {
    why: 'X16: calls do not wait for the first one after a stall',
    file: STALLS,
    find: 'lone.begin();',
    replace: '',
    profile: 'stalls',
  },
  {
    why: 'X16: a lone call without an answer counts as answered',
    file: LONE_CALL,
    find: "if (answer === 'definite')",
    replace: "if (answer !== 'unused')",
    profile: 'stalls',
  },
  {
    why: 'F2: a replica whose cycles hang renews its lease, as another thread would',
    file: LEADERSHIP,
    find: 'const isStuck = this.#progress.isStuck();',
    replace: 'const isStuck = false;',
    profile: 'replicas',
  },
  {
    why: 'F1: a replica takes over without comparing',
    file: CLAIM,
    find: "when: [{ kind: 'absent', key }, when],",
    replace: 'when: [],',
    profile: 'replicas',
  },
  {
    why: 'F2: the confirmation is checked where an action is decided, and not where its call is sent',
    file: FENCING,
    find: "? '' : IS_ADRIFT;",
    replace: "? '' : '';",
    profile: 'replicas',
  },
  {
    why: 'F4: the clock of R3 goes on over a takeover',
    file: ROW_INTENTS,
    find: 'columns.writeStateSinceMs(slot, nowMs);',
    replace: '',
    profile: 'replicas',
  },
  {
    why: 'F4, P6: machines that drain at a takeover are not marked',
    file: ROW_INTENTS,
    find: 'columns.state[slot] === S.Draining ? Flag.FoundDraining : 0',
    replace: '0',
    profile: 'replicas',
  },
  {
    why: 'F3: a replica acts while it is adrift',
    file: CONFIRMATION,
    find: 'now.uptimeMs < Number(Atomics.load(this.#deadlines, UPTIME)) &&\n            now.wallMs < Number(Atomics.load(this.#deadlines, WALL))',
    replace: '0 < Number(Atomics.load(this.#deadlines, UPTIME))',
    profile: 'replicas',
  },
  {
    why: 'F2: a watch goes on after a gap without a reading',
    file: MIRROR,
    find: "this.#timer = scheduler.after(gap === 'compacted' ? 0 : retryMs, () => void this.#read());",
    replace: 'this.#isWhole = true;',
    profile: 'replicas',
  },
  {
    why: 'F3: a lease that the directory does not know is kept alive again and again',
    file: LEADERSHIP,
    find: 'if (error instanceof LeaseNotFoundError)',
    replace: 'if (error instanceof LeaseNotFoundError && false)',
    profile: 'replicas',
  },
  {
    why: 'F1: an epoch is given twice',
    file: CANDIDACY,
    find: 'Math.max(marks.epoch + 1, Math.floor(clocks.wall.nowMs() / 1_000))',
    replace: 'Math.max(marks.epoch, 1)',
    profile: 'replicas',
  },
  {
    why: 'C4, F4: a takeover loses the kill switch',
    file: CONTROLS,
    find: '{ ...stricterOf(own, held), pauses: held.pauses }',
    replace: '{ ...own, pauses: held.pauses }',
    profile: 'replicas',
  },
  {
    why: 'H2, F4: a takeover loses the pauses',
    file: CONTROLS,
    find: '{ ...stricterOf(own, held), pauses: held.pauses }',
    replace: "{ ...stricterOf(own, held), pauses: '' }",
    profile: 'replicas',
  },
  {
    why: 'H2, F4: a replica believes the older controls of a restored directory',
    file: CONTROLS,
    find: 'return isNewer(read, this.#current) ? read : this.#current;',
    replace: 'return read;',
    profile: 'replicas',
  },
];
