/** The measured code: the commit, or the package version in a copy without history. */
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
