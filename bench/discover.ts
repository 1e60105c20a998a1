/**
 * Finds the scenarios: every compiled module of the scenarios folder, so that adding one is adding a file.
 * A module that does not load is reported; the others still run.
 */
import { readdir } from 'node:fs/promises';
import { assert } from '../src/base/assert.ts';
import type { Scenario } from './harness.ts';

export interface Discovery {
  readonly scenarios: readonly Scenario[];
  /** One line for each module that could not be loaded. */
  readonly broken: readonly string[];
}

export async function discoverScenarios(folder: URL): Promise<Discovery> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const scenarios: Scenario[] = [];
  const broken: string[] = [];
  for (const file of files.filter((name) => name.endsWith('.js')).sort()) {
    try {
      const module: ScenarioModule = await import(new URL(file, folder).href);
      scenarios.push(
        ...(module.scenarios ?? []),
        ...(module.scenario === undefined ? [] : [module.scenario]),
      );
    } catch (error) {
      broken.push(`scenarios/${file} cannot be loaded: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  const names = new Set(scenarios.map((scenario) => scenario.name));
  assert(names.size === scenarios.length, 'two scenarios have the same name');
  return { scenarios, broken };
}

interface ScenarioModule {
  readonly scenario?: Scenario;
  readonly scenarios?: readonly Scenario[];
}
