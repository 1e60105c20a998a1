/** What leaving machines wait for (H5), for the person who drains them. */
import type { Engine } from '../../decision/engine.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import { count, machines } from '../view/explain/words.ts';

/** Machines that lack a replacement and are named. */
const NAMED_MAX = 5;

/** Ask after a cycle that decided with the machines leaving. */
export function leavingLines(inventory: Inventory, engine: Engine, slots: readonly number[]): string[] {
  const leaving = slots.filter(
    (slot) =>
      inventory.columns.state[slot] === MachineState.Configured && inventory.hasFlag(slot, Flag.Leaving),
  );
  if (leaving.length === 0)
    return ['None of them is Configured, so no need has to be served by another machine.'];
  const held = leaving.flatMap((slot) => engine.stayFor(slot) ?? []);
  const short = leaving.filter((slot) => engine.stayFor(slot)?.isShort === true);
  const lines: string[] = [];
  if (held.length < leaving.length)
    lines.push(
      `No need waits for a replacement of ${machines(leaving.length - held.length)}: the shard reclaims them under the caps.`,
    );
  if (held.length > short.length)
    lines.push(
      `${machines(held.length - short.length)} will leave when the replacements, which are on their way, are Configured.`,
    );
  if (short.length > 0)
    lines.push(
      `${machines(short.length)} stay until a replacement is found: there is none now. --now drains them at once.`,
    );
  for (const slot of short.slice(0, NAMED_MAX)) lines.push(`  ${waitSentence(inventory, engine, slot)}`);
  if (short.length > NAMED_MAX) lines.push(`  … and ${count(short.length - NAMED_MAX)} more`);
  return lines;
}

/** `m-7 waits for a machine in its domain rack-12, for need trainer of cluster prod-eu-1.` */
export function waitSentence(inventory: Inventory, engine: Engine, slot: number): string {
  const stay = engine.stayFor(slot);
  const id = inventory.idOf(slot);
  if (stay === null) return `${id} waits for no replacement: the shard reclaims it.`;
  const { clusters, fingerprints, groups } = inventory.tables;
  const name = groups.get(stay.group) || fingerprints.get(stay.fingerprint);
  const where = stay.domain === '' ? 'a machine' : `a machine in its gang’s domain ${stay.domain}`;
  const how = stay.isShort
    ? `waits for ${where}, and there is none now`
    : `waits until ${where} that is on its way is Configured`;
  return `${id} ${how}: need ${name} of cluster ${clusters.get(stay.cluster)}.`;
}
