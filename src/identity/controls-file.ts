/** The controls of a shard in its data directory (H2). A pause must not vanish silently, so a damaged file refuses the start. */
import type { OpenDirectory } from './directory.ts';
import { ControlsFileCorruptError } from './errors.ts';
import { readSealedFile, writeSealedFile } from './sealed-file.ts';

const FILE = 'controls';
const WHAT = 'its controls';

/** null if there is no file. Throws ControlsFileCorruptError and DataDirectoryUnusableError. */
export function readControlsFile(directory: OpenDirectory): string | null {
  const read = readSealedFile(directory, FILE, WHAT);
  if (read === null || 'body' in read) return read?.body ?? null;
  throw new ControlsFileCorruptError(directory.file(FILE), read.damage);
}

export function writeControlsFile(directory: OpenDirectory, body: string): void {
  writeSealedFile(directory, FILE, WHAT, body);
}
