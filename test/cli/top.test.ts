/** `flotilla top` on a terminal: what keys do, and what is drawn. */
import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiAt, type CommandContext, Flags } from '../../src/cli/inspect/command.ts';
import type { Output } from '../../src/cli/inspect/terminal.ts';
import { runTop } from '../../src/cli/top/interactive.ts';
import { FIRST_SCREEN, keysIn, press, type Screen } from '../../src/cli/top/keys.ts';
import { summaryOf } from '../../src/cli/top.ts';
import { LiveWorld } from '../dashboard/live-world.ts';

const SHOWN = { rows: 3, lists: 5, pageRows: 2 };

function typed(text: string, from: Screen = FIRST_SCREEN): Screen {
  return keysIn(text).reduce((screen, key) => press(screen, key, SHOWN), from);
}

describe('a key', () => {
  for (const [text, screen, because] of [
    ['\x1b[B', { row: 1 }, 'down selects the next row'],
    ['jjjjj', { row: 2 }, 'the last row is the last'],
    ['jk\x1b[A', { row: 0 }, 'and the first one the first'],
    ['\x1b[6~', { row: 2 }, 'a page is as many rows as are seen'],
    ['\t\t', { list: 2, row: 0 }, 'Tab shows the next list'],
    ['\t\t\t\t\t', { list: 0 }, 'and after the last one the first'],
    ['/abq\x7fc', { filter: 'abc', isTyping: true }, 'letters belong to the filter while it is typed'],
    ['/ab\r', { filter: 'ab', isTyping: false }, 'Enter keeps the filter'],
    ['/ab\x1b', { filter: '', isTyping: false }, 'Esc clears it'],
    ['/ä\x1b[C\r', { filter: 'ä' }, 'keys that mean nothing are no text'],
    ['j\r', { row: 1, isExplaining: true }, 'Enter explains the selected row'],
    ['\r\r', { isExplaining: false }, 'Enter again goes back'],
    ['\rq', { isOver: true }, 'q quits, also while a row is explained'],
    ['q', { isOver: true }, 'q quits'],
    ['/\x03', { isOver: true }, 'Ctrl-C quits, also while a filter is typed'],
  ] as const)
    it(`${JSON.stringify(text)}: ${because}`, () => expect(typed(text)).toMatchObject(screen));

  it('Enter explains nothing in an empty list', () => {
    expect(press(FIRST_SCREEN, { kind: 'enter' }, { ...SHOWN, rows: 0 }).isExplaining).toBe(false);
  });
});

describe('flotilla top on a terminal', () => {
  let live: LiveWorld;
  let url = '';
  beforeAll(async () => {
    live = new LiveWorld(1_000);
    for (let step = 0; step < 3; step++) live.step();
    url = await live.serve();
  });
  afterAll(() => live.close());

  it('goes through a list, filters it, explains a row, and quits', async () => {
    let screen = '';
    const output: Output = {
      out: (text) => {
        screen = text.startsWith('\x1b[H') ? text : screen;
      },
      error: () => {},
      ...{ isTerminal: true, hasColour: false, width: 80 },
    };
    const context: CommandContext = {
      api: apiAt(url, output, false),
      flags: new Flags({}, []),
      output,
      isJson: false,
    };
    const keyboard = Object.assign(new EventEmitter(), { resume: () => {}, pause: () => {} });
    const over = runTop(context, {
      keyboard,
      everyMs: 100,
      height: () => 30,
      summary: () => summaryOf(context),
    });
    const press = (text: string) => keyboard.emit('data', Buffer.from(text));
    const shows = (text: string | RegExp) =>
      expect
        .poll(() => screen, { timeout: 20_000 })
        [typeof text === 'string' ? 'toContain' : 'toMatch'](text);
    await shows('▶ cluster-0000');
    await shows('[clusters]');
    press('\x1b[B');
    await shows('▶ cluster-0001');
    press('\r');
    await shows('Its operator has been disconnected for');
    press('\r');
    await shows('▶ cluster-0001');
    press('/cluster-0002\r');
    await shows('▶ cluster-0002');
    expect(screen).not.toContain('cluster-0001 ');
    press('\t\t');
    await shows('[gangs]');
    await shows(/gangs are unmet/);
    press('\r');
    await shows(/counts? for it|Unmet: needs/);
    press('\r');
    await shows('[gangs]');
    const lines = ['H', 'K', 'J']
      .reduce((text, code) => text.replaceAll(`\x1b[${code}`, ''), screen)
      .split('\n');
    expect(lines.length).toBeLessThanOrEqual(30);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    press('q');
    await over;
  });
});
