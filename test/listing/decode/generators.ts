/** Random listings as chunks of bytes: valid protobuf, in all the ways that encoders never write it. */
import fc from 'fast-check';
import { bytes, double, fixed32, group, number, tag, varint } from './raw-wire.ts';

const P = 'bigfleet.lucy.sh/assigned-';
const text = fc.oneof(
  fc.constantFrom('', 'a', 'zone-a', 'm5.4xlarge', 'über-größe', 'x'.repeat(130), '__proto__', '🚀'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const id = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('m-1', 'm-2', 'gpu-10', 'gpu-2', '') },
  { weight: 1, arbitrary: text },
);
const labelKey = fc.constantFrom(
  'kubernetes.io/hostname',
  'kubernetes.io/hostnams',
  'rack',
  'zone',
  '',
  '__proto__',
  'own',
  'k'.repeat(200),
);
const dimension = fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', 'pods', '');
const quantity = fc.constantFrom(
  '4',
  '16Gi',
  '17179869184',
  '500m',
  '0',
  '1e3',
  '1.5',
  'many',
  '',
  '-1',
  '9E',
);
const metadataKey = fc.constantFrom(
  `${P}priority`,
  `${P}interruption-penalty-dollars`,
  `${P}reclamation-penalty-dollars`,
  `${P}need-fingerprint`,
  `${P}group`,
  `${P}grouq`,
  'other',
);
const metadataValue = fc.oneof(
  fc.constantFrom(
    '0',
    '100',
    '-7',
    '+5',
    '2147483647',
    '2147483648',
    '-2147483648',
    '007',
    '',
    '1.5',
    '0.5',
    '.5',
    '5.',
    '.',
    '+Inf',
    'inf',
    '-Inf',
    'NaN',
    '8.388608e+06',
    '1e400',
    '-0',
    '12x',
    '0x10',
    '3.0000000000000000001',
    '1_000',
  ),
  fc.nat().map(String),
  fc.double({ min: 0, noNaN: true }).map(String),
);
const padding = fc.constantFrom(0, 0, 0, 0, 1, 2);

/** Fields that Machine does not have, of every wire type, nested groups among them; also known ones with a wrong type. */
const unknownField = fc.constantFrom(11, 16, 100, 2000, 536870911);
export const unknownChunk: fc.Arbitrary<Buffer> = fc.oneof(
  fc
    .tuple(unknownField, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }))
    .map(([field, value]) => number(field, value)),
  fc.tuple(unknownField, fc.double()).map(([field, value]) => double(field, value)),
  fc.tuple(unknownField, fc.uint8Array({ maxLength: 9 })).map(([field, value]) => bytes(field, value)),
  fc.tuple(unknownField, fc.nat()).map(([field, value]) => fixed32(field, value)),
  fc
    .tuple(unknownField, unknownField)
    .map(([outer, inner]) => group(outer, group(inner, number(1, 5)), bytes(3, 'x'))),
  fc.constantFrom(
    number(1, 5),
    fixed32(4, 1),
    double(2, 1),
    number(10, 9),
    number(13, 0),
    bytes(7, 'abc'),
    bytes(2, 'x'),
  ),
);

/** Map entries: key and value in any order, missing, repeated, with unknown fields between. */
function entryContent(key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const usual = fc.tuple(key, value).map(([k, v]) => Buffer.concat([bytes(1, k), bytes(2, v)]));
  const parts = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(key, padding).map(([k, extra]) => bytes(1, k, extra)) },
    { weight: 4, arbitrary: fc.tuple(value, padding).map(([v, extra]) => bytes(2, v, extra)) },
    {
      weight: 1,
      arbitrary: unknownChunk.filter((chunk) => (chunk[0]! & 0x78) !== 8 && (chunk[0]! & 0x78) !== 16),
    },
  );
  const unusual = fc.array(parts, { maxLength: 4 }).map((chunks) => Buffer.concat(chunks));
  return fc.oneof({ weight: 5, arbitrary: usual }, { weight: 2, arbitrary: unusual });
}

/** The content of a Resources message; a machine may carry several, which merge. */
const resources = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: entryContent(dimension, quantity).map((entry) => bytes(1, entry)) },
      { weight: 1, arbitrary: unknownChunk.filter((chunk) => (chunk[0]! & 0x78) !== 8) },
    ),
    { maxLength: 4 },
  )
  .map((chunks) => Buffer.concat(chunks));

