/** Shares of providers in a table that all of them use. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { StringTable, type StringTableFullError } from '../../src/base/string-table.ts';
import { ownerOf, TableShareError } from '../../src/base/table-shares.ts';

const DEMAND = 0;
const [EAST, WEST] = [ownerOf(0), ownerOf(1)];

function table(
  providers: readonly string[],
  { reserve = 0.5, demand = 0, entriesMax = 64 } = {},
): StringTable {
  const strings = StringTable.create({ name: 'texts', entriesMax, bytesMax: 1_024 * entriesMax });
  strings.shareAmong({ providers, reserve }, demand);
  return strings;
}

/** Interns texts of an owner until the table refuses one; returns their refs. */
function fill(strings: StringTable, owner: number, prefix: string, bytes = 16): number[] {
  const refs: number[] = [];
  for (;;) {
    try {
      refs.push(strings.intern(`${prefix}-${refs.length}`.padEnd(bytes, '.'), owner));
    } catch (error) {
      const { code } = error as TableShareError | StringTableFullError;
      expect(['table_share_exceeded', 'string_table_full']).toContain(code);
      return refs;
    }
  }
}

describe('a table that several providers share', () => {
  it('T1: one provider alone may use all of it', () => {
    expect(fill(table(['east']), EAST, 'e')).toHaveLength(64);
  });

  it('T1: a provider may use everything but what is reserved for the others, which find it free', () => {
    const strings = table(['east', 'west']);
    expect(fill(strings, EAST, 'e')).toHaveLength(48);
    expect(fill(strings, WEST, 'w')).toHaveLength(16);
    const four = table(['east', 'west', 'north', 'south']);
    expect(fill(four, EAST, 'e')).toHaveLength(40);
    for (const provider of [1, 2, 3]) expect(fill(four, ownerOf(provider), `p${provider}`)).toHaveLength(8);
  });

  it('T1: bytes have shares too', () => {
    const strings = table(['east', 'west']);
    const east = fill(strings, EAST, 'e', 4_000);
    expect(east.length).toBeLessThanOrEqual(12);
    expect(east.length).toBeGreaterThan(10);
    expect(fill(strings, WEST, 'w', 1_000).length).toBeGreaterThan(14);
  });

  it('T1: half of a table that demand uses too stays for demand', () => {
    const strings = table(['east'], { demand: 0.5 });
    expect(fill(strings, EAST, 'e')).toHaveLength(32);
    expect(fill(strings, DEMAND, 'd')).toHaveLength(32);
  });

  it('T1: a text that another brought first costs nothing', () => {
    const strings = table(['east', 'west']);
    fill(strings, EAST, 'e');
    for (let index = 0; index < 48; index++) strings.intern(`e-${index}`.padEnd(16, '.'), WEST);
    expect(strings.shares!.entriesOf(WEST)).toBe(0);
    expect(fill(strings, WEST, 'w')).toHaveLength(16);
  });

  it('T1: the error names the provider, the table and what to change', () => {
    const strings = table(['east', 'west']);
    fill(strings, EAST, 'e');
    let message = '';
    try {
      strings.intern('one more', EAST);
    } catch (error) {
      expect(error).toBeInstanceOf(TableShareError);
      message = (error as Error).message;
    }
    for (const part of ['Provider east', '48 of the 64 entries', 'texts', '--provider-table-reserve'])
      expect(message).toContain(part);
  });

  it('T12: what is given back no longer counts, after any history', () => {
    const random = new Random(7);
    const strings = table(['east', 'west', 'north'], { entriesMax: 64 });
    const held: number[] = [];
    let refusals = 0;
    for (let step = 0; step < 20_000; step++) {
      if (held.length > 0 && random.chance(0.45))
        strings.release(held.splice(random.below(held.length), 1)[0]!);
      else {
        const owner = random.chance(0.7) ? EAST : random.below(4);
        try {
          held.push(strings.intern(`t-${random.below(200)}`, owner));
        } catch (error) {
          expect(strings.count === 64 || error instanceof TableShareError).toBe(true);
          refusals++;
        }
      }
    }
    expect(refusals).toBeGreaterThan(100);
    for (const ref of held) strings.release(ref);
    expect(strings.count).toBe(0);
    for (let owner = 0; owner < 4; owner++) {
      expect([strings.shares!.entriesOf(owner), strings.shares!.bytesOf(owner)]).toEqual([0, 0]);
    }
  });
});
