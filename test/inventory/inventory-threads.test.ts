/** A worker thread reads rows while this thread writes them: no torn, stale or reused row may pass as valid. */
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { inventory, machine } from './machines.ts';

const READER = new URL('../../dist/src/inventory/inventory-reader.js', import.meta.url);
const ID_COUNT = 24;

/**
 * Every field of a row follows from its id's number and one other number, so that a row put together from two writes,
 * or from two machines, contradicts itself.
 */
function rowOf(idNumber: number, salt: number): Machine {
  return machine({
    id: `m-${idNumber}`,
    state: S.Configured,
    host: { provider: `provider-${salt % 3}`, ref: `host-${idNumber}-${salt}` },
    pricePerHourUsd: salt,
    interruptionProbability: (salt % 1_000) / 1_000,
    labels: { rack: `r-${salt % 7}` },
    cluster: `cluster-${salt % 5}`,
    assignment: {
      fingerprint: `need-${salt % 11}`,
      group: `group-${idNumber}-${salt}`,
      priority: salt,
      interruptionPenalty: salt % 28,
      reclamationPenalty: (salt + 1) % 28,
    },
  });
}

const WORKER = `
const { workerData, parentPort } = require('node:worker_threads');
import(workerData.reader).then(({ InventoryReader, SharedRow }) => {
  const reader = InventoryReader.attach(workerData.shared);
  const row = new SharedRow();
  const ids = Array.from({ length: workerData.idCount }, (_, index) => Buffer.from('m-' + index));
  const counts = { valid: 0, absent: 0, changed: 0, scanned: 0 };
  const wrong = [];
  const contradictions = (idNumber) => {
    const salt = row.pricePerHourUsd;
    const texts = [
      [reader.groups.get(row.group), 'group-' + idNumber + '-' + salt],
      [reader.clusters.get(row.cluster), 'cluster-' + (salt % 5)],
      [reader.fingerprints.get(row.need), 'need-' + (salt % 11)],
      [row.priority, salt],
      [row.interruptionPenalty, salt % 28],
      [row.reclamationPenalty, (salt + 1) % 28],
      [row.interruptionProbability, (salt % 1000) / 1000],
      [row.state === 5 || row.state === 6, true],
    ];
    const host = 'host-' + idNumber + '-' + salt;
    const bytes = Buffer.from('provider-' + (salt % 3) + host);
    texts.push([reader.hosts.equals(row.host, bytes, 0, 10, bytes, 10, bytes.length), true]);
    return texts.filter(([seen, expected]) => seen !== expected);
  };
  const examine = (idNumber) => {
    const found = contradictions(idNumber);
    if (!reader.isUnchanged(row)) counts.changed++;
    else if (found.length === 0) counts.valid++;
    else wrong.push(JSON.stringify([idNumber, row, found]));
  };
  parentPort.postMessage('ready');
  for (let pass = 0; Atomics.load(workerData.stop, 0) === 0 && wrong.length < 5; pass++) {
    const idNumber = (pass * 7919) % ids.length;
    if (reader.findRow(ids[idNumber], 0, ids[idNumber].length, row, pass % ids.length) === 0) counts.absent++;
    else examine(idNumber);
    const slot = pass % reader.slotLimit;
    if (reader.read(slot, row)) {
      const id = reader.idOf(slot);
      // The id belongs to the row if the row did not change before the id was read.
      if (reader.isUnchanged(row) && id !== '') {
        counts.scanned++;
        examine(Number(id.slice(2)));
      }
    }
  }
  parentPort.postMessage({ counts, wrong });
});
`;

describe('a worker that reads rows while the main thread writes', () => {
  it('never sees a torn, removed or reused row as valid', async () => {
    expect(existsSync(READER), 'npm run build comes before the tests').toBe(true);
    const fleet = inventory({ machinesMax: ID_COUNT + 4, guards: false });
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(WORKER, {
      eval: true,
      workerData: { reader: READER.href, shared: fleet.share(), stop, idCount: ID_COUNT },
    });
    const messages: unknown[] = [];
    const nextMessage = () =>
      new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    try {
      messages.push(await nextMessage());
      const random = new Random(11);
      const started = performance.now();
      let writes = 0;
      // Enough for thousands of reads even if the two threads share one core with others; at most 5 s.
      for (; writes < 400_000 && performance.now() - started < 5_000; writes++) {
        const idNumber = random.below(ID_COUNT);
        const slot = fleet.find(`m-${idNumber}`);
        const row = rowOf(idNumber, random.below(1_000_000));
        const pick = random.unit();
        if (slot === 0) fleet.insert(row, 0, writes);
        else if (pick < 0.3) fleet.remove(slot);
        else if (pick < 0.5) fleet.move(slot, S.Draining, writes, true);
        else fleet.apply(slot, row, writes, { force: true });
      }
      Atomics.store(stop, 0, 1);
      const { counts, wrong } = (await nextMessage()) as {
        counts: Record<'valid' | 'absent' | 'changed' | 'scanned', number>;
        wrong: string[];
      };
      expect(wrong).toEqual([]);
      expect(writes).toBeGreaterThan(1_000);
      expect(counts.valid).toBeGreaterThan(1_000);
      expect(counts.scanned).toBeGreaterThan(100);
      expect(counts.absent).toBeGreaterThan(10);
      expect(counts.changed).toBeGreaterThan(0); // reads and writes did overlap
    } finally {
      await worker.terminate();
    }
  });
});
