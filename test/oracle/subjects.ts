/** Who is asked: every rule test runs against each of these, and each must give the same answers. */
import { EngineWorld } from '../decision/engine-world.ts';
import { decide } from './oracle.ts';
import type { OracleResult, World } from './world.ts';

export interface Subject {
  name: string;
  decideWith: (world: World) => OracleResult;
}

export const subjects: readonly Subject[] = [
  { name: 'oracle', decideWith: decide },
  // A world of its own each time: a rule test says everything that counts, so nothing may be left from another.
  { name: 'engine', decideWith: (world) => new EngineWorld().decide(world) },
];
