/**
 * Byte fuzzing. The fuzzer damages valid inputs as networks, disks and attackers do. A target must return a value or a typed
 * error, leak no memory, and continue. A failure prints its seed. FLOTILLA_TEST_FUZZ_SECONDS sets the time for all targets
 * together (default 15), FLOTILLA_PROPERTY_SEED the first seed.
 */
import { Random } from '../../src/base/random.ts';

const SECONDS = Number(process.env.FLOTILLA_TEST_FUZZ_SECONDS ?? 15);
const SEED = Number(process.env.FLOTILLA_PROPERTY_SEED ?? 20_261_116);
/** Targets in this folder, which share the time. */
const TARGETS = 7;
/** Fewer inputs prove nothing. */
export const CASES_MIN = 200;
/** Maximum length of a damaged input. */
const BYTES_MAX = 64 * 1024;

/** Bytes that make bad lengths, tags and numbers. */
const NASTY: readonly (readonly number[])[] = [
  [0],
  [0x7f],
  [0x80],
  [0xff],
  [0xff, 0xff, 0xff, 0xff, 0x0f],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
  [0xc3, 0x28],
  [0xed, 0xa0, 0x80],
  [0x0b, 0x0c],
  [0x2d, 0x31],
  [0x0d, 0x0a, 0x0d, 0x0a],
  [0x25, 0x30, 0x30],
];

const DAMAGES: readonly ((bytes: number[], random: Random, others: readonly Uint8Array[]) => void)[] = [
  (bytes, random) => {
    bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  },
  (bytes, random) => {
    bytes[random.below(bytes.length)] = random.below(256);
  },
  (bytes, random) => bytes.splice(random.below(bytes.length), random.between(1, 16)),
  (bytes, random) => bytes.splice(random.below(bytes.length + 1), 0, ...random.pick(NASTY)),
  (bytes, random) => bytes.splice(random.below(bytes.length), random.between(1, 8), ...random.pick(NASTY)),
  (bytes, random) => bytes.splice(random.below(bytes.length)),
  (bytes, random) => {
    const start = random.below(bytes.length);
    const piece = bytes.slice(start, start + random.between(1, 64));
    bytes.splice(random.below(bytes.length + 1), 0, ...piece);
  },
  (bytes, random, others) => {
    const other = random.pick(others);
    const start = random.below(other.length);
    bytes.splice(
      random.below(bytes.length + 1),
      random.below(32),
      ...other.subarray(start, start + random.below(128)),
    );
  },
];

/** One of the inputs, damaged one to six times. */
export function damaged(inputs: readonly Uint8Array[], random: Random): Uint8Array {
  const bytes = [...random.pick(inputs)];
  for (let count = random.between(1, 6); count > 0; count--) {
    if (bytes.length === 0) break;
    random.pick(DAMAGES)(bytes, random, inputs);
  }
  return Uint8Array.from(bytes.slice(0, BYTES_MAX));
}

export interface FuzzReport {
  readonly cases: number;
  /** Inputs by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Growth of heap and buffers over the whole run. */
  readonly grownBytes: number;
}

/** Runs damaged inputs for this target's share of the time. `run` returns the outcome of one; an exception is a finding. */
export async function fuzz(
  inputs: readonly Uint8Array[],
  run: (bytes: Uint8Array, random: Random) => string | Promise<string>,
): Promise<FuzzReport> {
  const random = new Random(SEED);
  const outcomes: Record<string, number> = {};
  const before = memoryBytes();
  const untilMs = performance.now() + (SECONDS * 1000) / TARGETS;
  let cases = 0;
  while (cases < CASES_MIN || performance.now() < untilMs) {
    const bytes = damaged(inputs, random);
    try {
      const outcome = await run(bytes, random);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    } catch (error) {
      const shown = Buffer.from(bytes.subarray(0, 4_096)).toString('base64');
      throw new Error(`case ${cases} of seed ${SEED}, base64 ${shown}`, { cause: error });
    }
    cases++;
  }
  return { cases, outcomes, grownBytes: memoryBytes() - before };
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Without a collection in between, garbage counts too. */
export const GROWN_BYTES_MAX = 512 * 1024 * 1024;
