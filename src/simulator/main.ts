/** `npm run sim -- --seed S --histories N --cycles N`: histories by number, each replayed by its own. */
import { parseArgs } from 'node:util';
import { runHistory } from './history.ts';

const HELP = `Usage: npm run sim -- [--seed S] [--histories N] [--cycles N] [--trace]

  --seed S         the first history's number; the others follow (default: 1)
  --histories N    how many (default: 20)
  --cycles N       cycles with accidents in each (default: 40)
  --trace          print every step: for one history
`;

async function main(argv: string[]): Promise<number> {
  const { values } = parseArgs({
    args: argv,
    options: {
      seed: { type: 'string', default: '1' },
      histories: { type: 'string', default: '20' },
      cycles: { type: 'string', default: '40' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const first = Number(values.seed);
  const count = values.trace ? 1 : Number(values.histories);
  const cycles = Number(values.cycles);
  let failed = 0;
  let cycleCount = 0;
  const startedMs = performance.now();
  for (let seed = first; seed < first + count; seed++) {
    try {
      const result = await runHistory({
        seed,
        cycles,
        ...(values.trace ? { trace: (line: string) => process.stdout.write(`${line}\n`) } : {}),
      });
      cycleCount += result.cycles;
      if (values.trace) process.stdout.write(`${JSON.stringify(result)}\n`);
    } catch (error) {
      failed++;
      process.stdout.write(`seed ${seed}: ${(error as Error).stack}\n`);
    }
  }
  const seconds = (performance.now() - startedMs) / 1000;
  process.stdout.write(
    `${count} histories, ${cycleCount} cycles in ${seconds.toFixed(1)} s, ${failed} violated; replay one with --seed N --trace\n`,
  );
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
