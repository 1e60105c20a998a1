import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generateCallsModule } from '../../src/wire/generate-schema.ts';

const ROOT = join(import.meta.dirname, '..', '..');

it('the committed module of messages between threads is what the schema generates', async () => {
  const committed = readFileSync(join(ROOT, 'src/wire/calls.generated.ts'), 'utf8');
  expect(await generateCallsModule(join(ROOT, 'schema'))).toBe(committed);
});
