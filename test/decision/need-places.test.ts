/**
 * Needs keep their places while others come and go. The oracle's worlds have too few needs to fill a slice, so these roll-ups
 * have hundreds: neighbours move, and slices grow and shrink. A decision from scratch must be the same.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { decideChecked } from '../../src/decision/check.ts';
import { Engine, type EngineOptions } from '../../src/decision/engine.ts';
import { boundTo, configured, cpus, gang, idle, need } from '../oracle/rules/worlds.ts';
import type { WorldNeed } from '../oracle/world.ts';
import { acceptAsArrived, insertMachine, makeTables } from './world-tables.ts';

const MACHINES = 60;
const NEEDS_MAX = 300;

function randomNeed(random: Random, index: number): WorldNeed {
  const group = `group-${String(index).padStart(4, '0')}`;
  const priority = random.pick([10, 10, 10, 1_000]);
  if (random.chance(0.3)) return { ...gang(group, random.between(1, 2)), priority };
  return need({ group, priority, aggregate: cpus(random.between(1, 8)) });
}

describe('the needs of a cluster', () => {
  it('A0: are decided as if from scratch while hundreds of them come and go in any order', () => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = new Random(seed);
      const { inventory, needs } = makeTables({ machinesMax: 2 * MACHINES });
      const options: EngineOptions = {
        inventory,
        needs,
        hasSession: () => true,
        holds: { onDemandMs: 600_000, spotMs: 60_000 },
      };
      const engine = new Engine(options);
      for (let index = 0; index < MACHINES; index++) {
        const id = `m-${String(index).padStart(3, '0')}`;
        const machine = random.chance(0.7) ? configured(id, boundTo('alpha')) : idle(id);
        insertMachine(inventory, engine, { ...machine, labels: { rack: random.pick(['a', 'b', 'c']) } });
      }
      let wanted: WorldNeed[] = [];
      let spanMax = 0;
      for (let step = 0; step < 40; step++) {
        const before = wanted;
        // Groups decide the order, so that new needs fall between all others, and sometimes at one place.
        const isDense = random.chance(0.5);
        const first = random.below(8_000);
        const added = Array.from({ length: random.between(0, 60) }, (_, index) =>
          randomNeed(random, isDense ? first + index : random.below(9_999)),
        );
        const kept = wanted.filter(() => !random.chance(step % 10 === 9 ? 0.95 : 0.1));
        const groups = new Set(kept.map(({ group }) => group));
        wanted = [...kept];
        for (const one of added) {
          if (wanted.length === NEEDS_MAX || groups.has(one.group)) continue;
          groups.add(one.group);
          wanted.push(one);
        }
        if (random.chance(0.3) && wanted.length > 0) {
          const index = random.below(wanted.length);
          wanted[index] = { ...wanted[index]!, aggregate: cpus(random.between(1, 8)) };
        }
        spanMax = Math.max(spanMax, wanted.length);
        acceptAsArrived(needs, 'alpha', before, wanted);
        const input = { nowMs: 1_000_000_000 + step * 10_000, isOrdinary: true };
        const { differences } = decideChecked(engine, options, input);
        expect(differences, `seed ${seed}, step ${step}`).toEqual({ actions: 0, claims: 0, verdicts: 0 });
      }
      expect(spanMax).toBeGreaterThan(128);
    }
  }, 120_000);
});
