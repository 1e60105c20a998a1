import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProfileMemo } from '../../src/needs/profile-memo.ts';
import { ProfileTable } from '../../src/needs/profiles.ts';
import type { ProfileParts } from '../../src/needs/requirements.ts';
import { isIn, isSame, strings } from './support.ts';

function parts(over: Partial<ProfileParts> = {}): ProfileParts {
  return {
    requirements: [],
    spread: [],
    priority: 100,
    interruptionPenalty: 1,
    reclamationPenalty: 1,
    ...over,
  };
}

describe('profiles', () => {
  it('N2: one profile for all orders of its parts, however often it is interned', () => {
    const table = new ProfileTable(strings('fingerprints'));
    const inOrder = parts({ requirements: [isIn('arch', 'arm64', 'x86'), isIn('zone', 'a')] });
    const reversed = parts({ requirements: [isIn('zone', 'a'), isIn('arch', 'x86', 'arm64')] });
    const ref = table.intern(inOrder);
    for (const again of [reversed, inOrder, reversed, reversed]) expect(table.intern(again)).toBe(ref);
    expect(table.referenceCount(ref)).toBe(5);
    expect(table.count).toBe(1);
    expect(table.get(ref).fingerprint).toBe('p=100|ipb=1|rpb=1|reqs=arch:1:arm64,x86;zone:1:a;|spr=');
  });

  it('uses a label as long as the requirements or the spread of a held profile name it', () => {
    const table = new ProfileTable(strings('fingerprints'));
    const spread = [{ topologyKey: 'host', maxSkew: 1, whenUnsatisfiable: 1 }];
    const first = table.intern(parts({ requirements: [isIn('zone', 'a'), isSame('rack')], spread }));
    const second = table.intern(parts({ requirements: [isIn('zone', 'a')], priority: 7 }));
    const uses = () => ['zone', 'rack', 'host', 'arch'].filter((key) => table.usesLabel(key));
    expect(uses()).toEqual(['zone', 'rack', 'host']);
    table.retain(first);
    table.release(first);
    expect(uses()).toEqual(['zone', 'rack', 'host']);
    table.release(first);
    expect(uses()).toEqual(['zone']);
    table.release(second);
    expect(uses()).toEqual([]);
  });

  it('keeps its own copy, so that the caller may reuse its arrays for the next row', () => {
    const table = new ProfileTable(strings('fingerprints'));
    const values = ['a'];
    const requirements = [isIn('zone', 'x')];
    requirements[0] = { key: 'zone', operator: 1, values };
    const ref = table.intern(parts({ requirements }));
    values[0] = 'b';
    expect(table.intern(parts({ requirements }))).not.toBe(ref);
    expect(table.intern(parts({ requirements: [isIn('zone', 'a')] }))).toBe(ref);
    expect(table.get(ref).requirements).toEqual([isIn('zone', 'a')]);
  });

  it('keeps profiles with equal fingerprints apart, so that no cluster changes what another matches', () => {
    const table = new ProfileTable(strings('fingerprints'));
    const two = table.intern(parts({ requirements: [isIn('zone', 'a', 'b')] }));
    const one = table.intern(parts({ requirements: [isIn('zone', 'a,b')] }));
    expect(one).not.toBe(two);
    expect(table.get(one).fingerprintRef).toBe(table.get(two).fingerprintRef);
    expect(table.get(one).requirementSet).not.toBe(table.get(two).requirementSet);
    const ranks = table.fingerprintRanks();
    expect(ranks[one]).toBe(ranks[two]);
  });

  it('shares the requirement set among profiles that differ in priority, penalty or spread', () => {
    const table = new ProfileTable(strings('fingerprints'));
    const requirements = [isIn('zone', 'a')];
    const spread = [{ topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: 1 }];
    const refs = [
      { priority: 1 },
      { priority: 2 },
      { interruptionPenalty: 9 },
      { reclamationPenalty: 9 },
      { spread },
    ].map((over) => table.intern(parts({ requirements, ...over })));
    expect(new Set(refs).size).toBe(5);
    expect(new Set(refs.map((ref) => table.get(ref).requirementSet)).size).toBe(1);
    const { version, count } = table.requirementSets;
    expect(count).toBe(1);
    for (const ref of refs) table.release(ref);
    expect(table.requirementSets.version).toBeGreaterThan(version);
    expect([table.count, table.requirementSets.count]).toEqual([0, 0]);
  });

  it('A1: the profile without Same requirements is interned once and lives as long as its origin', () => {
    const fingerprints = strings('fingerprints');
    const table = new ProfileTable(fingerprints);
    const gang = table.intern(
      parts({ requirements: [isSame('rack'), isIn('zone', 'a'), isSame('block', 'b1')] }),
    );
    expect(table.get(gang).sameKeys).toEqual(['block', 'rack']);
    const plain = table.withoutSame(gang);
    expect(table.withoutSame(gang)).toBe(plain);
    expect(table.get(plain)).toMatchObject({
      requirements: [isIn('zone', 'a')],
      sameKeys: [],
      priority: 100,
    });
    expect(table.withoutSame(plain)).toBe(plain);
    expect(table.intern(parts({ requirements: [isIn('zone', 'a')] }))).toBe(plain);
    table.release(gang);
    expect(table.referenceCount(plain)).toBe(1);
    table.release(plain);
    expect([table.count, table.requirementSets.count, fingerprints.count]).toEqual([0, 0, 0]);
  });

  it('refuses a profile if the table of fingerprints is full, and keeps no references', () => {
    const fingerprints = strings('fingerprints', 1);
    const table = new ProfileTable(fingerprints);
    const ref = table.intern(parts());
    expect(() => table.intern(parts({ requirements: [isIn('zone', 'a')] }))).toThrow(/full/);
    expect([table.count, table.requirementSets.count, fingerprints.count]).toEqual([1, 1, 1]);
    table.release(ref);
    expect(table.intern(parts({ requirements: [isIn('zone', 'a')] }))).toBe(ref);
  });

  it('distinguishes profiles with the same hash', () => {
    const memo = new ProfileMemo();
    const profileCount = 150_000; // of 2^30 hashes: about ten pairs share one
    const written = (ref: number) => parts({ requirements: [isIn('rack', `rack-${ref}`)] });
    for (let ref = 1; ref <= profileCount; ref++) memo.remember(ref, written(ref));
    let displaced = 0;
    let mistaken = 0;
    for (let ref = 1; ref <= profileCount; ref++) {
      const found = memo.find(written(ref));
      if (found === 0) displaced++;
      else if (found !== ref) mistaken++;
    }
    expect(mistaken).toBe(0);
    expect(displaced).toBeGreaterThan(0);
    expect(displaced).toBeLessThan(100);
  });

  it('N4: ranks order fingerprints bytewise, whatever was added and dropped before', () => {
    let reused = 0;
    const step = fc.record({
      take: fc.boolean(),
      pick: fc.nat(),
      priority: fc.integer({ min: -3, max: 120 }),
      read: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), (steps) => {
        const table = new ProfileTable(strings('fingerprints'));
        const held: number[] = [];
        for (const { take, pick, priority, read } of steps) {
          const limit = table.refLimit;
          if (take || held.length === 0) {
            const { count } = table;
            held.push(table.intern(parts({ priority })));
            if (table.count > count && table.refLimit === limit) reused++;
          } else table.release(held.splice(pick % held.length, 1)[0]!);
          if (!read) continue;
          const ranks = table.fingerprintRanks();
          const bytes = (ref: number) => Buffer.from(table.get(ref).fingerprint);
          for (const a of held)
            for (const b of held)
              expect(Math.sign(ranks[a]! - ranks[b]!)).toBe(Buffer.compare(bytes(a), bytes(b)));
        }
      }),
      { numRuns: 60 },
    );
    expect(reused).toBeGreaterThan(20);
  });
});
