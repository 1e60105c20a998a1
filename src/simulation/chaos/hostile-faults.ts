/**
 * Faults of tenants: a cluster that sends as much as it can for as long as it can, and a provider whose machines differ in
 * each listing. The three clusters of the stage are its honest neighbours, and get their nodes while it goes on. The shard
 * must live, stay ready, refuse nothing of the neighbours, and stay within its memory.
 */
import { randomFillSync } from 'node:crypto';
import { SimulatedOperator } from '../operators/operator.ts';
import type { MachineListing } from '../provider/provider.ts';
import { NODES_PER_CLUSTER } from './clusters.ts';
import type { Fault } from './faults.ts';
import { distinctProfiles, frameOf, inventedNames, wideRow } from './hostile-rows.ts';
import { providerThatLists } from './lying-provider.ts';
import { pause } from './programs.ts';
import type { Stage } from './stage.ts';
import { ShardWitness } from './witness.ts';

const HOSTILE = 'hostile';
const NEIGHBOURS = ['red', 'green', 'blue'];
/** Tables in which 8,192 profiles fit the share of one cluster, and 20 MB of labels. */
const MACHINES_MAX = 65_536;
const MEGABYTE = 1_000_000;
/** A busy machine reads 10 MB in seconds. */
const REFUSAL_MS_MAX = 60_000;

interface Flood {
  readonly name: string;
  readonly frames: number;
  readonly everyMs: number;
  /** So many different frames, in turn. */
  readonly variants: number;
  readonly frameAt: (variant: number) => Buffer;
  /** Part of the reason for which the shard refuses them; '': it refuses none. null: not asked. */
  readonly refusal: string | null;
}

/** Sends the frames while the clusters get their nodes. */
function flood({ name, frames, everyMs, variants, frameAt, refusal }: Flood): Fault {
  let memoryBeforeBytes = 0;
  return {
    name: `hostile tenant: ${name}`,
    when: 'burst',
    prepare,
    inject: async (stage) => {
      memoryBeforeBytes = await witnessOf(stage).memoryBytes();
      // Encoded before: the operators of the neighbours run in this process, and must not wait for it.
      const encoded = Array.from({ length: variants }, (_, variant) => frameAt(variant));
      const hostile = new SimulatedOperator({
        address: stage.operatorProxy.address,
        clusterId: HOSTILE,
        behaviour: { rollupIntervalMs: 0 },
        reconnect: { initialMs: 20, maxMs: 200 },
      });
      try {
        await hostile.connect();
        const settled = stage.settle();
        settled.catch(() => {}); // awaited below
        for (let index = 0; index < frames; index++) {
          hostile.sendBytes(encoded[index % variants]!);
          await pause(everyMs);
        }
        await settled;
        const refusals = await refusalsSeen(stage, refusal);
        return `${frames} frames; ${refusals}; ${hostile.endings.length} sessions ended; every cluster got its nodes meanwhile`;
      } finally {
        await hostile.close();
      }
    },
    check: (stage) => violationIn(stage, memoryBeforeBytes),
  };
}

function prepare(stage: Stage): void {
  stage.machinesMax = MACHINES_MAX;
}

function witnessOf({ shardHttp, shard }: Stage): ShardWitness {
  return new ShardWitness(shardHttp, shard.pid);
}

/** Throws unless the shard refused what it should, for all to see. */
async function refusalsSeen(stage: Stage, refusal: string | null): Promise<string> {
  const witness = witnessOf(stage);
  const look = async () => (await witness.tenant('cluster', HOSTILE)) ?? { refused: 0, lastReason: '' };
  const untilMs = performance.now() + REFUSAL_MS_MAX;
  let seen = await look();
  while (refusal && seen.refused === 0 && performance.now() < untilMs) {
    await pause(100);
    seen = await look();
  }
  const { refused, lastReason } = seen;
  if (refusal === null) return `${refused} refused`;
  if (refusal === '') {
    if (refused > 0) throw new Error(`the shard refused what is allowed: ${lastReason}`);
    return 'all accepted';
  }
  if (!lastReason.includes(refusal))
    throw new Error(`the shard refused it as: ${lastReason || 'not at all'}`);
  const counted = await witness.metric('bigfleet_shard_rollups_rejected_total', `"${HOSTILE}"`);
  if (counted !== refused) throw new Error(`the counter has ${counted} refusals, not ${refused}`);
  if (!stage.shard.lines.some((line) => line.includes('"rollup_rejected"')))
    throw new Error('the log has no refusal');
  return `${refused} refused (${refusal}), the others replaced before the shard read them`;
}

