/**
 * Returns every machine that the suite called to the state in which it was first listed. A machine that
 * cannot be returned is reported by name, so that a person can finish the work.
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

/** By original state, then by present state: the next call. From other states no call leads back. */
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

/** For a provider that no longer answers: the machines whose last known state is not the original one. */
export function leftBehind(pool: MachinePool, custody: Custody): Stray[] {
  const strays: Stray[] = [];
  for (const id of custody.touchedIds) {
    const foundIn = custody.originalState(id)!;
    const leftIn = pool.restingState(id);
    if (leftIn !== foundIn) strays.push({ id, foundIn, leftIn, why: 'the provider no longer answers' });
  }
  return strays;
}

async function putOneBack(driver: Driver, id: string, foundIn: number): Promise<Stray | null> {
  let leftIn = 0;
  let why = 'no lifecycle call leads back from this state';
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
    // A provider with a broken fence may refuse every token of this shard; a call without one bypasses it.
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
