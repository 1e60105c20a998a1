import { describe, expect, it } from 'vitest';
import { Arrivals } from '../../src/session/arrivals.ts';
import { WriteTurns } from '../../src/session/write-turns.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('connections that arrive', () => {
  it('shorten the work of their own event-loop turn, and of no later one', async () => {
    const arrivals = new Arrivals();
    expect(arrivals.turnMs(40)).toBe(40);
    arrivals.note();
    arrivals.note();
    expect(arrivals.turnMs(40)).toBe(0.5);
    expect(arrivals.turnMs(0.1)).toBe(0.1);
    await turn();
    expect(arrivals.turnMs(40)).toBe(40);
  });

  it('never stop the work: a writer is served in every turn, however many connections come', async () => {
    const arrivals = new Arrivals();
    const turns = new WriteTurns(arrivals);
    let written = 0;
    turns.join({ write: () => ++written < 50 });
    for (let count = 0; count < 50; count++) {
      arrivals.note();
      await turn();
    }
    expect(written).toBe(50);
  });
});
