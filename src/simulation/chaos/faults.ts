/** The faults of the campaign. Each is injected into its own stage and returns what was observed meanwhile. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { breakingBootstraps } from './breaking-fault.ts';
import { HOSTILE_FAULTS } from './hostile-faults.ts';
import { lyingProvider } from './lying-provider.ts';
import { FAULT_MS, PROCESS_FAULTS } from './process-faults.ts';
import { pause } from './programs.ts';
import type { ProxyMode } from './proxy.ts';
import { REPLICA_FAULTS } from './replica-faults.ts';
import type { ProviderHandle, Stage } from './stage.ts';

export interface Fault {
  readonly name: string;
  /** After the first roll-ups, during the first burst of bindings, or when the stage has settled. */
  readonly when: 'demand' | 'burst' | 'rest';
  /** Default: the simulated provider in its own process. */
  readonly provider?: () => Promise<ProviderHandle>;
  /** Default: one shard process. */
  readonly stage?: () => Stage;
  /** Called before any process starts. */
  readonly prepare?: (stage: Stage) => void;
  /** Called when all processes run, before the clusters send demand. */
  readonly beforeDemand?: (stage: Stage) => void;
  /** Resolves at the end of the fault with what was observed. */
  readonly inject: (stage: Stage) => Promise<string>;
  /** Called after the recovery. Returns a violation, or ''. */
  readonly check?: (stage: Stage) => Promise<string>;
  /** Demand changes during the fault, so the shard takes machines from clusters. */
  readonly removes?: true;
  /** The same fault with another length (`--outage`). */
  readonly withOutage?: (outageMs: number) => Fault;
  /** Always called at the end, also after a failure. */
  readonly clean?: (stage: Stage) => void;
}

/** A network fault between shard and provider, or between operators and shard. */
function onTheWire(name: string, side: 'providerProxy' | 'operatorProxy', mode: ProxyMode): Fault {
  return {
    name,
    when: 'burst',
    inject: async (stage) => {
      stage[side].be(mode);
      await pause(FAULT_MS);
      const health = await fetch(`${stage.shardHttp}healthz`);
      stage[side].be({ kind: 'pass' });
      return `/healthz ${health.status} meanwhile`;
    },
  };
}

const MOUNT_BYTES = '64k';

/** Mounts a small file system that can be filled or made read-only. Needs the right to mount. */
function mountSmall(stage: Stage): void {
  const folder = join(stage.folder, 'small');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MOUNT_BYTES},mode=0700`, 'tmpfs', folder]);
  stage.dataDir = join(folder, 'data');
  stage.auditLog = join(folder, 'audit.log');
}

function unmount(stage: Stage): void {
  try {
    execFileSync('umount', ['-l', join(stage.folder, 'small')], { stdio: 'ignore' });
  } catch {
    // It was never mounted.
  }
}

function remount(stage: Stage, how: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${how}`, join(stage.folder, 'small')]);
}

export const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  onTheWire('provider: connections reset', 'providerProxy', { kind: 'reset' }),
  onTheWire('provider: half-open connections', 'providerProxy', { kind: 'silent' }),
  onTheWire('provider: 500 ms later', 'providerProxy', { kind: 'slow', delayMs: 500 }),
  onTheWire('provider: 16 KiB/s', 'providerProxy', { kind: 'narrow', bytesPerSecond: 16_384 }),
  onTheWire('operators: connections reset', 'operatorProxy', { kind: 'reset' }),
  onTheWire('operators: half-open connections', 'operatorProxy', { kind: 'silent' }),
  onTheWire('operators: 500 ms later', 'operatorProxy', { kind: 'slow', delayMs: 500 }),
  {
    name: 'provider lies in its listings',
    when: 'burst',
    provider: lyingProvider,
    inject: async () => {
      await pause(4 * FAULT_MS);
      return 'listings with repeated, missing, invalid and old rows, flapping states, empty listings';
    },
  },
  {
    name: 'disk full',
    when: 'burst',
    prepare: mountSmall,
    inject: async (stage) => {
      const ballast = join(stage.folder, 'small', 'ballast');
      for (let bytes = 65_536; bytes >= 512; bytes /= 2) {
        try {
          writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
        } catch {
          // No room for a piece of this size: try a smaller one.
        }
      }
      await pause(FAULT_MS);
      const { isRunning } = stage.shard;
      rmSync(ballast);
      if (!isRunning) throw new Error('the shard ended');
      return 'the shard keeps running';
    },
    clean: unmount,
  },
  {
    name: 'shard killed (-9), data directory read-only',
    when: 'burst',
    prepare: mountSmall,
    inject: async (stage) => {
      await stage.shard.kill();
      remount(stage, 'ro');
      const refusal = await stage.startShard().then(
        () => '',
        (error: Error) => error.message,
      );
      remount(stage, 'rw');
      await stage.startShard();
      if (refusal === '') throw new Error('a shard started without a new epoch');
      return 'the shard refuses to start without a new epoch, and starts once it can write one';
    },
    clean: unmount,
  },
  breakingBootstraps(),
  ...HOSTILE_FAULTS,
  ...REPLICA_FAULTS,
];
