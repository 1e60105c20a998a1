/**
 * Fuzzes every decoder and measures its memory, in a process of its own (measure.ts says why). Prints a report for each decoder
 * as JSON. `node … main.js SECONDS SEED`
 */
import { Random } from '../../../src/base/random.ts';
import { damaged } from '../fuzzer.ts';
import { DECODERS, type Decoder } from './decoders.ts';
import { allocatedBy, budgetOf } from './measure.ts';

export interface BudgetReport {
  readonly name: string;
  readonly covers: readonly string[];
  readonly cases: number;
  readonly accepted: number;
  readonly refused: number;
  /** The costliest input: what it was, its length, and bytes allocated for each of its bytes beyond 1 MiB. */
  readonly worst: { readonly what: string; readonly inputBytes: number; readonly allocated: number };
  readonly faults: readonly string[];
}

/** Large enough that a factor shows beside the constant of 1 MiB, and small enough to try hundreds. */
const LARGE_BYTES = 128 * 1024;
const RANDOM_BYTES_MAX = 4_096;
const FAULTS_MAX = 5;

const SECONDS = Number(process.argv[2] ?? 5);
const SEED = Number(process.argv[3] ?? 1);

for (const decoder of DECODERS) {
  process.stdout.write(`${JSON.stringify(await examine(decoder, new Random(SEED)))}\n`);
}

async function examine(decoder: Decoder, random: Random): Promise<BudgetReport> {
  const { name, covers, valid, costly } = decoder;
  const bytesMax = Math.min(decoder.bytesMax ?? LARGE_BYTES, LARGE_BYTES);
  const faults: string[] = [];
  let worst = { what: '', inputBytes: 0, allocated: 0 };
  let [cases, accepted, refused] = [0, 0, 0];
  const attempt = async (what: string, bytes: Uint8Array, isMeasured: boolean) => {
    const run = async () => {
      try {
        const result = await decoder.decode(bytes);
        accepted++;
        return result;
      } catch (error) {
        refused++;
        if (!decoder.isNamed(error)) faults.push(`${what}: ${String(error)}, base64 ${shown(bytes)}`);
        return error;
      }
    };
    cases++;
    if (!isMeasured) {
      await run();
      return;
    }
    const allocated = await allocatedBy(run);
    const share = (bytes: number, input: number) => bytes / budgetOf(input);
    if (share(allocated, bytes.length) > share(worst.allocated, worst.inputBytes))
      worst = { what, inputBytes: bytes.length, allocated };
    if (allocated > budgetOf(bytes.length))
      faults.push(`${what}: ${allocated} bytes for ${bytes.length}, at most ${budgetOf(bytes.length)}`);
  };

  for (const bytes of valid) {
    await attempt('valid', bytes, false);
    if (refused > 0) faults.push(`valid input was refused, base64 ${shown(bytes)}`);
  }
  const large = Object.entries(costly).map(([what, make]) => [what, make(bytesMax)] as const);
  // The first round also compiles and grows what stays, such as caches of a module.
  for (const isMeasured of [false, true]) {
    for (const [what, bytes] of large) {
      await attempt(what, bytes, isMeasured);
      await attempt(`${what}, cut`, bytes.subarray(0, (bytes.length * 2) / 3), isMeasured);
    }
  }
  const inputs = [...valid, ...large.map(([, bytes]) => bytes.subarray(0, RANDOM_BYTES_MAX))];
  const untilMs = performance.now() + (SECONDS * 1000) / DECODERS.length;
  for (let round = 0; round < 40 || performance.now() < untilMs; round++) {
    const isMeasured = round % 10 === 0; // a collection costs milliseconds
    await attempt('damaged', damaged(inputs, random), isMeasured);
    const noise = Uint8Array.from({ length: random.below(RANDOM_BYTES_MAX) }, () => random.below(256));
    await attempt('random', noise, isMeasured);
    const whole = random.pick(valid);
    await attempt('cut', whole.subarray(0, random.below(whole.length)), false);
    if (faults.length >= FAULTS_MAX) break;
  }
  return { name, covers, cases, accepted, refused, worst, faults: faults.slice(0, FAULTS_MAX) };
}

function shown(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 512)).toString('base64');
}
