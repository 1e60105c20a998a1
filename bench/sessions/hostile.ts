/**
 * A cluster that does the worst that T1 allows: a program of its own that sends roll-ups at the limits, each different from
 * the last in every row, as fast as the shard takes them (T7). The frames are made before the first is sent, so that making
 * them takes no core from the shard.
 *
 *   kind    rows      profiles   what is expensive
 *   long    480       480        rows of 60 KB
 *   plain   131,072   8,192      every profile admits every family, and no need can have what it asks for
 *   gangs   131,072   8,192      the same, each need in one rack
 *   high    131,072   8,192      the same with the highest priority: each may take any machine
 *   racks   8,000     8,000      needs for racks that do not exist
 *   wide    260       260        rows of 1,000 requirements, as many as all profiles may have
 */
import { Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { PROFILES_PER_CLUSTER_MAX } from '../../src/needs/tenant-limits.ts';
import { ROLLUP_ROWS_MAX } from '../../src/session/limits.ts';
import { RACK_KEY } from '../../src/simulation/catalogue/hardware.ts';
import { RollupSession, rollupFrame } from './stream.ts';

export const HOSTILE_CLUSTER = 'cluster-hostile';
export const HOSTILE_KINDS = ['long', 'plain', 'gangs', 'high', 'racks', 'wide'] as const;
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
const ROWS: Readonly<Record<HostileKind, number>> = {
  long: 480,
  plain: ROLLUP_ROWS_MAX,
  gangs: ROLLUP_ROWS_MAX,
  high: ROLLUP_ROWS_MAX,
  racks: 8_000,
  wide: 260,
};
const WIDE_REQUIREMENTS = 1_000;
const PRIORITY_MAX = 2_147_483_647;
const LONG_VALUES = 60;
const LONG_VALUE_CHARS = 1_000;

/** Of labels that no machine has. */
const ABSENT: readonly Requirement[] = Array.from({ length: WIDE_REQUIREMENTS - 1 }, (_, index) => ({
  key: `k${index}`,
  operator: Operator.DoesNotExist,
  values: [],
}));

function frameOf(kind: HostileKind, round: number): Buffer {
  const rows = Array.from({ length: ROWS[kind] }, (_, index) => rowOf(kind, round, index));
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
  const noRack = { key: RACK_KEY, operator: Operator.In, values };
  return {
    requirements:
      kind === 'racks'
        ? [noRack]
        : kind === 'wide'
          ? [pool, ...ABSENT]
          : kind === 'gangs' || kind === 'high'
            ? [pool, rack]
            : [pool],
    aggregate: { cpu: '500', memory: `${2_000 + (index % 100)}Gi` },
    minUnit: { cpu: '1' },
    priority: kind === 'high' ? PRIORITY_MAX : 10,
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
