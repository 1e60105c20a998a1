/** Loads settings as `flotilla shard` does: from arguments, variables and a file in a temporary directory. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ConfigError } from '../../src/config/problems.ts';
import { type LoadedConfig, loadShardConfig } from '../../src/config/shard-config.ts';

/** The only setting without a default. */
export const PROVIDER = ['--provider-addr', 'rack-a=10.0.0.7:7790'];

export interface Given {
  readonly argv?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly coreCount?: number;
}

export function load({ argv = [], environment = {}, coreCount = 4 }: Given = {}): LoadedConfig {
  return loadShardConfig({ argv: [...PROVIDER, ...argv], environment, coreCount });
}

/** The lines of the ConfigError that `run` throws; fails if it throws none. */
export function linesOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  throw new Error('the settings were accepted');
}

export function fileOf(text: string, name = 'shard.yaml'): string {
  const directory = mkdtempSync(join(tmpdir(), 'flotilla-config-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}
