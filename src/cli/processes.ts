/**
 * `flotilla processes`: a provider on the kit whose machines are processes on this host. It runs the bootstrap blobs that
 * clusters send as scripts, so it listens on loopback only.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { UsageError, wholeNumber } from '../base/flag-words.ts';
import { isLoopback, readListenAddress } from '../config/addresses.ts';
import { serveProvider } from '../provider-kit/serve.ts';
import { processOffers } from '../simulation/processes/offers.ts';
import { ProcessCloud } from '../simulation/processes/process-cloud.ts';
import { EXIT_OK, exitCodeOf } from './exit.ts';

/** Each machine is a shell and what its script starts: 200 shells are 200 MB at most. */
export const PROCESSES_MAX = 200;
const END_GRACE_MS = 5_000;
/** A script that creates its own processes is ready at once; Create and Delete wait for one process. */
const OPERATION_TIMEOUT_MS = 30_000;
const LINGER_MS = 500;

const HELP = `Usage: flotilla processes [options]

Runs a provider whose machines are processes on this host: a created machine is a shell that waits, Configure gives it
its bootstrap blob, which it runs as a script, Drain sends SIGTERM and waits, Delete ends the shell. Scripts run as this
user: use it with clusters that you trust.

  --listen HOST:PORT   address to listen on, loopback only; port 0 selects an unused port (default 127.0.0.1:7790)
  --http HOST:PORT     address of /metrics, /healthz and /readyz (default: none)
  --machines N         number of offers, at most ${PROCESSES_MAX} (default 12)
  --clusters N         number of simulated clusters whose demand the offers fit (default 2)
  --seed N             random seed, the same as that of the operators (default 1)
  --state-dir DIR      where bindings, marks and processes are stored (default ./processes)
  --help               print this help and exit

A killed provider leaves its scripts running, and the next one with the same --state-dir finds them. A provider that is
stopped with SIGINT or SIGTERM ends them.

Examples:
  flotilla processes --machines 6
  flotilla up --provider processes

Exit code: 0 after a signal, 2 invalid usage or it could not start.
`;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  listen: { type: 'string', default: '127.0.0.1:7790' },
  http: { type: 'string' },
  machines: { type: 'string', default: '12' },
  clusters: { type: 'string', default: '2' },
  seed: { type: 'string', default: '1' },
  'state-dir': { type: 'string', default: './processes' },
} as const;

export function run(argv: readonly string[]): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // gRPC would log failures that this command reports itself
  return exitCodeOf('processes', async () => {
    const flags = parsed(argv);
    if (!flags.help) return serve(flags);
    process.stdout.write(HELP);
    return EXIT_OK;
  });
}

async function serve(flags: ReturnType<typeof parsed>): Promise<number> {
  const machineCount = wholeNumber('machines', flags.machines, 1, PROCESSES_MAX);
  const clusterCount = wholeNumber('clusters', flags.clusters, 1, machineCount);
  const seed = wholeNumber('seed', flags.seed, 0);
  for (const address of [flags.listen, flags.http ?? flags.listen]) {
    checkLoopback(address);
  }
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const stateDir = flags['state-dir'];
  const waiting: string[] = [];
  let isListening = false;
  const cloud = new ProcessCloud({
    directory: join(stateDir, 'processes'),
    say: (line) => (isListening ? say(line) : waiting.push(line)), // programs parse the first line
  });
  const onExit = () => cloud.killAll();
  process.on('exit', onExit);
  const provider = await serveProvider({
    name: 'processes',
    listen: flags.listen,
    stateDir,
    offers: processOffers({ machineCount, clusterCount, seed }),
    cloud,
    timeoutsMs: {
      create: OPERATION_TIMEOUT_MS,
      configure: OPERATION_TIMEOUT_MS,
      delete: OPERATION_TIMEOUT_MS,
    },
    ...(flags.http === undefined ? {} : { http: flags.http }),
  });
  cloud.reportTo(provider.report);
  say(`listening on ${provider.address}`);
  isListening = true;
  for (const line of waiting) say(line);
  await endSignal();
  await provider.close();
  await cloud.close(END_GRACE_MS);
  process.off('exit', onExit);
  setTimeout(() => process.exit(), LINGER_MS).unref(); // a peer that sent nothing may keep its socket open for ever
  return EXIT_OK;
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0]!);
  }
}

function checkLoopback(address: string): void {
  let isOurs = false;
  try {
    isOurs = isLoopback(readListenAddress(address));
  } catch {} // no address at all
  if (isOurs) return;
  throw new UsageError(
    `This provider runs scripts, so it listens on loopback only (127.0.0.1:7790), not on "${address}"`,
  );
}

/** Resolves on the first SIGTERM or SIGINT; a second one ends the process at once, and its children with it. */
function endSignal(): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      process.once('SIGTERM', () => process.exit(1));
      process.once('SIGINT', () => process.exit(1));
      resolve();
    };
    process.once('SIGTERM', end);
    process.once('SIGINT', end);
  });
}
