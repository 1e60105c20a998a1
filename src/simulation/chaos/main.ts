/** `npm run chaos`: injects faults into real processes over loopback and prints a table. */
import { parseArgs } from 'node:util';
import { type FaultReport, runFault } from './campaign.ts';
import { FAULTS } from './faults.ts';

const HELP = `Usage: npm run chaos -- [options]

Starts a provider, a shard and three clusters as real processes on loopback, injects one fault after the
other, and checks that every cluster gets and keeps its nodes. All faults take about fifteen minutes; those of
replicas need an etcd.

  --only TEXT    run only the faults whose name contains TEXT; may be repeated
  --repeat N     run each fault N times (default: 1)
  --outage TIME  how long etcd is away in the fault "etcd away under load", such as 10m (default: 20s)
  --json         print the reports as JSON instead of a table
  --list         print the names of the faults and exit
  --help         print this help and exit

Exit code: 0 if every promise held, 1 if one was broken, 2 for wrong usage.
`;

const OUTAGE = /^([1-9]\d{0,3})([sm])$/;

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string', multiple: true, default: [''] },
      repeat: { type: 'string', default: '1' },
      outage: { type: 'string', default: '20s' },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help || values.list) {
    process.stdout.write(values.help ? HELP : `${FAULTS.map(({ name }) => name).join('\n')}\n`);
    return 0;
  }
  const [, amount = '', unit = ''] = OUTAGE.exec(values.outage) ?? [];
  if (unit === '') {
    process.stderr.write(
      `--outage is "${values.outage}", but must be a time such as 20s or 10m. No fault was injected.\n`,
    );
    return 2;
  }
  const outageMs = Number(amount) * (unit === 'm' ? 60_000 : 1_000);
  const faults = FAULTS.filter(({ name }) => values.only.some((text) => name.includes(text))).map(
    (fault) => fault.withOutage?.(outageMs) ?? fault,
  );
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
  process.stderr.write(`${reports.length} faults injected, ${violated} with a violation\n`);
  return violated === 0 ? 0 : 1;
}

const HEAD =
  '| injected | observed | recovery | machines lost | double bindings | machines taken from clusters | verdict |\n' +
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

// An explicit exit: a handle that a stage left open once kept a finished campaign alive.
process.exit(await main(process.argv.slice(2)));
