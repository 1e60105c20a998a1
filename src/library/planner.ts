/**
 * The decision engine behind plain objects (src/index.ts shows its use). The engine itself works on refs and columns that only
 * the shard's own tables give meaning to; this class keeps such tables and translates at its door, one object per action and need.
 */
import { ShardError } from '../base/errors.ts';
import { formatQuantity, parseSupply } from '../base/quantity.ts';
import {
  ACTION_NAMES,
  ACTION_REASONS,
  ActionKind,
  type ActionList,
  type ExecutedKind,
} from '../decision/actions.ts';
import { Engine } from '../decision/engine.ts';
import { UnmetReason, type Verdict } from '../decision/verdicts/verdicts.ts';
import { INTENT_STATE } from '../inventory/intent.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Assignment, Machine } from '../machine/machine.ts';
import { rollupRowOf } from '../needs/need.ts';
import type { NeedTable } from '../needs/need-table.ts';
import { SHARD_DEFAULTS } from '../shard/settings.ts';
import { createTables } from '../shard/tables.ts';
import { type TenantLimits, Tenants, tenantLimits } from '../shard/tenants.ts';
import type {
  ActionName,
  ClusterLimit,
  MachineRecord,
  Need,
  NeedVerdict,
  PlannedAction,
  PlannerOptions,
  UnmetReasonName,
} from './plan.ts';

export class UnknownMachineError extends ShardError {
  readonly code = 'unknown_machine';
  readonly next = 'reject-input';

  constructor(machineId: string) {
    super(
      `The planner has no machine ${JSON.stringify(machineId)}. The call changed nothing. Call putMachine() first.`,
    );
  }
}

export class NotDecidedError extends ShardError {
  readonly code = 'not_decided';
  readonly next = 'reject-input';

  constructor() {
    super('Needs changed after the last decision, so there are no verdicts on them. Call decide() first.');
  }
}

export class InvalidLimitError extends ShardError {
  readonly code = 'invalid_limit';
  readonly next = 'reject-input';

  constructor(cluster: string) {
    super(
      `A limit for ${JSON.stringify(cluster)} is negative or not a number. The planner was not made. Give numbers of at least 0.`,
    );
  }
}

const MACHINES_MAX_DEFAULT = 65_536;
const UNSAID = {
  host: null,
  interruptionProbability: 0,
  labels: {},
  cluster: '',
  assignment: null,
  lastError: '',
};
const REASON_NAMES = Object.keys(UnmetReason) as (keyof typeof UnmetReason)[] satisfies UnmetReasonName[];

export class Planner {
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #engine: Engine;
  #isDecided = true;

