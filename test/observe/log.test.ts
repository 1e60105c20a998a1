import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import { ShardError } from '../../src/base/errors.ts';
import { createLogger, type LogOptions } from '../../src/observe/log.ts';
import { prettyLine } from '../../src/observe/log-pretty.ts';

class NoAnswerError extends ShardError {
  readonly code = 'no_answer';
  readonly next = 'retry-next-cycle';
}

function logOf(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const log = createLogger({
    level: 'info',
    format: 'json',
    clock,
    sink: { write: (line) => lines.push(line), flush: () => {}, drain: async () => {} },
    ...options,
  });
  const records = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, records, clock };
}

describe('the log', () => {
  it('writes one JSON line per event with level, time, common fields and its own', () => {
    const { log, lines } = logOf({ fields: { shard: 'shard-0' } });
    log.info('started', { port: 7780, tls: false });
    expect(lines).toEqual([
      '{"level":"info","time":"2026-01-02T03:04:05.678Z","shard":"shard-0","port":7780,"tls":false,"event":"started"}\n',
    ]);
  });

  it('omits events below its level, and the level can change', () => {
    const { log, records } = logOf();
    log.debug('a');
    log.setLevel('debug');
    log.debug('b');
    log.setLevel('error');
    log.warn('c');
    expect(records().map(({ event }) => event)).toEqual(['b']);
  });

  it('adds common fields to every line', () => {
    const { log, records } = logOf();
    log.with({ provider: 'rack-a' }).with({ attempt: 2 }).warn('slow', { seconds: 3 });
    expect(records()[0]).toMatchObject({ provider: 'rack-a', attempt: 2, seconds: 3 });
  });

  it('logs an expected failure with code and message, and a bug with its stack', () => {
    const { log, records } = logOf();
    log.warn('call_failed', { error: new NoAnswerError('nothing came') });
    log.error('bug', { error: new Error('boom') });
    expect(records()[0]).toMatchObject({ error: 'nothing came', error_code: 'no_answer' });
    expect(records()[0]).not.toHaveProperty('error_stack');
    expect(records()[1]!.error_stack).toContain('boom');
  });

  it('X5: never logs a bootstrap blob or another secret', () => {
    const { log, lines } = logOf();
    const bytes = new TextEncoder().encode('hunter2');
    log.error('oops', {
      bootstrap_blob: 'hunter2',
      user_data: bytes,
      userData: 'hunter2',
      password: 'hunter2',
      raw: bytes,
    });
    expect(lines.join('')).not.toContain('hunter2');
    expect(JSON.parse(lines[0]!)).toMatchObject({ bootstrap_blob: '[redacted]', raw: '<7 bytes>' });
  });

  it('writes one short line per event, without control characters', () => {
    const { log, lines, records } = logOf();
    log.info('x', {
      text: `a\nb\u001b[2J${'z'.repeat(5_000)}`,
      ids: Array.from({ length: 50 }, (_, i) => `m-${i}`),
    });
    expect(lines[0]!.indexOf('\n')).toBe(lines[0]!.length - 1);
    expect(String(records()[0]!.text).length).toBeLessThan(1_100);
    expect(records()[0]!.text).not.toContain('\u001b');
    expect((records()[0]!.ids as string[]).at(-1)).toBe('… and 30 more');
  });

  it('writes infinities and large integers as strings', () => {
    const { log, records } = logOf();
    log.info('x', { penalty: Number.POSITIVE_INFINITY, epoch: 12345678901234567890n, level: 'odd' });
    expect(records()[0]).toMatchObject({ penalty: 'Infinity', epoch: '12345678901234567890', level: 'info' });
  });
});

describe('the log on standard error', () => {
  it('is complete and in order after drain, even if the process exits at once', () => {
    const script = `
      const { createLogger } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/src/observe/log.js'))});
      const log = createLogger({ level: 'debug', format: 'json' });
      for (let index = 0; index < 2000; index++) log.debug('line', { index });
      await log.drain();
      process.exit(0);`;
    const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    const indexes = stderr
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { index: number }).index);
    expect(indexes).toEqual(Array.from({ length: 2_000 }, (_, index) => index));
  });
});

describe('an event that repeats', () => {
  it('is written 20 times, then counted, then summarised in one line', () => {
    const { log, records, clock } = logOf();
    for (let index = 0; index < 1_254; index++) log.warn('machine_rejected', { machine: `m-${index}` });
    log.info('other');
    expect(records()).toHaveLength(21);
    clock.advance(10_000);
    log.warn('machine_rejected', { machine: 'm-last' });
    expect(records().slice(21)).toMatchObject([
      { event: 'machine_rejected', level: 'warn', more: 1_234, note: '… and 1,234 more' },
      { event: 'machine_rejected', machine: 'm-last' },
    ]);
  });

  it('is summarised when the log is flushed', () => {
    const { log, records } = logOf();
    for (let index = 0; index < 30; index++) log.error('worker_lost');
    log.flush();
    log.flush();
    expect(records().at(-1)).toMatchObject({ event: 'worker_lost', more: 10 });
    expect(records()).toHaveLength(21);
  });

  it('carries its old name if it was renamed, in its summary too', () => {
    const { log, records } = logOf();
    for (let index = 0; index < 30; index++) log.warn('rollup_quarantined', { cluster_id: 'c1' });
    log.flush();
    expect(records()).toHaveLength(21);
    expect(records().every(({ formerEvent }) => formerEvent === 'rollup_held')).toBe(true);
  });

  it('is written every time at debug level', () => {
    const { log, lines } = logOf({ level: 'debug' });
    for (let index = 0; index < 100; index++) log.debug('step');
    expect(lines).toHaveLength(100);
  });

  it('shares one limit with all others beyond 1,024 names', () => {
    const { log, lines } = logOf();
    for (let index = 0; index < 5_000; index++) log.info(`event_${index}`);
    expect(lines.length).toBeLessThan(1_100);
  });

  it('is not suppressed for long when the clock was set back', () => {
    const { log, lines, clock } = logOf();
    for (let index = 0; index < 25; index++) log.info('x');
    clock.advance(-3_600_000);
    log.info('x');
    expect(lines).toHaveLength(22);
  });
});

describe('the readable format', () => {
  it('is a line with the time, the level, the event and its fields', () => {
    const { log, lines } = logOf({ format: 'pretty' });
    log.warn('provider_unreachable', {
      provider: 'rack-a',
      error: new NoAnswerError('no way'),
      ids: ['a', 'b c'],
    });
    expect(lines).toEqual([
      '03:04:05.678 WARN  provider_unreachable provider=rack-a error="no way" error_code=no_answer ids=[a "b c"]\n',
    ]);
  });

  it('has colours only on request', () => {
    const json = '{"level":"error","time":"2026-01-02T03:04:05.678Z","event":"x"}\n';
    expect(prettyLine(json, true)).toContain('\u001b[31mERROR\u001b[0m');
    expect(prettyLine(json, false)).not.toContain('\u001b');
  });
});
