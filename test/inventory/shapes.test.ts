import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable, StringTableFullError } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { ShapeKeyBuilder } from '../../src/inventory/shape-key.ts';
import { attributeOf, INSTANCE_TYPE_KEY, ShapeTable, ZONE_KEY } from '../../src/inventory/shapes.ts';

function shapeTable(shapesMax = 64): ShapeTable {
  return new ShapeTable({ vectors: new VectorTable(new DimensionTable()), shapesMax });
}

describe('shapes', () => {
  it('are shared by machines that differ only in the order of labels and resources, or in zero amounts', () => {
    const shapes = shapeTable();
    const first = shapes.intern('m5', 'z1', 3, { rack: 'r1', tier: 'web' }, { cpu: 4000, memory: 8 });
    expect(shapes.intern('m5', 'z1', 3, { tier: 'web', rack: 'r1' }, { memory: 8, gpu: 0, cpu: 4000 })).toBe(
      first,
    );
    expect(shapes.count).toBe(1);
    expect(shapes.referenceCount(first)).toBe(2);
  });

  const others: [string, Parameters<ShapeTable['intern']>][] = [
    ['instance type', ['m6', 'z1', 3, { rack: 'r1' }, { cpu: 4000 }]],
    ['zone', ['m5', 'z2', 3, { rack: 'r1' }, { cpu: 4000 }]],
    ['capacity type', ['m5', 'z1', 4, { rack: 'r1' }, { cpu: 4000 }]],
    ['label value', ['m5', 'z1', 3, { rack: 'r2' }, { cpu: 4000 }]],
    ['label key', ['m5', 'z1', 3, { rock: 'r1' }, { cpu: 4000 }]],
    ['the boundary between key and value', ['m5', 'z1', 3, { rackr: '1' }, { cpu: 4000 }]],
    ['amount', ['m5', 'z1', 3, { rack: 'r1' }, { cpu: 4001 }]],
    ['resource', ['m5', 'z1', 3, { rack: 'r1' }, { cpus: 4000 }]],
  ];
  for (const [what, other] of others) {
    it(`differ by ${what}`, () => {
      const shapes = shapeTable();
      const base = shapes.intern('m5', 'z1', 3, { rack: 'r1' }, { cpu: 4000 });
      expect(shapes.intern(...other)).not.toBe(base);
    });
  }

  it('do not include labels that are unique per machine', () => {
    const shapes = shapeTable();
    const first = shapes.intern('m5', 'z1', 3, { 'kubernetes.io/hostname': 'a' }, {});
    expect(shapes.intern('m5', 'z1', 3, { 'kubernetes.io/hostname': 'b' }, {})).toBe(first);
    expect([...shapes.get(first).labels]).toEqual([]);
  });

  it('return their facts, also for labels named like object properties', () => {
    const shapes = shapeTable();
    const labels = JSON.parse('{"__proto__":"x","constructor":"y","é":"漢"}') as Record<string, string>;
    const ref = shapes.intern('m5', 'z1', 4, labels, JSON.parse('{"__proto__":7,"cpu":4000}'));
    const shape = shapes.get(ref);
    expect(shape).toMatchObject({ ref, instanceType: 'm5', zone: 'z1', capacityType: 4 });
    expect(shape.labels).toEqual(new Map(Object.entries(labels)));
    expect(Object.entries(shapes.vectors.amountsOf(shape.capacity)).sort()).toEqual([
      ['__proto__', 7],
      ['cpu', 4000],
    ]);
  });

  it('free ref, strings and vector with the last reference, and change their version', () => {
    const shapes = shapeTable();
    const before = shapes.version;
    const ref = shapes.intern('m5', 'z1', 3, {}, { cpu: 1 });
    const appeared = shapes.version;
    expect(appeared).not.toBe(before);
    shapes.retain(ref);
    shapes.release(ref);
    expect(shapes.version).toBe(appeared);
    shapes.release(ref);
    expect(shapes.version).not.toBe(appeared);
    expect([shapes.count, shapes.instanceTypes.count, shapes.zones.count, shapes.vectors.count]).toEqual([
      0, 0, 0, 0,
    ]);
    expect(shapes.isHeld(ref)).toBe(false);
    expect(shapes.intern('p4', 'z1', 3, {}, {})).toBe(ref);
  });

  it('are refused when there are too many, and the refused one keeps no references', () => {
    const shapes = shapeTable(1);
    shapes.intern('m5', 'z1', 3, {}, { cpu: 1 });
    expect(() => shapes.intern('p4', 'z9', 3, {}, { gpu: 1 })).toThrow(StringTableFullError);
    expect([shapes.count, shapes.instanceTypes.count, shapes.zones.count, shapes.vectors.count]).toEqual([
      1, 1, 1, 1,
    ]);
  });

  it('are found by a worker from bytes in any order', () => {
    const shapes = shapeTable();
    const ref = shapes.intern('m5', 'z1', 3, { rack: 'r1', tier: 'web' }, { cpu: 4000, memory: 8 });
    const keys = StringTable.attach(shapes.shareKeys());
    const builder = new ShapeKeyBuilder();
    const text = (value: string) => Buffer.from(value);
    const put = (key: string, value: string) =>
      builder.label(text(key), 0, key.length, text(value), 0, value.length);
    builder.begin(3);
    builder.instanceType(text('m5'), 0, 2);
    put('tier', 'database');
    put('kubernetes.io/hostname', 'n1');
    builder.amount(text('memory'), 0, 6, 8);
    builder.zone(text('..z1'), 2, 4);
    put('rack', 'r1');
    put('tier', 'web'); // of two entries with the same key the later one counts
    builder.amount(text('cpu'), 0, 3, 4000);
    builder.finish();
    expect(keys.findBytes(builder.bytes, 0, builder.length)).toBe(ref);
    expect(builder.ownLength).toBeGreaterThan(0);
  });

  it('have equal keys exactly if they are equal', () => {
    let equalPairs = 0;
    const word = fc.constantFrom('', 'a', 'ab');
    const part = fc.tuple(
      word,
      word,
      fc.dictionary(word, word, { maxKeys: 2 }),
      fc.dictionary(word, fc.nat(1), { maxKeys: 1 }),
    );
    const key = ([type, zone, labels, amounts]: [
      string,
      string,
      Record<string, string>,
      Record<string, number>,
    ]) => {
      const builder = new ShapeKeyBuilder();
      builder.build(type, zone, 0, labels, amounts);
      return Buffer.from(builder.bytes.subarray(0, builder.length)).toString('hex');
    };
    const plain = ([type, zone, labels, amounts]: [
      string,
      string,
      Record<string, string>,
      Record<string, number>,
    ]) =>
      JSON.stringify([
        type,
        zone,
        Object.entries(labels).sort(),
        Object.entries(amounts)
          .filter(([, units]) => units > 0)
          .sort(),
      ]);
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 20, size: 'max' }), (shapes) => {
        const keys = shapes.map(key);
        const plains = shapes.map(plain);
        equalPairs += shapes.length - new Set(plains).size;
        const relation = (of: string[]) => of.map((one) => of.indexOf(one));
        expect(relation(keys)).toEqual(relation(plains));
      }),
      { numRuns: 200 },
    );
    expect(equalPairs).toBeGreaterThan(10);
  });
});

