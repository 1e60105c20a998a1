import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { AuditLog } from '../../src/observe/audit.ts';
import { EventLoopMonitor, type LoopDelay } from '../../src/observe/event-loop.ts';
import { createLogger, SILENT } from '../../src/observe/log.ts';
import { auditObserver, LogObserver, logEvent, observeAll } from '../../src/observe/observers.ts';
import { actionRecord, cycleReport, listingReport, NO_ACTIONS } from './records.ts';

function logged() {
  const lines: Record<string, unknown>[] = [];
  const sink = {
    write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    flush: () => {},
    drain: async () => {},
  };
  const log = createLogger({ level: 'info', format: 'json', sink });
  return { log, lines, observer: new LogObserver(log), events: () => lines.map(({ event }) => event) };
}

describe('observers', () => {
  it('are all notified, even if one of them throws', () => {
    const { log, events } = logged();
    const notified: string[] = [];
    const observer = observeAll(
      [
        {
          cycleEnded: () => {
            throw new Error('broken watcher');
          },
        },
        { cycleEnded: () => void notified.push('cycle'), happened: () => void notified.push('event') },
      ],
      log,
    );
    observer.cycleEnded(cycleReport());
    observer.actionEnded(actionRecord());
    observer.happened({ kind: 'inventory_full', level: 'error', detail: '' });
    expect(notified).toEqual(['cycle', 'event']);
    expect(events()).toEqual(['observer_failed']);
    expect(observer.audits).toBe(false);
  });

  it('C5: write the records of a cycle to the file before the next cycle', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-observers-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'audit.log');
    const audit = await AuditLog.open({ path, log: SILENT });
    onTestFinished(() => audit.close());
    const observer = observeAll([auditObserver(audit, () => 3)], SILENT);
    expect(observer.audits).toBe(true);
    observer.actionEnded(actionRecord());
    observer.cycleEnded(cycleReport());
    await expect.poll(() => readFileSync(path, 'utf8').length).toBeGreaterThan(0);
  });
});

describe('the log of a shard', () => {
  it('names machines by id and states by name', () => {
    const { observer, lines } = logged();
    observer.happened({
      kind: 'machine_stuck',
      level: 'warn',
      machineId: 'm-1',
      state: MachineState.Draining,
      forMs: 5,
    });
    observer.happened({
      kind: 'observation_confirmed',
      level: 'warn',
      machineId: 'm-1',
      from: MachineState.Idle,
      to: MachineState.Failed,
    });
    expect(lines).toMatchObject([
      { level: 'warn', event: 'machine_stuck', machine_id: 'm-1', state: 'Draining', for_ms: 5 },
      {
        level: 'warn',
        event: 'observation_confirmed',
        formerEvent: 'word_confirmed',
        from: 'Idle',
        to: 'Failed',
      },
    ]);
  });

  it('logs events of other parts too', () => {
    const { log, lines } = logged();
    logEvent(log, 'info', { kind: 'session_opened', clusterId: 'c-1', peer: '10.0.0.1:99' } as {
      kind: string;
    });
    expect(lines).toMatchObject([
      { level: 'info', event: 'session_opened', cluster_id: 'c-1', peer: '10.0.0.1:99' },
    ]);
  });

  it('has a line for a cycle with actions, none for one without, and a warning for a slow one', () => {
    const { observer, events } = logged();
    observer.cycleEnded(cycleReport());
    observer.cycleEnded(cycleReport({ enqueued: { ...NO_ACTIONS, Delete: 1 } }));
    observer.cycleEnded(cycleReport({ durationMs: 2_000 }));
    expect(events()).toEqual(['cycle', 'cycle_slow']);
  });

  it('reports once when actions are held back and once when they begin', () => {
    const { observer, events } = logged();
    for (const heldBack of ['waiting', 'waiting', '', '']) observer.cycleEnded(cycleReport({ heldBack }));
    expect(events()).toEqual(['actions_held_back', 'actions_begin']);
  });

  it('reports once when listings of a provider fail and once when they recover', () => {
    const { observer, events } = logged();
    for (const failure of ['', 'gone', 'gone', '', '']) observer.listingEnded(listingReport({ failure }));
    expect(events()).toEqual(['listing_failed', 'listing_recovered']);
  });

  it('reports another kind of failure, but not another text of the same kind', () => {
    const { observer, lines } = logged();
    for (const failure of ['unavailable: a', 'unavailable: b', 'too_large: c', 'too_large: d']) {
      observer.listingEnded(listingReport({ failure }));
    }
    expect(lines).toMatchObject([{ error: 'unavailable: a' }, { error: 'too_large: c' }]);
  });

  it('warns only of failed actions', () => {
    const { observer, lines } = logged();
    for (const outcome of ['success', 'accepted', 'stale_state', 'dropped', 'dryrun'] as const) {
      observer.actionEnded(actionRecord({ outcome }));
    }
    observer.actionEnded(actionRecord({ outcome: 'provider_error', detail: 'quota' }));
    expect(lines).toMatchObject([
      { event: 'action_failed', machine: 'm-1', outcome: 'provider_error', detail: 'quota' },
    ]);
  });
});

describe('C6: the event loop', () => {
  it('reports how long it was blocked', async () => {
    const windows: LoopDelay[] = [];
    const monitor = new EventLoopMonitor((delay) => windows.push(delay), 100);
    onTestFinished(() => monitor.close());
    await expect.poll(() => windows.length).toBeGreaterThan(0);
    const until = performance.now() + 200;
    while (performance.now() < until);
    await expect.poll(() => windows.some(({ maxSeconds }) => maxSeconds > 0.1)).toBe(true);
    for (const { medianSeconds, p99Seconds, maxSeconds } of windows) {
      expect(medianSeconds).toBeGreaterThanOrEqual(0);
      expect(p99Seconds).toBeLessThanOrEqual(maxSeconds + 0.001);
    }
  });
});
