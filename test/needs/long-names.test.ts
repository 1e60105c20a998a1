/** T4: needs whose fingerprint or group is too long to be written on each of their machines. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { StringTableFullError } from '../../src/base/string-table.ts';
import { RollupOverLimitError, RollupRejectedError } from '../../src/needs/rollup.ts';
import { createTables } from '../../src/shard/tables.ts';
import { isIn, isSame, row } from './support.ts';

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const LONG_GROUP = `team-${'g'.repeat(300)}`;
const longProfile = (tag = '') =>
  isIn('revision', ...Array.from({ length: 40 }, (_, index) => `${index}${tag}`.padEnd(1_000, 'v')));

function tablesWith(machinesMax = 1_000) {
  const { needs, inventory } = createTables({ machinesMax, hasRollupGuard: false });
  const { clusters, fingerprints, groups } = inventory.tables;
  const rowsOf = (clusterId: string) => {
    const cluster = clusters.find(clusterId);
    return Array.from({ length: needs.sliceCount(cluster) }, (_, index) => needs.sliceStart(cluster) + index);
  };
  const groupsOf = (clusterId: string) => rowsOf(clusterId).map((at) => groups.get(needs.group[at]!));
  return { needs, clusters, fingerprints, groups, rowsOf, groupsOf };
}

describe('T4: long names of needs', () => {
  it('T4: a need has one ref for its full text and for its digest, and shows the full text', () => {
    const { needs, fingerprints, groups, rowsOf } = tablesWith();
    needs.accept('c1', [row({ requirements: [longProfile()], group: LONG_GROUP })], 1, 0);
    const at = rowsOf('c1')[0]!;
    const { fingerprint, fingerprintRef } = needs.profiles.get(needs.profile[at]!);
    expect(fingerprint.length).toBeGreaterThan(40_000);
    expect(fingerprints.get(fingerprintRef)).toBe(fingerprint);
    expect(fingerprints.shortText(fingerprintRef)).toBe(digestOf(fingerprint));
    expect(fingerprints.find(digestOf(fingerprint))).toBe(fingerprintRef);
    expect(groups.get(needs.group[at]!)).toBe(LONG_GROUP);
    expect(groups.shortText(needs.group[at]!)).toBe(digestOf(LONG_GROUP));
  });

  it('T4: usual names are held as they are', () => {
    const { needs, fingerprints, groups, rowsOf } = tablesWith();
    needs.accept('c1', [row({ requirements: [isIn('zone', 'a')], group: 'g'.repeat(253) })], 1, 0);
    const at = rowsOf('c1')[0]!;
    const { fingerprint, fingerprintRef } = needs.profiles.get(needs.profile[at]!);
    expect(fingerprints.shortText(fingerprintRef)).toBe(fingerprint);
    expect(groups.shortText(needs.group[at]!)).toBe('g'.repeat(253));
  });

  it('T4: N4: orders needs by the full texts of groups and fingerprints', () => {
    const { needs, groupsOf } = tablesWith();
    const names = ['a', `a${'b'.repeat(300)}`, `a${'c'.repeat(300)}`, 'z', `z${'a'.repeat(300)}`];
    needs.accept(
      'c1',
      names.toReversed().map((group) => row({ group })),
      1,
      0,
    );
    expect(groupsOf('c1')).toEqual(names);
    const profiles = [longProfile('a'), longProfile('b'), isIn('revision', '0'), isIn('revision', 'z')];
    needs.accept(
      'c2',
      profiles.map((requirement) => row({ requirements: [requirement] })),
      1,
      0,
    );
    const start = needs.sliceStart(2);
    const read = profiles.map((_, index) => needs.profiles.get(needs.profile[start + index]!).fingerprint);
    expect(read).toEqual(read.toSorted());
  });

  it('T4: needs whose long groups differ at the end only are two needs', () => {
    const { needs, groupsOf } = tablesWith();
    needs.accept('c1', [row({ group: `${LONG_GROUP}1` }), row({ group: `${LONG_GROUP}2` })], 1, 0);
    expect(groupsOf('c1')).toEqual([`${LONG_GROUP}1`, `${LONG_GROUP}2`]);
  });

  it('T4: a fold’s long name is held as its digest as well', () => {
    const { needs, groups } = tablesWith();
    const amounts = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`example.com/${'r'.repeat(40)}-${index}`, '1']),
    );
    needs.accept('c1', [row({ requirements: [isSame('rack')], aggregate: amounts })], 1, 0);
    const fold = needs.foldNames.groupOf(needs.aggregate[needs.sliceStart(1)]!);
    expect(groups.get(fold)).toMatch(/^fold:example\.com/);
    expect(groups.shortText(fold)).toBe(digestOf(groups.get(fold)));
  });

  it('T4: T12: the full text goes with the last need; a machine keeps the digest alone', () => {
    const { needs, groups, fingerprints } = tablesWith();
    needs.accept('c1', [row({ requirements: [longProfile()], group: LONG_GROUP })], 1, 0);
    const ref = groups.intern(digestOf(LONG_GROUP)); // a machine's
    needs.accept('c1', [row()], 2, 0);
    expect(groups.get(ref)).toBe(digestOf(LONG_GROUP));
    groups.release(ref);
    needs.accept('c1', [], 3, 0);
    expect([groups.count, fingerprints.count]).toEqual([0, 0]);
  });

  it('T4: T1: full texts count in the share of a cluster', () => {
    const { needs, rowsOf } = tablesWith();
    const rows = Array.from({ length: 1_000 }, (_, index) =>
      row({ requirements: [longProfile(`-${index}`)] }),
    );
    let error: unknown;
    try {
      needs.accept('c1', rows, 1, 0);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(RollupOverLimitError);
    expect(error).not.toBeInstanceOf(StringTableFullError);
    expect(error).toMatchObject({ what: 'bytes of fingerprints' });
    expect(rowsOf('c1')).toEqual([]);
    expect(needs.accept('c2', [row()], 1, 0)).toBe('applied');
  });
});

describe('T4: a client’s group of the form of a digest', () => {
  it('T4: is refused whole, with the reason; the demand accepted before stays', () => {
    const { needs, groupsOf } = tablesWith();
    needs.accept('c1', [row({ group: 'before' })], 1, 0);
    const group = digestOf('anything');
    const error = () => needs.accept('c1', [row(), row({ group })], 2, 0);
    expect(error).toThrow(RollupRejectedError);
    expect(error).toThrow(
      `The roll-up of cluster "c1" was refused: needs[1].group is ${group}: the shard itself writes groups of this ` +
        'form on machines, in place of long ones. The shard applied none of it; the demand accepted before stays. ',
    );
    expect(groupsOf('c1')).toEqual(['before']);
    expect(needs.rejectedRollups(1)).toBe(2);
  });

  for (const group of ['sha256:', 'sha256:abc', `sha256:${'A'.repeat(64)}`, `sha512:${'a'.repeat(64)}`]) {
    it(`T4: ${group.slice(0, 12)} is free`, () => {
      const { needs, groupsOf } = tablesWith();
      needs.accept('c1', [row({ group })], 1, 0);
      expect(groupsOf('c1')).toEqual([group]);
    });
  }
});
