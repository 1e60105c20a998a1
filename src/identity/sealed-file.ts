/**
 * A small file of the data directory whose first line has a digest of the rest, so the shard detects a cut or edited one:
 *
 *   flotilla-controls 2f6c0e8b1d5a9374
 *   {"version":1,"controls":[…]}
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { OpenDirectory } from './directory.ts';
import { attempting } from './errors.ts';

const HEAD = /^flotilla-([a-z]+) ([0-9a-f]{16})\n/;

/** null if there is no such file; `damage` says why it is not what a shard wrote. Throws DataDirectoryUnusableError. */
export function readSealedFile(
  directory: OpenDirectory,
  name: string,
  what: string,
): { readonly body: string } | { readonly damage: string } | null {
  const text = attempting(directory.path, `read ${what}`, () => {
    try {
      return readFileSync(directory.file(name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  });
  if (text === null) return null;
  const [head = '', kind, digest] = HEAD.exec(text) ?? [];
  const body = text.slice(head.length);
  if (kind === name && digest === digestOf(body)) return { body };
  return { damage: text === '' ? 'it is empty' : 'its content is not what a shard wrote' };
}

/** A crash at any point leaves either the old file or the new one. Throws DataDirectoryUnusableError. */
export function writeSealedFile(directory: OpenDirectory, name: string, what: string, body: string): void {
  const text = `flotilla-${name} ${digestOf(body)}\n${body}`;
  attempting(directory.path, `write ${what}`, () => directory.replaceFile(name, text));
}

function digestOf(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}
