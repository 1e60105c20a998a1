/**
 * A cluster that does the worst that T1 allows: a program of its own that sends roll-ups at the limits, each different from
 * the last in every row, as fast as the shard takes them (T7). The frames are made before the first is sent, so that making
 * them takes no core from the shard.
 *
 *   kind    rows      profiles   what is expensive
 *   long    480       480        rows of 60 KB
 *   plain   131,072   8,192      every profile admits every family, and no need can have what it asks for
 *   gangs   131,072   8,192      the same, each need in one rack
 */
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { PROFILES_PER_CLUSTER_MAX } from '../../src/needs/tenant-limits.ts';
import { ROLLUP_ROWS_MAX } from '../../src/session/limits.ts';
import { RACK_KEY } from '../../src/simulation/catalogue/hardware.ts';
import { RollupSession, rollupFrame } from './stream.ts';

export const HOSTILE_CLUSTER = 'cluster-hostile';
export const HOSTILE_KINDS = ['long', 'plain', 'gangs'] as const;
export type HostileKind = (typeof HOSTILE_KINDS)[number];

/** From the parent: what to send from now on; null: nothing. */
export interface HostileCommand {
  readonly kind: HostileKind | null;
}

/** To the parent, after each ack. */
export interface HostileReport {
  readonly acked: number;
  readonly bytes: number;
}

/** Different frames of a kind; each is sent again when all were, and then differs from the last one too. */
const FRAMES = 3;
const LONG_ROWS = 480;
const LONG_VALUES = 60;
const LONG_VALUE_CHARS = 1_000;

function frameOf(kind: HostileKind, round: number): Buffer {
  const rowCount = kind === 'long' ? LONG_ROWS : ROLLUP_ROWS_MAX;
  const rows = Array.from({ length: rowCount }, (_, index) => rowOf(kind, round, index));
  return rollupFrame(HOSTILE_CLUSTER, rows);
}

function rowOf(kind: HostileKind, round: number, index: number): RollupRow {
  const profile = `${round}-${index % PROFILES_PER_CLUSTER_MAX}`;
  const values =
    kind === 'long'
      ? Array.from({ length: LONG_VALUES }, (_, at) => `${at}-${profile}-`.padEnd(LONG_VALUE_CHARS, 'x'))
      : [profile];
  // No machine has the label, so NotIn admits all of them.
  const pool = { key: 'example.com/pool', operator: Operator.NotIn, values };
  const rack = { key: RACK_KEY, operator: Operator.Same, values: [] };
  return {
    requirements: kind === 'gangs' ? [pool, rack] : [pool],
    aggregate: { cpu: '500', memory: `${2_000 + (index % 100)}Gi` },
    minUnit: { cpu: '1' },
    priority: 10,
    spread: [],
    interruptionBucket: 0,
    reclamationBucket: 0,
    group: `group-${round}-${index}`,
  };
}

async function send(address: string): Promise<void> {
  const frames = new Map(
    HOSTILE_KINDS.map((kind) => [kind, Array.from({ length: FRAMES }, (_, round) => frameOf(kind, round))]),
  );
  let kind: HostileKind | null = null;
  let wake = () => {};
  process.on('message', (command: HostileCommand) => {
    kind = command.kind;
    wake();
  });
  process.on('disconnect', () => process.exit(0));
  const session = new RollupSession(address, HOSTILE_CLUSTER);
  await session.ready();
  process.send!({ acked: 0, bytes: 0 } satisfies HostileReport);
  for (let sent = 0; ; ) {
    if (kind === null) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      continue;
    }
    const frame: Buffer = frames.get(kind)![sent % FRAMES]!;
    // One is read while the next waits behind it, and has no ack yet.
    await session.send(frame, sent, 1);
    process.send!({ acked: sent, bytes: frame.length } satisfies HostileReport);
    sent++;
  }
}

const [, program, address] = process.argv;
if (program?.endsWith('hostile.js') && address !== undefined) await send(address);
