/**
 * Leaves the fleet as it was found: every machine that the suite named in a call goes back to the state in
 * which it was first listed. What does not work is reported by name, so that a person can finish it.
 */
import { MachineState } from '../machine/state.ts';
import { CheckFailedError, CheckSkippedError } from './check.ts';
import type { MutatingMethod } from './client.ts';
import type { Custody } from './custody.ts';
import type { Driver } from './driver.ts';
import type { MachinePool } from './machine-pool.ts';
import { ABSENT_TOKEN } from './token.ts';

const S = MachineState;

export interface Stray {
  readonly id: string;
  readonly foundIn: number;
  readonly leftIn: number;
  readonly why: string;
}

/** The next call on the way home; from a state that is not here no call leads anywhere. */
const RETURN_CALLS: Readonly<Record<number, Readonly<Record<number, MutatingMethod>>>> = {
  [S.Speculative]: { [S.Configured]: 'Drain', [S.Idle]: 'Delete' },
  [S.Idle]: { [S.Configured]: 'Drain', [S.Speculative]: 'Create' },
};

/** Configured to Speculative takes two. */
const CALLS_MAX = 2;

export async function putBack(driver: Driver, custody: Custody): Promise<Stray[]> {
  const strays: Stray[] = [];
  for (const id of custody.touchedIds) {
    const stray = await putOneBack(driver, id, custody.originalState(id)!);
    if (stray !== null) strays.push(stray);
  }
  return strays;
}

/** For a provider that answers no more: what is known to be elsewhere than it was found. */
export function leftBehind(pool: MachinePool, custody: Custody): Stray[] {
  const strays: Stray[] = [];
  for (const id of custody.touchedIds) {
    const foundIn = custody.originalState(id)!;
    const leftIn = pool.restingState(id);
    if (leftIn !== foundIn) strays.push({ id, foundIn, leftIn, why: 'the provider answers no more' });
  }
  return strays;
}

async function putOneBack(driver: Driver, id: string, foundIn: number): Promise<Stray | null> {
  let leftIn = 0;
  let why = 'no lifecycle call leads back from there';
  for (let call = 0; call <= CALLS_MAX; call++) {
    const state = await attempt(async () => (await driver.get(id)).state);
    if (typeof state === 'string') return { id, foundIn, leftIn, why: state };
    leftIn = state;
    if (state === foundIn) return null;
    const method = RETURN_CALLS[foundIn]?.[state];
    if (method === undefined) break;
    const passed = await attempt(() => driver.perform(method, id));
    if (typeof passed !== 'string') continue;
    why = passed;
    // A provider whose fence is broken may refuse our shard for good; without a token it must not.
    await attempt(() => driver.perform(method, id, { token: ABSENT_TOKEN }));
  }
  return { id, foundIn, leftIn, why };
}

/** The result, or the text of an expected failure. */
async function attempt<T>(action: () => Promise<T>): Promise<T | string> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof CheckFailedError || error instanceof CheckSkippedError) return error.message;
    throw error;
  }
}
