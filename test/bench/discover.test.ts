import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { discoverScenarios } from '../../bench/discover.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'flotilla-scenarios-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true }));

it('finds one or several scenarios in a file, ignores other files and reports files that do not load', async () => {
  writeFileSync(join(folder, 'one.js'), "export const scenario = { name: 'one' };");
  writeFileSync(join(folder, 'two.js'), "export const scenarios = [{ name: 'two' }, { name: 'three' }];");
  writeFileSync(join(folder, 'shared.js'), 'export const helper = 1;');
  writeFileSync(join(folder, 'broken.js'), "throw new Error('half written');");
  const { scenarios, broken } = await discoverScenarios(pathToFileURL(`${folder}/`));
  expect(scenarios.map((scenario) => scenario.name)).toEqual(['one', 'two', 'three']);
  expect(broken).toEqual(['scenarios/broken.js cannot be loaded: half written']);
});

it('finds no scenarios if the folder does not exist', async () => {
  const { scenarios } = await discoverScenarios(pathToFileURL(join(folder, 'nonesuch/')));
  expect(scenarios).toEqual([]);
});