/** A broken promise to the neighbours, or ''. */
async function violationIn(stage: Stage, memoryBeforeBytes: number): Promise<string> {
  const witness = witnessOf(stage);
  if (!stage.shard.isRunning) return 'the shard ended';
  const notReady = await witness.notReady();
  if (notReady !== '') return `the shard is not ready: ${notReady}`;
  for (const name of NEIGHBOURS) {
    const tenant = await witness.tenant('cluster', name);
    if (tenant?.cluster?.rollupRows !== NODES_PER_CLUSTER || tenant.refused > 0)
      return `the shard refused ${tenant?.refused} roll-ups of ${name}: ${tenant?.lastReason}`;
  }
  return await witness.memoryOver(memoryBeforeBytes);
}

const DRIFT_LISTINGS = 60;
const DRIFT_LABELS = 60;

/** T12: every machine has 60 labels of 1 KB and another capacity in each listing: 10 MB a listing. */
function drifting(): Fault {
  let listings = 0;
  let memoryBeforeBytes = 0;
  const drifted = (listing: MachineListing): MachineListing => {
    const at = listings++;
    const machines = listing.machines.map((machine, index) => {
      const labels = Array.from({ length: DRIFT_LABELS }, (_, label) => [
        `drift-${at}-${label}`,
        `${at}-${index}-${label}-`.padEnd(1_000, 'v'),
      ]);
      const resources = { ...machine.allocatable!.resources, 'example.com/drift': `${at + 1}` };
      return {
        ...machine,
        labels: { ...machine.labels, ...Object.fromEntries(labels) },
        allocatable: { resources },
      };
    });
    return { ...listing, machines };
  };
  return {
    name: 'hostile tenant: a provider whose labels and capacities differ in each listing',
    when: 'burst',
    prepare,
    provider: () => {
      listings = 0;
      return providerThatLists(drifted);
    },
    inject: async (stage) => {
      memoryBeforeBytes = await witnessOf(stage).memoryBytes();
      await stage.settle();
      while (listings < DRIFT_LISTINGS) await pause(100);
      return `${listings} listings`;
    },
    check: (stage) => violationIn(stage, memoryBeforeBytes),
  };
}

export const HOSTILE_FAULTS: readonly Fault[] = [
  flood({
    name: '8,192 other profiles in each roll-up',
    frames: 20,
    variants: 20,
    everyMs: 1_000,
    frameAt: (index) => frameOf(HOSTILE, distinctProfiles(8_192, `${index}-`)),
    refusal: '',
  }),
  flood({
    name: '131,072 other requirement sets in each roll-up',
    frames: 15,
    everyMs: 1_000,
    variants: 3,
    frameAt: (index) => frameOf(HOSTILE, distinctProfiles(131_072, `${index}-`)),
    refusal: 'distinct profiles',
  }),
  flood({
    name: '30 rows of 1 MB in each roll-up',
    frames: 15,
    everyMs: 1_000,
    variants: 1,
    frameAt: () => frameOf(HOSTILE, new Array(30).fill(wideRow(MEGABYTE))),
    refusal: 'the limit',
  }),
  flood({
    name: '20 other rows of 50 KB in each roll-up',
    frames: 60,
    variants: 60,
    everyMs: 250,
    frameAt: (index) =>
      frameOf(
        HOSTILE,
        Array.from({ length: 20 }, (_, row) => wideRow(MEGABYTE / 20, `${index}-${row}-`)),
      ),
    refusal: '',
  }),
  flood({
    name: '16 other resource names in each roll-up',
    frames: 100,
    everyMs: 150,
    variants: 100,
    frameAt: (index) => frameOf(HOSTILE, [inventedNames(16, String(index))]),
    refusal: '',
  }),
  flood({
    name: 'frames that are no messages',
    frames: 100,
    everyMs: 100,
    variants: 100,
    frameAt: (index) => randomFillSync(Buffer.alloc(1 + index ** 2)),
    refusal: null,
  }),
  drifting(),
];