const hostPart = fc.oneof(
  text.map((value) => bytes(1, value)),
  text.map((value) => bytes(2, value)),
);
const host = fc.array(hostPart, { maxLength: 3 }).map((parts) => Buffer.concat(parts));

const price = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0.25, 3.5, -0) },
  { weight: 1, arbitrary: fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY) },
);
const probability = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0.05, 1, -0) },
  { weight: 1, arbitrary: fc.constantFrom(-0.1, 1.1, Number.NaN) },
);

/** Any field of a machine, any number of times: for the merge rules. */
const anyField: fc.Arbitrary<Buffer> = fc.oneof(
  id.map((value) => bytes(1, value)),
  fc
    .oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom(2n ** 32n + 3n, 2n ** 64n - 1n))
    .map((value) => number(2, value)),
  host.map((value) => bytes(3, value)),
  text.map((value) => bytes(4, value)),
  text.map((value) => bytes(5, value)),
  fc.integer({ min: 0, max: 6 }).map((value) => number(6, value)),
  price.map((value) => double(7, value)),
  probability.map((value) => double(8, value)),
  fc.tuple(resources, padding).map(([value, extra]) => bytes(9, value, extra)),
  entryContent(labelKey, text).map((value) => bytes(10, value)),
  text.map((value) => bytes(12, value)),
  resources.map((value) => bytes(13, value)),
  fc.constantFrom('', 'c-1', 'c-2').map((value) => bytes(14, value)),
  entryContent(metadataKey, metadataValue).map((value) => bytes(15, value)),
  unknownChunk,
);

/** A record that is often valid: the parts that its state requires, then anything else, shuffled. */
const SOUND = fc.constantFrom(
  [number(2, 1)],
  [number(2, 2)],
  [number(2, 3), bytes(3, bytes(2, 'host-1'))],
  [number(2, 4), bytes(3, bytes(1, 'p')), bytes(14, 'c-1')],
  [number(2, 5), bytes(3, bytes(2, 'host-2')), bytes(14, 'c-2')],
  [number(2, 6), bytes(3, bytes(2, 'host-2')), bytes(14, 'c-2')],
  [number(2, 7), bytes(3, bytes(2, 'host-2'))],
  [number(2, 8)],
);

const harmless = fc.oneof(
  fc.tuple(entryContent(labelKey, text), padding).map(([value, extra]) => bytes(10, value, extra)),
  fc
    .tuple(dimension, fc.constantFrom('4', '16Gi', '0', '1.5'))
    .map(([name, value]) => bytes(9, bytes(1, Buffer.concat([bytes(1, name), bytes(2, value)])))),
  entryContent(metadataKey, metadataValue).map((value) => bytes(15, value)),
  text.map((value) => bytes(4, value)),
  text.map((value) => bytes(12, value)),
  fc.constantFrom(0.5, 1).map((value) => double(8, value)),
  unknownChunk,
);

const soundMachine = fc
  .tuple(
    id.filter((value) => value !== ''),
    SOUND,
    fc.array(harmless, { maxLength: 10 }),
  )
  .chain(([machineId, sound, extra]) =>
    fc.shuffledSubarray([bytes(1, machineId), ...sound, ...extra], {
      minLength: 1 + sound.length + extra.length,
    }),
  )
  .map((chunks) => Buffer.concat(chunks));

const anyMachine = fc.array(anyField, { maxLength: 14 }).map((chunks) => Buffer.concat(chunks));

export const machineMessage = fc.oneof(
  { weight: 3, arbitrary: soundMachine },
  { weight: 1, arbitrary: anyMachine },
);

const listChunk = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(machineMessage, padding).map(([machine, extra]) => bytes(1, machine, extra)),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }).map((value) => bytes(2, value)) },
  { weight: 2, arbitrary: id.map((value) => bytes(3, value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      Buffer.concat([tag(9, 0), varint(2n ** 64n - 1n)]),
      group(20, bytes(1, 'x')),
      number(3, 1),
    ),
  },
);

export const listMessage: fc.Arbitrary<Buffer> = fc
  .array(listChunk, { maxLength: 12 })
  .map((chunks) => Buffer.concat(chunks));
