/** The program of the listing thread; listings with a cursor that says so go wrong. */
import list from '../../../dist/workers/list.js';

export default async (task) => {
  const cursor = Buffer.from(task.sinceRevision).toString();
  if (cursor === 'exit') process.exit(3);
  if (cursor === 'swallow') return new Promise(() => {});
  return list(task);
};
