/** `npm run chaos`: faults on real processes over loopback, as a table. Exit code 1 if anything was violated. */
import { parseArgs } from 'node:util';
import { type FaultReport, runFault } from './campaign.ts';
import { FAULTS } from './faults.ts';

const HELP = `Usage: npm run chaos -- [--only TEXT] [--repeat N] [--json]

  --only TEXT    only faults whose name contains it; more than once: any of them
  --repeat N     each so many times (default: 1)
  --json         the reports as JSON instead of a table
  --list         the names of the faults
`;

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string', multiple: true, default: [''] },
      repeat: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help || values.list) {
    process.stdout.write(values.help ? HELP : `${FAULTS.map(({ name }) => name).join('\n')}\n`);
    return 0;
  }
  const faults = FAULTS.filter(({ name }) => values.only.some((text) => name.includes(text)));
  const reports: FaultReport[] = [];
  if (!values.json) process.stdout.write(HEAD);
  for (let time = 0; time < Number(values.repeat); time++) {
    for (const fault of faults) {
      const report = await runFault(fault);
      reports.push(report);
      if (!values.json) process.stdout.write(lineOf(report));
    }
  }
  if (values.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  const violated = reports.filter(({ violation }) => violation !== '').length;
  process.stderr.write(`${reports.length} faults, ${violated} violated\n`);
  return violated === 0 ? 0 : 1;
}

const HEAD =
  '| injected | observed | recovery | machines lost | double bindings | taken without reason | must hold |\n' +
  '|---|---|---|---|---|---|---|\n';

function lineOf({
  name,
  observed,
  recoveryMs,
  machinesLost,
  doubleBindings,
  reclaims,
  violation,
}: FaultReport): string {
  const recovery = recoveryMs === null ? 'never' : `${(recoveryMs / 1000).toFixed(1)} s`;
  const verdict = violation === '' ? 'holds' : `**${violation.replaceAll('\n', ' ')}**`;
  return `| ${name} | ${observed} | ${recovery} | ${machinesLost ?? '?'} | ${doubleBindings} | ${reclaims} | ${verdict} |\n`;
}

// Not left to the event loop: whatever a stage leaves behind must not keep a finished campaign alive, which it once did.
process.exit(await main(process.argv.slice(2)));
