/** Passes on the first lines that a process writes into a file. A script may write as much as it likes; people read a few lines. */
import { closeSync, openSync, readSync } from 'node:fs';

const LINES_MAX = 20;
const CHARS_MAX = 200;
const BYTES_MAX = 4_096;
const LOOK_EVERY_MS = 100;

/** Returns a function that ends it, after a last look. */
export function showLines(path: string, onLine: (line: string) => void): () => void {
  let shownCount = 0;
  const look = () => {
    const lines = firstBytes(path).split('\n').slice(0, -1);
    for (const line of lines.slice(shownCount, LINES_MAX)) onLine(line.slice(0, CHARS_MAX));
    shownCount = Math.max(shownCount, lines.length);
    if (shownCount >= LINES_MAX) clearInterval(timer);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    look();
  };
}

/** '' if the file is gone: the machine was deleted. */
function firstBytes(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(BYTES_MAX);
      return bytes.toString('utf8', 0, readSync(file, bytes, 0, BYTES_MAX, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
