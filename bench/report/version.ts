/** Which code was measured: the commit where there is one; a copy without its history has only its version. */
import { execFileSync } from 'node:child_process';
import { versionOf } from '../../src/cli/version.ts';

export function describeVersion(): string {
  try {
    const words = ['describe', '--always', '--dirty', '--exclude', '*'];
    return execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return versionOf();
  }
}
