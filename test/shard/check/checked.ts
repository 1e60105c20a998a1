/** One cycle of an engine, derived again from a copy as in a shard, on this thread. */
import { copyImage, imageBytes } from '../../../src/base/image.ts';
import type { CycleInput, Engine, EngineOptions } from '../../../src/decision/engine.ts';
import { deriveAndCompare } from '../../../src/shard/check/derive.ts';
import { type CheckImage, imageOfCycle } from '../../../src/shard/check/image.ts';
import type { CheckResult } from '../../../src/shard/ports/check.ts';

/** Decides, and returns the copy that a check compares; `change` may plant a fault in the engine's result. */
export function copyOfCycle(
  engine: Engine,
  options: EngineOptions,
  input: CycleInput,
  decide: (input: CycleInput) => unknown = (given) => engine.decide(given),
): CheckImage {
  const { memory, letGo } = engine.remember();
  decide(input);
  const image = imageOfCycle({ engine, options, barredNeeds: () => [] }, memory, input);
  const copy = copyImage(image, new SharedArrayBuffer(imageBytes(image)))!;
  letGo();
  return copy;
}

/** Counts alone. */
export function countsOf({ actions, claims, verdicts }: CheckResult) {
  return { actions, claims, verdicts };
}

export function decideChecked(engine: Engine, options: EngineOptions, input: CycleInput): CheckResult {
  return deriveAndCompare(copyOfCycle(engine, options, input));
}

export const NO_DIFFERENCES = { actions: 0, claims: 0, verdicts: 0 };
