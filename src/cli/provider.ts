/** `flotilla provider`: runs a simulated provider until a signal. */
import { readFileSync } from 'node:fs';
import { logVerbosity, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { UsageError } from '../base/flag-words.ts';
import { Random } from '../base/random.ts';
import { CATALOGUES } from '../simulation/catalogue/catalogue.ts';
import { readState } from '../simulation/provider/durable-state.ts';
import { type ProviderFlags, parseProviderFlags } from '../simulation/provider/flags.ts';
import { generateMachines } from '../simulation/provider/generate.ts';
import { HELP } from '../simulation/provider/help.ts';
import { drawLatencyMs } from '../simulation/provider/latency.ts';
import { SimulatedProvider } from '../simulation/provider/provider.ts';
import { type ServeOptions, serveProvider } from '../simulation/provider/server.ts';
import { DEFAULT_NAME } from '../simulation/provider/settings.ts';
import { StateFile } from '../simulation/provider/state-file.ts';
import { EXIT_OK, exitCodeOf } from './exit.ts';

const LINGER_MS = 500;

/** Resolves with the exit code when the provider has stopped. */
export function run(argv: readonly string[]): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // gRPC would log failures that this command reports itself
  return exitCodeOf('provider', async () => {
    const flags = parseProviderFlags(argv);
    if (!flags.help) return serve(flags);
    process.stdout.write(HELP);
    return EXIT_OK;
  });
}

async function serve(flags: ProviderFlags): Promise<number> {
  // A restarted process has lost its removals, so it must not accept the cursors of its predecessor.
  const provider = new SimulatedProvider({ settings: flags.settings, incarnation: Date.now() >>> 0 });
  const file = flags.stateFile === null ? null : new StateFile(flags.stateFile);
  const stored = file === null ? null : readState(file, madeWith(flags));
  if (stored !== null) provider.restore(stored);
  else for (const seed of generateMachines(CATALOGUES[flags.catalogue]!, flags.plan)) provider.add(seed);
  const failed = file === null ? null : keepState(provider, file, flags);
  provider.prepareListings();
  const served = await serveProvider(provider, flags.listen, {
    credentials: credentialsOf(flags),
    ...answerDelay(flags),
  });
  // Programs parse the first line. It must be exactly this, and appear once calls are answered.
  process.stdout.write(`listening on ${served.address}\n`);
  process.stdout.write(
    `${flags.plan.machineCount} machines of the ${flags.catalogue} catalogue for ${flags.plan.clusterCount} clusters, seed ${flags.plan.seed}\n`,
  );
  if (stored !== null) {
    process.stdout.write(`continued from ${flags.stateFile}: ${stored.machines.size} machines\n`);
  }
  try {
    const signal = await (failed === null ? endSignal() : Promise.race([endSignal(), failed]));
    process.stdout.write(`${signal}: ${JSON.stringify(provider.ledger.counts())}\n`);
  } finally {
    provider.close();
    await served.close();
    linger();
  }
  return EXIT_OK;
}

/** A peer that connected and sent nothing may keep its socket open forever: does not wait for it. */
function linger(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** The promise is rejected when a change could not be stored. */
function keepState(provider: SimulatedProvider, file: StateFile, flags: ProviderFlags): Promise<never> {
  return new Promise((_resolve, reject) => {
    provider.keepState({ file, made: madeWith(flags), onFailure: reject });
  });
}

/** The flags that a stored fleet depends on. */
function madeWith({ catalogue, plan, settings }: ProviderFlags): string {
  return JSON.stringify({ catalogue, name: settings.name ?? DEFAULT_NAME, ...plan });
}

function answerDelay({ answerAfter, plan }: ProviderFlags): Pick<ServeOptions, 'answerDelayMs'> {
  if (answerAfter === null) return {};
  const random = new Random(plan.seed);
  return { answerDelayMs: () => drawLatencyMs(answerAfter, random) };
}

/** Resolves on the first SIGTERM or SIGINT; a second one ends the process at once, as is the default. */
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
    throw new UsageError(`Cannot use the TLS files (${(error as Error).message})`);
  }
}
