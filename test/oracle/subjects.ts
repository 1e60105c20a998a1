/** Who is asked: every rule test runs against each of these, and each must give the same answers. */
import { decide } from './oracle.ts';
import type { OracleResult, World } from './world.ts';

export interface Subject {
  name: string;
  decideWith: (world: World) => OracleResult;
}

export const subjects: readonly Subject[] = [{ name: 'oracle', decideWith: decide }];
