import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { EventLog, type EventLogOptions, HistoryUnreadableError } from '../../src/events/event-log.ts';

const PROGRAM = fileURLToPath(new URL('../../dist/workers/history.js', import.meta.url));
const PATIENT = { timeout: 30_000 };

function opened(folder: string, options: Partial<EventLogOptions> = {}) {
  const said: string[] = [];
  const log = new EventLog({
    folder,
    bytesMax: 1_048_576,
    epoch: () => 1,
    program: PROGRAM,
    onFailing: (why) => said.push(`failing: ${why}`),
    onRecovered: () => said.push('recovered'),
    ...options,
  });
  onTestFinished(() => log.close());
  return { log, said };
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-log-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

it('Y1: a reader sees what happened before it asked, and a restart keeps it', async () => {
  const path = join(folder(), 'events');
  const first = opened(path);
  first.log.note({ kind: 'bound', machineId: 'm-1', clusterId: 'c-1', group: 'job-7', cycle: 12 });
  first.log.note({ kind: 'bound', machineId: 'm-2', clusterId: 'c-2' });
  const page = await first.log.read({ machineId: 'm-1', limit: 10 });
  expect(page.events).toMatchObject([
    {
      kind: 'bound',
      machineId: 'm-1',
      epoch: 1,
      cycle: 12,
      sentence: 'm-1 joined need job-7 of cluster c-1.',
    },
  ]);
  await first.log.close();
  await expect(first.log.read({ limit: 1 })).rejects.toThrow(HistoryUnreadableError);
  const second = opened(path, { epoch: () => 2 });
  second.log.note({ kind: 'interrupted', machineId: 'm-1', clusterId: 'c-1', detail: 'gone' });
  const both = await second.log.read({ clusterId: 'c-1', limit: 10 });
  expect(both.events.map(({ kind, epoch }) => [kind, epoch])).toEqual([
    ['interrupted', 2],
    ['bound', 1],
  ]);
  expect(both.gaps).toHaveLength(1);
  expect(both.wholeSinceMs).toBe(both.events[0]!.atMs);
}, 60_000);

it('Y2: a disk that refuses every write delays no caller: events are kept, then lost and counted, and the history says so', async () => {
  const path = join(folder(), 'events');
  writeFileSync(path, 'in the way'); // the folder cannot be made
  const { log, said } = opened(path, { unwrittenBytesMax: 4_096 });
  for (let number = 0; number < 1_000; number++) log.note({ kind: 'bound', machineId: `m-${number}` });
  const { recorded, lost } = log.counts;
  expect(recorded).toBe(1_000);
  expect(lost).toBeGreaterThan(500);
  await expect.poll(() => said, PATIENT).toEqual([expect.stringContaining('failing: ')]);
  expect(log.counts.isFailing).toBe(true);
  await expect(log.read({ limit: 1 })).rejects.toThrow(HistoryUnreadableError);
  rmSync(path);
  mkdirSync(path);
  await expect.poll(() => said.at(-1), PATIENT).toBe('recovered');
  await expect.poll(() => log.counts.written, PATIENT).toBe(1_000 - lost);
  log.note({ kind: 'bound', machineId: 'm-after' });
  const { events, gaps, wholeSinceMs } = await log.read({ limit: 10_000 });
  expect(events.slice(0, 2).map(({ kind, machineId, detail }) => [kind, machineId, detail])).toEqual([
    ['bound', 'm-after', ''],
    ['events_lost', '', `${lost} events were not written`],
  ]);
  expect(events).toHaveLength(1_000 - lost + 2);
  expect(gaps[0]!.why).toContain(`${lost} events`);
  expect(wholeSinceMs).toBe(events[1]!.atMs);
  expect(log.counts.lost).toBe(lost);
}, 60_000);

it('a thread that cannot run loses its events and is started again', async () => {
  const path = join(folder(), 'events');
  const program = join(folder(), 'broken.mjs');
  writeFileSync(program, 'throw new Error("broken");');
  const { log, said } = opened(path, { program });
  log.note({ kind: 'bound', machineId: 'm-1' });
  log.flush();
  await expect.poll(() => log.counts.lost, PATIENT).toBe(1);
  expect(said).toEqual(['failing: broken']);
  await expect(log.read({ limit: 1 })).rejects.toThrow('cannot be read now');
}, 60_000);
