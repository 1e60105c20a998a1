/** How a command ends: exit codes, and one line of text for an expected failure. */
import { ShardError } from '../base/errors.ts';

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
/** The query was answered, and nothing matches it. */
export const EXIT_NONE = 3;

/** Runs a command and resolves with its exit code. A ShardError becomes one line on standard error; others are bugs. */
export async function exitCodeOf(command: string, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    process.stderr.write(`flotilla ${command}: ${error.message}\n`);
    return error.next === 'refuse-to-start' ? EXIT_USAGE : EXIT_FAILED;
  }
}