describe('V4: attribute look-up', () => {
  const shapes = shapeTable();
  const labels = { [INSTANCE_TYPE_KEY]: 'label-type', [ZONE_KEY]: 'label-zone', rack: 'r1', tier: '' };
  const full = shapes.get(shapes.intern('m5', 'z1', 3, labels, {}));
  const bare = shapes.get(shapes.intern('', '', 3, labels, {}));
  const empty = shapes.get(shapes.intern('', '', 3, {}, {}));
  for (const [what, shape, key, value] of [
    ['the instance type wins over its label', full, INSTANCE_TYPE_KEY, 'm5'],
    ['the zone wins over its label', full, ZONE_KEY, 'z1'],
    ['without an instance type the label counts', bare, INSTANCE_TYPE_KEY, 'label-type'],
    ['without a zone the label counts', bare, ZONE_KEY, 'label-zone'],
    ['without type and label the attribute is missing', empty, INSTANCE_TYPE_KEY, undefined],
    ['every other key is a label', full, 'rack', 'r1'],
    ['a label with an empty value exists', full, 'tier', ''],
    ['a label that the shape lacks is missing', full, 'row', undefined],
  ] as const) {
    it(`V4: ${what}`, () => {
      expect(attributeOf(shape, key)).toBe(value);
    });
  }
});
