/**
 * Every decoder of bytes from outside allocates at most 32 n + 1 MiB for n bytes, and throws nothing but its named errors. The
 * decoders run in a process of its own, whose flags make the measurement the same in every run (budget/measure.ts).
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { BudgetReport } from './budget/main.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/test/fuzz/budget/main.js');
const FLAGS = [
  '--expose-gc',
  '--min-semi-space-size=1',
  '--max-semi-space-size=1',
  '--initial-old-space-size=1024',
  '--no-allocation-site-pretenuring',
];
const SECONDS = process.env.FLOTILLA_TEST_FUZZ_SECONDS ?? '3';
const SEED = process.env.FLOTILLA_PROPERTY_SEED ?? '1';

const reports = new Promise<BudgetReport[]>((resolve, reject) => {
  const child = spawn(process.execPath, [...FLAGS, MAIN, SECONDS, SEED], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  child.once('close', (code) => {
    const lines = output.split('\n').filter((line) => line !== '');
    if (code === 0) resolve(lines.map((line) => JSON.parse(line) as BudgetReport));
    else reject(new Error(`the decoders' process ended with ${code} after ${lines.length} reports`));
  });
});

it('no decoder allocates more than 32 n + 1 MiB for n bytes, or throws an error that it does not name', async () => {
  const all = await reports;
  expect(all.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))).toEqual([]);
  for (const { name, cases, accepted, worst } of all) {
    expect(cases, name).toBeGreaterThan(100);
    expect(accepted, name).toBeGreaterThan(0);
    expect(worst.allocated, name).toBeGreaterThan(0);
  }
}, 600_000);

/** By `file: name`: why a function that is named like a decoder is not in the table. */
const NOT_DECODERS: Readonly<Record<string, string>> = {
  'src/base/byte-arena.ts: decode': 'reads what this process stored',
  'src/inventory/shape-key-reader.ts: parseShapeKey': 'reads what this process stored',
  'src/inventory/shape-key-reader.ts: parseOwnLabels': 'reads what this process stored',
  'src/provider/pool/call-batch.ts: decodeCalls': 'reads what another thread of this process encoded',
  'src/provider/pool/call-batch.ts: readTextEntries': 'reads what another thread of this process encoded',
  'src/provider/pool/result-batch.ts: decodeResults': 'reads what another thread of this process encoded',
  'src/config/file.ts: readConfigText':
    'reads a file of the administrator, at most 1 MiB; files.test.ts damages it',
  'src/cli/profile/cpu-profile.ts: parseProfile': 'reads a file that the user names',
  'src/cli/inspect/command.ts: parseFlags': 'reads the command line of the user',
  'src/identity/epoch-file.ts: readEpoch':
    'reads a file of this shard, at most 128 bytes; files.test.ts damages it',
  'src/identity/epoch-file.ts: readIfThere': 'the same',
  'src/identity/controls-file.ts: readControlsFile':
    'reads a file of this shard; test/identity/controls-file.test.ts damages it',
  'src/identity/sealed-file.ts: readSealedFile': 'the same, for the controls and the use of budgets',
  'src/identity/usage-file.ts: readUsageFile':
    'reads a file of this shard; test/identity/usage-file.test.ts damages it',
  'src/shard/disruption/usage.ts: read':
    'reads what this shard wrote, at most 2 MiB; test/shard/disruption-budgets.test.ts damages it',
  'src/shard/controls/control.ts: readPauses': 'reads a list of words, each of which is one of six',
  'src/shard/view/need-row.ts: readNeed': 'reads the tables',
  'src/needs/profiles.ts: parse': 'reads what this process stored',
  'src/shard/what-if/question.ts: readQuestion':
    'reads texts of a URL or of a command of the administrator, which are bounded; test/shard/what-if/questions.test.ts gives wrong ones',
  'src/cli/shard-what-if.ts: readWhatIfSettings': 'the same, for the settings of a question',
  'src/tls/denied.ts: readDeniedList':
    'reads a file of the administrator; test/fuzz/files.test.ts damages it',
  'src/tls/denied.ts: parseDeniedList': 'the same',
  'src/tls/material.ts: readMaterial': 'reads the certificates and keys of the administrator',
};
/** Settings of the administrator, each a short text of the command line, the environment or the file. */
const SETTINGS =
  /^src\/(?:config\/(?:addresses|budgets|cap-fraction|ceilings|sources|setting|units)|provider\/client\/endpoint|cli\/up-flags)\.ts: /;

it('every function that is named like a decoder is in the table, or has a reason not to be', async () => {
  const covered = new Set((await reports).flatMap(({ covers }) => covers));
  const missing = decoderNames().filter(
    (name) => !covered.has(name) && NOT_DECODERS[name] === undefined && !SETTINGS.test(name),
  );
  expect(missing).toEqual([]);
}, 600_000);

/** Functions, and methods that take bytes or text, whose names begin with decode, parse or read. */
function decoderNames(): string[] {
  const names: string[] = [];
  for (const entry of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    const file = `src/${entry}`;
    // Simulated peers are no part of a shard; the client runs in a browser.
    if (!file.endsWith('.ts') || /generated|src\/simulation|dashboard\/client/.test(file)) continue;
    const source = readFileSync(join(ROOT, file), 'utf8');
    const functions = source.matchAll(/^export (?:async )?function ((?:decode|parse|read)[A-Z]?\w*)/gm);
    const methods = source.matchAll(
      /^ {2}\*?((?:decode|parse|read)\w*)\((?:bytes|text|start: number, end)/gm,
    );
    for (const [, name] of [...functions, ...methods]) names.push(`${file}: ${name}`);
  }
  return names;
}
