/**
 * The controls of a shard in its data directory (H2). The first line has a digest of the rest, so the shard detects a cut or edited
 * file: a pause must not vanish silently.
 *
 *   flotilla-controls 2f6c0e8b1d5a9374
 *   {"version":1,"controls":[…]}
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { OpenDirectory } from './directory.ts';
import { attempting, ControlsFileCorruptError } from './errors.ts';

const FILE = 'controls';
const HEAD = /^flotilla-controls ([0-9a-f]{16})\n/;

/** null if there is no file. Throws ControlsFileCorruptError and DataDirectoryUnusableError. */
export function readControlsFile(directory: OpenDirectory): string | null {
  const path = directory.file(FILE);
  const text = attempting(directory.path, 'read its controls', () => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  });
  if (text === null) return null;
  const [head = '', digest] = HEAD.exec(text) ?? [];
  const body = text.slice(head.length);
  if (digest === digestOf(body)) return body;
  throw new ControlsFileCorruptError(
    path,
    text === '' ? 'it is empty' : 'its content is not what a shard wrote',
  );
}

/** A crash at any point leaves either the old file or the new one. */
export function writeControlsFile(directory: OpenDirectory, body: string): void {
  const text = `flotilla-controls ${digestOf(body)}\n${body}`;
  attempting(directory.path, 'write its controls', () => directory.replaceFile(FILE, text));
}

function digestOf(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}
