/** `flotilla provider`: a simulated provider as a process of its own, until a signal ends it. */
import { readFileSync } from 'node:fs';
import { logVerbosity, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { UsageError } from '../base/flag-words.ts';
import { Random } from '../base/random.ts';
import { CATALOGUES } from '../simulation/catalogue/catalogue.ts';
import { HELP, type ProviderFlags, parseProviderFlags } from '../simulation/provider/flags.ts';
import { generateMachines } from '../simulation/provider/generate.ts';
import { drawLatencyMs } from '../simulation/provider/latency.ts';
import { SimulatedProvider } from '../simulation/provider/provider.ts';
import { type ServeOptions, serveProvider } from '../simulation/provider/server.ts';
import { EXIT_OK, exitCodeOf } from './exit.ts';

const LINGER_MS = 500;

/** Resolves with the exit code when the provider has ended. */
export function run(argv: readonly string[]): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // what goes wrong is said once, by us
  return exitCodeOf('provider', async () => {
    const flags = parseProviderFlags(argv);
    if (!flags.help) return serve(flags);
    process.stdout.write(HELP);
    return EXIT_OK;
  });
}

async function serve(flags: ProviderFlags): Promise<number> {
  // A restarted process forgets its removals, so it must not recognise the cursors of the one before.
  const provider = new SimulatedProvider({ settings: flags.settings, incarnation: Date.now() >>> 0 });
  for (const seed of generateMachines(CATALOGUES[flags.catalogue]!, flags.plan)) provider.add(seed);
  provider.prepareListings();
  const served = await serveProvider(provider, flags.listen, {
    credentials: credentialsOf(flags),
    ...answerDelay(flags),
  });
  // The first line is for programs: exactly this, when calls are answered and not before.
  process.stdout.write(`listening on ${served.address}\n`);
  process.stdout.write(
    `${flags.plan.machineCount} machines of the ${flags.catalogue} catalogue for ${flags.plan.clusterCount} clusters, seed ${flags.plan.seed}\n`,
  );
  const signal = await endSignal();
  process.stdout.write(`${signal}: ${JSON.stringify(provider.ledger.counts())}\n`);
  provider.close();
  await served.close();
  // A peer that connected and never spoke keeps its socket open for as long as it likes: do not wait for it.
  setTimeout(() => process.exit(), LINGER_MS).unref();
  return EXIT_OK;
}

function answerDelay({ answerAfter, plan }: ProviderFlags): Pick<ServeOptions, 'answerDelayMs'> {
  if (answerAfter === null) return {};
  const random = new Random(plan.seed);
  return { answerDelayMs: () => drawLatencyMs(answerAfter, random) };
}

/** The first SIGTERM or SIGINT; a second one ends the process at once, as it does by default. */
function endSignal(): Promise<string> {
  return new Promise((resolve) => {
    const onSignal = (signal: string) => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

function credentialsOf({ tls }: ProviderFlags): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  try {
    const pair = { cert_chain: readFileSync(tls.cert), private_key: readFileSync(tls.key) };
    return ServerCredentials.createSsl(readFileSync(tls.ca), [pair], true);
  } catch (error) {
    throw new UsageError(`The TLS files cannot be used (${(error as Error).message})`);
  }
}
