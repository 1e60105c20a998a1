/** Compares two answers: sorts the parts for which the rules give no order. */
import { expect } from 'vitest';
import { decide } from '../oracle/oracle.ts';
import type { OracleResult, World } from '../oracle/world.ts';
import { EngineWorld, type EngineWorldOptions } from './engine-world.ts';

export function comparable(result: OracleResult) {
  const byKey = <T>(map: Map<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  const verdictKey = ({ cluster, group, fingerprint }: OracleResult['verdicts'][number]) =>
    JSON.stringify([cluster, group, fingerprint]);
  const verdicts = result.verdicts.map((verdict) => [verdictKey(verdict), verdict] as const);
  return {
    actions: result.actions,
    claims: byKey(result.claims),
    verdicts: verdicts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, verdict]) => verdict),
    parking: byKey(result.parking),
    unmet: byKey(result.unmet),
    shortfalls: result.shortfalls.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1)),
  };
}

/**
 * One engine decides these worlds one after the other; it and a new engine must agree with the oracle on each. Counts
 * carry over from one world to the next. Returns the answers.
 */
export function decideInTurn(worlds: readonly World[], options: EngineWorldOptions = {}): OracleResult[] {
  const live = new EngineWorld(options);
  let before: OracleResult | undefined;
  return worlds.map((next, at) => {
    const { parking, unmet } = before ?? next;
    const world = { ...next, parking, unmet };
    const expected = decide(world);
    expect(comparable(live.decideFromScratch(world)), `world ${at}: from scratch`).toEqual(
      comparable(expected),
    );
    expect(comparable(live.decide(world)), `world ${at}: incrementally`).toEqual(comparable(expected));
    before = expected;
    return expected;
  });
}
