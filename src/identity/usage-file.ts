/** What the disruption budgets used, in the data directory (H9). A damaged file is no reason not to start: the budgets count as used up. */
import type { OpenDirectory } from './directory.ts';
import { UsageFileCorruptError } from './errors.ts';
import { readSealedFile, writeSealedFile } from './sealed-file.ts';

const FILE = 'usage';
const WHAT = 'what the disruption budgets used';

/** null if there is no file. Throws UsageFileCorruptError and DataDirectoryUnusableError. */
export function readUsageFile(directory: OpenDirectory): string | null {
  const read = readSealedFile(directory, FILE, WHAT);
  if (read === null || 'body' in read) return read?.body ?? null;
  throw new UsageFileCorruptError(directory.file(FILE), read.damage);
}

export function writeUsageFile(directory: OpenDirectory, body: string): void {
  writeSealedFile(directory, FILE, WHAT, body);
}
