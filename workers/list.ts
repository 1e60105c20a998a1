/** The program of the listing thread. It moves the columns of a result to the main thread instead of copying them. */
import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { notePieces } from '../src/listing/garbage.ts';
import { ListRunner } from '../src/provider/pool/list-runner.ts';
import type { ListTask, ListTaskAnswer } from '../src/provider/pool/listing-thread.ts';
import type { ListSetup } from '../src/provider/pool/setup.ts';
import { receiveMessagesInPlace } from '../src/wire/messages-in-place.ts';

receiveMessagesInPlace(notePieces);
const runner = new ListRunner(workerData as ListSetup);

export default async (task: ListTask): Promise<unknown> => {
  if (task.kind === 'drop') return runner.drop(task.provider);
  const result = task.kind === 'list' ? await runner.list(task) : runner.next(task.provider);
  return move({ [transferableSymbol]: buffersOf(result), [valueSymbol]: result });
};

function buffersOf({ answer }: ListTaskAnswer): ArrayBuffer[] {
  if (answer.kind !== 'listed') return [];
  const { rows, removed, foreign, revision } = answer;
  const refs = [removed, foreign].flatMap(({ slot, generation }) => [slot, generation]);
  return [rows.bytes, ...refs, revision].map(({ buffer }) => buffer as ArrayBuffer);
}
