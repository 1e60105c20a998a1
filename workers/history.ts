/** The program of the thread that writes and searches the history (src/events, docs/adr/0062). */
import { parentPort, workerData } from 'node:worker_threads';
import { HistoryThread } from '../src/events/history-thread.ts';
import type { HistorySetup, ToHistory } from '../src/events/messages.ts';

const thread = new HistoryThread(workerData as HistorySetup, (message) => parentPort!.postMessage(message));
parentPort!.on('message', (message: ToHistory) => thread.take(message));
