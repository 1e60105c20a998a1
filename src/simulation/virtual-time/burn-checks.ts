/**
 * X5, X14: a need that breaks machines stops breaking them, and so do the drains of a cluster. The check keeps its own record, from
 * the changes of machines alone: which need each bootstrap was for, how it ended, and what began afterwards.
 */
import { digestText } from '../../base/digest-text.ts';
import { Intent, isBinding } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from '../../shard/machines/changes.ts';
import { Violation } from './invariants.ts';
import type { Process } from './world.ts';

const S = MachineState;
const BACKOFF_MS = 10_000;
const HOUR_MS = 3_600_000;
/** The shard forgets a failure ten minutes after its back-off. Until then one machine at a time is tried. */
const REMEMBERED_MS = 600_000;
const BURNS_MIN = 3;
/** T4 */
const FINGERPRINT_BYTES_MAX = 512;
const GROUP_BYTES_MAX = 253;

interface Suspect {
  /** By the clock of the process. */
  failedAtMs: number;
  /** The machines that began since it failed and have not ended. */
  readonly tried: Set<string>;
}

export class BurnChecks {
  /** By machine that is Configuring or Draining: who tries it. */
  readonly #attempts = new Map<string, string>();
  /** By need, or by cluster for drains: those that failed since they last succeeded. */
  readonly #suspects = new Map<string, Suspect>();
  /** By the kind of attempt and cluster: when machines were burned. */
  readonly #burns = new Map<string, number[]>();
  #machinesMax = 0;

  changed(process: Process, { slot, from, to, source }: Readonly<MachineChanged>): void {
    if (from === to) return;
    const { inventory } = process.shard;
    const id = inventory.idOf(slot);
    const attempt = this.#attempts.get(id);
    if (attempt !== undefined) this.#ended(process, slot, id, attempt, to, source);
    this.#attempts.delete(id);
    if (to === S.Configuring) this.#attempts.set(id, bootstrapKey(process, slot));
    if (to === S.Draining) this.#attempts.set(id, drainKey(process, slot));
  }

  /** X15: failures on machines of one offering or provider do not count against those that tried them. */
  absolveAll(): void {
    this.#suspects.clear();
  }

  /** After each cycle: the machines whose action it began. */
  checkCycle(process: Process, begunSlots: readonly number[]): void {
    const { inventory } = process.shard;
    this.#machinesMax = Math.max(this.#machinesMax, inventory.count);
    for (const slot of begunSlots) {
      const intent = inventory.columns.intent[slot]!;
      if (isBinding(intent)) this.#begun(process, slot, bootstrapKey(process, slot));
      else if (intent === Intent.Reclaim || intent === Intent.Preempt)
        this.#begun(process, slot, drainKey(process, slot));
    }
  }

  #ended(
    process: Process,
    slot: number,
    id: string,
    attempt: string,
    to: number,
    source: MachineChanged['source'],
  ): void {
    const isDrain = attempt.startsWith('drain|');
    if (source === 'local' && to === S.Idle) return; // rolled back: the provider was never called
    if (isDrain ? to !== S.Failed : to === S.Configured) {
      this.#suspects.delete(attempt);
      return;
    }
    const nowMs = process.life.nowMs();
    if (to === S.Failed || to === 0) {
      const burns = this.#burns.get(budgetKey(attempt)) ?? [];
      burns.push(nowMs);
      this.#burns.set(budgetKey(attempt), burns);
    }
    // X15: the shard has counted the failure already. It counts against an offering or provider that is blamed, not against the need.
    if (process.shard.failures.faults.isOnProbation(slot, isDrain ? 'drain' : 'bootstrap')) {
      this.#suspects.delete(attempt);
      return;
    }
    const suspect = this.#suspects.get(attempt) ?? { failedAtMs: nowMs, tried: new Set() };
    suspect.failedAtMs = nowMs;
    suspect.tried.delete(id);
    this.#suspects.set(attempt, suspect);
  }

  #begun(process: Process, slot: number, attempt: string): void {
    const suspect = this.#suspects.get(attempt);
    const { shard, life } = process;
    const { inventory } = shard;
    const id = inventory.idOf(slot);
    const agoMs = life.nowMs() - (suspect?.failedAtMs ?? Number.NaN);
    if (suspect === undefined || agoMs < 0) return; // the clock was set back
    const what = `X5: ${id} is tried for ${attempt}`;
    if (agoMs < BACKOFF_MS) throw new Violation(`${what}, which failed ${agoMs} ms ago`);
    if (agoMs >= REMEMBERED_MS) return;
    suspect.tried.delete(id); // it was created first
    for (const other of suspect.tried) if (!isUnderWay(process, other, attempt)) suspect.tried.delete(other);
    if (suspect.tried.size > 0) throw new Violation(`${what}, and so is ${[...suspect.tried].join(', ')}`);
    suspect.tried.add(id);
    const { burnFraction } = shard.rails;
    const burned = (this.#burns.get(budgetKey(attempt)) ?? []).filter(
      (atMs) => Math.abs(life.nowMs() - atMs) < HOUR_MS,
    ).length;
    // More machines than match: the shard counts only those.
    const most = Math.max(BURNS_MIN, Math.floor(burnFraction * (this.#machinesMax + burned) + 1e-9));
    if (burnFraction > 0 && burned >= most)
      throw new Violation(`X14: ${id} is tried for ${attempt}, whose cluster has burned ${burned} machines`);
  }
}

function isUnderWay(process: Process, id: string, attempt: string): boolean {
  const { shard } = process;
  const { inventory } = shard;
  const slot = inventory.find(id);
  if (slot === 0) return false;
  const key = attempt.startsWith('drain|') ? drainKey(process, slot) : bootstrapKey(process, slot);
  if (key !== attempt) return false;
  const { state, intent } = inventory.columns;
  const isMoving = state[slot] === S.Creating || state[slot] === S.Configuring || state[slot] === S.Draining;
  const forMs = shard.cycle.lastAtMs - inventory.columns.stateSinceMsOf(slot);
  return intent[slot] !== Intent.None || (isMoving && forMs < shard.settings.stuckAfterMs);
}

function bootstrapKey({ shard }: Process, slot: number): string {
  const { columns, tables } = shard.inventory;
  const cluster = tables.clusters.get(columns.cluster[slot]!);
  const fingerprint = asStamped(tables.fingerprints.get(columns.need[slot]!), FINGERPRINT_BYTES_MAX);
  const group = asStamped(tables.groups.get(columns.group[slot]!), GROUP_BYTES_MAX);
  return `bootstrap|${cluster}|${fingerprint}|${group}`;
}

/** T4: a machine that the process found carries the digest of a long text, one that it bound itself the text. */
function asStamped(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  return bytes.length > bytesMax ? digestText(bytes, 0, bytes.length) : text;
}

function drainKey({ shard }: Process, slot: number): string {
  const { columns, tables } = shard.inventory;
  return `drain|${tables.clusters.get(columns.cluster[slot]!)}`;
}

/** `bootstrap|cluster` */
function budgetKey(attempt: string): string {
  return attempt.split('|', 2).join('|');
}
