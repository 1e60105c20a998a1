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
  // Without a state file a restarted process has lost its removals, so it must not accept the cursors of its predecessor.
  const provider = new SimulatedProvider({ settings: flags.settings, incarnation: Date.now() >>> 0 });
  const file = flags.stateFile === null ? null : new StateFile(flags.stateFile);
  const stored = file === null ? null : readState(file, madeWith(flags));
  if (stored !== null) provider.restore(stored);
  else for (const seed of generateMachines(CATALOGUES[flags.catalogue]!, flags.plan)) provider.add(seed);
  provider.prepareListings();
  const served = await serveProvider(provider, flags.listen, {
    credentials: credentialsOf(flags),
    ...answerDelay(flags),
  });
  try {
    const ended = [endSignal()];
    // Only now: a process that cannot listen must not take the file from the one that does. No call came yet.
    if (file !== null) ended.push(keepState(provider, file, flags));
    // Programs parse the first line. It must be exactly this, and appear once calls are answered.
    process.stdout.write(`listening on ${served.address}\n`);
    process.stdout.write(
      stored === null
        ? `${flags.plan.machineCount} machines of the ${flags.catalogue} catalogue for ${flags.plan.clusterCount} clusters, seed ${flags.plan.seed}\n`
        : `continues with the ${stored.machines.size} machines of ${flags.stateFile}\n`,
    );
    const signal = await Promise.race(ended);
    process.stdout.write(`${signal}: ${JSON.stringify(provider.ledger.counts())}\n`);
  } finally {
    await served.close(); // before the provider: it must answer no call that it does not store
    provider.close();
    // A peer that connected and sent nothing may keep its socket open forever: do not wait for it.
    setTimeout(() => process.exit(), LINGER_MS).unref();
  }
  return EXIT_OK;
}

/** Throws if the file cannot be written. The promise is rejected when a later change cannot be stored. */
function keepState(provider: SimulatedProvider, file: StateFile, flags: ProviderFlags): Promise<never> {
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  provider.keepState({ file, made: madeWith(flags), onFailure: (error) => fail(error) });
  return failed;
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
