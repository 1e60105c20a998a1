/**
 * The program of the listing thread, with faults: a listing fails if its cursor says so, and the next part of a listing
 * fails for providers 1 to 3.
 */
import list from '../../../dist/workers/list.js';

export default async (task) => {
  if (task.kind === 'list') {
    const cursor = Buffer.from(task.sinceRevision).toString();
    if (cursor === 'exit') process.exit(3);
    if (cursor === 'swallow') return new Promise(() => {});
    if (task.provider === 3) setTimeout(() => process.exit(3), 200);
  }
  if (task.kind === 'next' && task.provider === 1) process.exit(3);
  if (task.kind === 'next' && task.provider === 2) return new Promise(() => {});
  return list(task);
};
