/** The faults of the campaign: each is injected into a stage of its own, and says what was seen while it lasted. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lyingProvider } from './lying-provider.ts';
import { FAULT_MS, PROCESS_FAULTS } from './process-faults.ts';
import { pause } from './programs.ts';
import type { ProxyMode } from './proxy.ts';
import type { ProviderHandle, Stage } from './stage.ts';

export interface Fault {
  readonly name: string;
  /** As soon as there is demand, in the middle of the first burst of bindings, or when everything rests. */
  readonly when: 'demand' | 'burst' | 'rest';
  /** The provider, if it is not the usual one. */
  readonly provider?: () => Promise<ProviderHandle>;
  /** Before anything is started. */
  readonly prepare?: (stage: Stage) => void;
  /** When everything stands and nobody has asked for anything. */
  readonly beforeDemand?: (stage: Stage) => void;
  /** Ends when the fault does; tells what was seen. */
  readonly inject: (stage: Stage) => Promise<string>;
  /** After the recovery: what is wrong; ''. */
  readonly check?: (stage: Stage) => Promise<string>;
  /** Always undone, even if something failed. */
  readonly clean?: (stage: Stage) => void;
}

/** Between shard and provider, or between operators and shard. */
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

/** A file system of its own that can be filled or made read-only. Needs the rights to mount. */
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
      return 'rows twice, half of them missing, broken, of long ago, states that flap, empty listings';
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
          // Full for a piece of this size: a smaller one follows.
        }
      }
      await pause(FAULT_MS);
      const { isRunning } = stage.shard;
      rmSync(ballast);
      if (!isRunning) throw new Error('the shard ended');
      return 'the shard goes on';
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
      return 'no new epoch, no start; with one it starts';
    },
    clean: unmount,
  },
];