  constructor(options: PlannerOptions = {}) {
    const { machinesMax = MACHINES_MAX_DEFAULT, hasSession = () => true } = options;
    const { inventory, needs } = createTables({ machinesMax, hasRollupGuard: false, tableShare: 1 });
    this.#inventory = inventory;
    this.#needs = needs;
    this.#engine = new Engine({
      inventory,
      needs,
      limits: new Tenants(inventory.tables.clusters, (options.tenants ?? []).map(limitsOf)),
      hasSession: (cluster) => hasSession(inventory.tables.clusters.get(cluster)),
      holds: {
        onDemandMs: options.idleHoldOnDemandMs ?? SHARD_DEFAULTS.idleHoldOnDemandMs,
        spotMs: options.idleHoldSpotMs ?? SHARD_DEFAULTS.idleHoldSpotMs,
      },
    });
  }

  get machineCount(): number {
    return this.#inventory.count;
  }

  /** Adds a machine, or updates a known one with this observation. Throws if the record is not valid (`invalid_machine`). */
  putMachine(machine: MachineRecord, nowMs: number): void {
    const slot = this.#inventory.find(machine.id);
    if (slot === 0) {
      this.#inventory.insert({ ...UNSAID, ...machine }, 0, nowMs);
      return;
    }
    this.#inventory.apply(slot, machine, nowMs, { force: true });
    const intent = this.#inventory.columns.intent[slot]! as 0 | ExecutedKind;
    // The action took effect: from now on the state says what the intent said.
    if (intent !== 0 && INTENT_STATE[intent] !== machine.state) this.#inventory.clearIntent(slot);
  }

  /** False if the planner has no such machine. */
  removeMachine(machineId: string): boolean {
    const slot = this.#inventory.find(machineId);
    if (slot !== 0) this.#inventory.remove(slot);
    return slot !== 0;
  }

  machine(machineId: string): Machine | null {
    const slot = this.#inventory.find(machineId);
    return slot === 0 ? null : this.#inventory.get(slot);
  }

  /** Replaces all needs of a cluster. Throws if one of them is not valid (`rollup_rejected`). */
  setNeeds(clusterId: string, needs: readonly Need[], nowMs: number): void {
    this.#needs.accept(clusterId, needs.map(rollupRowOf), nowMs, 0);
    this.#isDecided = false;
  }

  /** Decides one cycle and returns its actions in order. */
  decide(nowMs: number): PlannedAction[] {
    this.#engine.decide({ nowMs, isOrdinary: true });
    this.#isDecided = true;
    const { actions } = this.#engine;
    return Array.from({ length: actions.count }, (_, index) => this.#actionAt(actions, index));
  }

  /** The action is under way: decisions count it as done until `putMachine` reports another state. */
  begin({ kind, machineId, cluster, forCluster, assignment }: PlannedAction): void {
    const slot = this.#slotOf(machineId);
    const isBinding = kind === 'Bootstrap' || kind === 'Provision';
    this.#inventory.setIntent(
      slot,
      ActionKind[kind],
      isBinding ? cluster : '',
      isBinding ? assignment : null,
    );
    if (kind === 'Preempt' && assignment !== null) this.#drainFor(slot, forCluster, assignment);
  }

  /** The action on the machine failed without effect: the next decision may choose the machine again. */
  abandon(machineId: string): void {
    this.#inventory.clearIntent(this.#slotOf(machineId));
  }

  /** The last decision's verdicts on the needs of a cluster. Throws if needs changed since (`not_decided`). */
  verdictsOf(clusterId: string): NeedVerdict[] {
    if (!this.#isDecided) throw new NotDecidedError();
    const cluster = this.#inventory.tables.clusters.find(clusterId);
    const verdicts: NeedVerdict[] = [];
    if (cluster === 0) return verdicts;
    this.#engine.verdictsOf(cluster, (row, verdict) => verdicts.push(this.#verdictAt(cluster, row, verdict)));
    return verdicts;
  }

  /** The last decision's verdicts on unsatisfied needs of all clusters, in no order. Throws like `verdictsOf`. */
  unmet(): NeedVerdict[] {
    if (!this.#isDecided) throw new NotDecidedError();
    const verdicts: NeedVerdict[] = [];
    this.#engine.unmetRows((cluster, row) =>
      verdicts.push(this.#verdictAt(cluster, row, this.#engine.verdict(cluster, row))),
    );
    return verdicts;
  }

  #slotOf(machineId: string): number {
    const slot = this.#inventory.find(machineId);
    if (slot === 0) throw new UnknownMachineError(machineId);
    return slot;
  }

  #actionAt(actions: ActionList, index: number): PlannedAction {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const kind = actions.kind[index]! as ActionKind;
    const forCluster = clusters.get(actions.forCluster[index]!);
    const assignment = {
      fingerprint: fingerprints.shortText(actions.fingerprint[index]!),
      group: groups.shortText(actions.group[index]!),
      priority: actions.priority[index]!,
      interruptionPenalty: actions.interruptionPenalty[index]!,
      reclamationPenalty: actions.reclamationPenalty[index]!,
    };
    return {
      kind: ACTION_NAMES[kind] as ActionName,
      reason: ACTION_REASONS[kind],
      machineId: this.#inventory.idOf(actions.slot[index]!),
      cluster: clusters.get(actions.cluster[index]!),
      forCluster,
      assignment: forCluster === '' ? null : assignment,
      graceSeconds: actions.graceSeconds[index]!,
    };
  }

  #drainFor(slot: number, forCluster: string, { fingerprint, group }: Assignment): void {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const refs = [
      clusters.intern(forCluster),
      fingerprints.intern(fingerprint),
      groups.intern(group),
    ] as const;
    this.#engine.preemptionBegan(slot, ...refs);
    this.#inventory.tables.releaseRefs(...refs);
  }

  #verdictAt(cluster: number, row: number, verdict: Verdict): NeedVerdict {
    const { clusters, groups } = this.#inventory.tables;
    const at = this.#needs.sliceStart(cluster) + row;
    const { satisfied, claimed, bootstraps, provisions, domain, cyclesUnmet, reason } = verdict;
    const deficit = Object.entries(verdict.deficit).map(([name, units]) => [
      name,
      formatQuantity(name, units),
    ]);
    return {
      cluster: clusters.get(cluster),
      group: groups.get(this.#needs.group[at]!),
      fingerprint: this.#needs.profiles.get(this.#needs.profile[at]!).fingerprint,
      ...{ satisfied, claimed, bootstraps, provisions, domain, cyclesUnmet },
      deficit: Object.fromEntries(deficit),
      reason: REASON_NAMES[reason]!,
      limitedBy: verdict.limitedBy,
    };
  }
}

/** Throws if an amount is no Kubernetes quantity, or a number is negative or not a number. */
function limitsOf({ maxResources = {}, ...limit }: ClusterLimit): TenantLimits {
  const { cluster, maxMachines = 0, maxDollarsPerHour = 0, maxOfferingShare = 0, maxPriority = 0 } = limit;
  const { minNonSpotShare = 0 } = limit;
  const isValid =
    maxMachines >= 0 &&
    maxDollarsPerHour >= 0 &&
    maxOfferingShare >= 0 &&
    minNonSpotShare >= 0 &&
    minNonSpotShare <= 1 &&
    !Number.isNaN(maxPriority);
  if (!isValid) throw new InvalidLimitError(cluster);
  const resources = Object.entries(maxResources).map(([name, text]) => [name, parseSupply(name, text)]);
  return tenantLimits({ ...limit, maxResources: Object.fromEntries(resources) });
}
