/**
 * T2: an engine that threw in the middle of a cycle is rebuilt from the tables, decides the same cycle again, and then
 * continues incrementally. Each answer must be the oracle's, as if nothing had happened.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { randomWorld, step } from '../oracle/generator.ts';
import { decide } from '../oracle/oracle.ts';
import { comparable } from './comparable.ts';
import { EngineWorld } from './engine-world.ts';

const HISTORIES = 150;
const STEPS = 12;

class Injected extends Error {}

describe('an engine that throws', () => {
  it('T2: decides as the oracle does after it was rebuilt, in that cycle and in later ones', {
    timeout: 300_000,
  }, () => {
    const thrownAt = new Map<string, number>();
    let rebuilt = 0;
    let culprits = 0;
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const random = new Random(seed);
      let callsLeft = Number.POSITIVE_INFINITY;
      const live = new EngineWorld({
        probe: (stage) => {
          if (--callsLeft > 0) return;
          thrownAt.set(stage, (thrownAt.get(stage) ?? 0) + 1);
          throw new Injected();
        },
      });
      let world = randomWorld(random);
      for (let at = 0; at < STEPS; at++) {
        const where = `seed ${seed}, step ${at}`;
        const expected = decide(world);
        for (let tries = 0; ; tries++) {
          callsLeft = tries < 2 && random.chance(0.4) ? random.between(1, 12) : Number.POSITIVE_INFINITY;
          try {
            expect(comparable(live.decide(world)), where).toEqual(comparable(expected));
            break;
          } catch (error) {
            if (!(error instanceof Injected)) throw error;
            if (live.engine.culprit() !== null) culprits++;
            expect(live.engine.rebuild(), where).toBe('');
            expect(live.engine.actions.count).toBe(0);
            rebuilt++;
          }
        }
        const next = step(world, expected, random);
        // A restart loses more than a throw does, and has its own tests.
        if (expected.unmet.size > 0 && next.unmet.size === 0) break;
        if (
          world.clusters.some(
            ({ id, reported }) => reported && !next.clusters.find((one) => one.id === id)?.reported,
          )
        )
          break;
        world = next;
      }
    }
    expect(rebuilt).toBeGreaterThan(HISTORIES);
    expect(culprits).toBeGreaterThan(HISTORIES / 4);
    for (const stage of ['sync', 'credit', 'acquire', 'verdicts'])
      expect(thrownAt.get(stage), stage).toBeGreaterThan(0);
  });
});
