/** The programs under test: every rule test runs against the oracle and the engine, which must give the same answers. */
import { EngineWorld, type EngineWorldOptions } from '../decision/engine-world.ts';
import { decide } from './oracle.ts';
import type { OracleResult, World } from './world.ts';

export interface Subject {
  name: string;
  decideWith: (world: World) => OracleResult;
}

export const subjects: readonly Subject[] = [
  { name: 'oracle', decideWith: decide },
  // A new engine each time: a rule test gives its whole world, and no state may remain from another test.
  { name: 'engine', decideWith: (world) => new EngineWorld(placedAs(world)).decide(world) },
];

function placedAs({ value }: World): EngineWorldOptions {
  return value === undefined ? {} : { placement: { kind: 'value', ...value } };
}
