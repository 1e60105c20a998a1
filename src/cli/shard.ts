/** `flotilla shard`: runs one shard until a signal. I3: it finishes actions in flight, then closes sessions. */
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import {
  type ConfigSources,
  type LoadedConfig,
  loadShardConfig,
  reloadShardConfig,
} from '../config/shard-config.ts';
import { printConfig, shardHelpText } from '../config/texts.ts';
import { createLogger, type RootLogger } from '../observe/log.ts';
import type { LifeEnd } from '../replica/life.ts';
import { EXIT_OK, exitCodeOf } from './exit.ts';
import { growHeapUnderLoad, keepHeapSmall } from './heap.ts';
import { isLoosened } from './loosened.ts';
import { ShardService } from './shard-service.ts';
import { versionOf } from './version.ts';

/** Exit code after a second signal, or when closing hangs. */
const EXIT_FORCED = 130;
/** F3: another replica is active. As EX_TEMPFAIL: start the process again. */
const EXIT_REPLACED = 75;
/** Everything else must close within this after the grace for actions; then the process exits anyway. */
const CLOSE_MS_MAX = 5_000;

/** Resolves with the exit code when the shard has stopped. */
export function run(argv: readonly string[]): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // gRPC would log failures that this command reports itself
  const sources: ConfigSources = { argv, environment: process.env };
  return exitCodeOf('shard', async () => {
    const loaded = loadShardConfig(sources);
    if (loaded.asked === 'start') return serve(loaded, sources);
    process.stdout.write(loaded.asked === 'help' ? shardHelpText() : printConfig(loaded));
    return EXIT_OK;
  });
}

async function serve(loaded: LoadedConfig, sources: ConfigSources): Promise<number> {
  keepHeapSmall();
  const { config } = loaded;
  const version = versionOf();
  const log = createLogger({
    level: config.logLevel,
    format: config.logFormat,
    fields: { shard: config.id },
  });
  const signals = new Signals();
  try {
    const service = await ShardService.start({ config, log, version });
    growHeapUnderLoad(() => service.shard.executor.inFlight);
    const http = service.http?.url ?? 'off';
    // Programs parse the first line. It must be exactly this, and appear once the shard accepts sessions.
    process.stdout.write(`listening on ${service.operators.address} http ${http}\n`);
    log.info('started', {
      version,
      epoch: service.shard.epoch,
      listen: service.operators.address,
      http,
      ...(service.health === null ? {} : { health: service.health.url }),
      providers: config.providers.map(({ name, address }) => `${name}=${address}`).join(','),
    });
    let current = loaded;
    signals.onHangUp(() => {
      current = reload(service, current, sources, log);
    });
    const end = await Promise.race([signals.first, service.ended]);
    setTimeout(() => process.exit(EXIT_FORCED), current.config.shutdownGraceMs + CLOSE_MS_MAX).unref();
    if (typeof end !== 'string') return await abandon(service, end, log);
    log.info('stopping', { signal: end });
    await service.stop();
    log.info('stopped', {});
    return EXIT_OK;
  } finally {
    signals.close();
    await log.drain();
  }
}

/** F3: the supervisor starts the process again, and it begins as a standby. */
async function abandon(service: ShardService, end: LifeEnd, log: RootLogger): Promise<number> {
  if (end.kind === 'failed') {
    await service.abandon();
    throw end.error;
  }
  if (end.kind === 'replaced') log.error('replaced', { by: end.replica });
  else log.error('epoch_outdated', {});
  await service.abandon();
  return EXIT_REPLACED;
}

/** Returns the settings in force afterwards: the current ones if the new ones are invalid. */
function reload(
  service: ShardService,
  current: LoadedConfig,
  sources: ConfigSources,
  log: RootLogger,
): LoadedConfig {
  try {
    const { loaded, applied, needRestart } = reloadShardConfig(current, sources);
    service.reload(loaded.config);
    for (const { flag, from, to } of applied) {
      if (isLoosened(flag, from, to)) log.warn('rail_loosened', { flag, from, to });
      else log.info('setting_reloaded', { flag, from, to });
    }
    for (const { flag, from, to } of needRestart)
      log.warn('setting_needs_restart', {
        flag,
        from,
        to,
        next: 'it stays as it was until the shard starts again',
      });
    log.info('reloaded', {
      changed: applied.length,
      ...(needRestart.length === 0 ? {} : { needRestart: needRestart.map(({ flag }) => flag).join(',') }),
    });
    return loaded;
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    log.error('reload_refused', { detail: error.message });
    return current;
  }
}

/** SIGTERM and SIGINT stop the process in order, a second one at once. SIGHUP never stops it, not even during the start. */
class Signals {
  readonly first: Promise<string>;
  readonly #onEnd: (signal: string) => void;
  readonly #onSignalHangUp = () => this.#onHangUp();
  #onHangUp: () => void = () => {};
  #count = 0;

  constructor() {
    let resolve: (signal: string) => void = () => {};
    this.first = new Promise((whenFirst) => {
      resolve = whenFirst;
    });
    this.#onEnd = (signal) => {
      if (++this.#count > 1) process.exit(EXIT_FORCED);
      resolve(signal);
    };
    process.on('SIGTERM', this.#onEnd);
    process.on('SIGINT', this.#onEnd);
    process.on('SIGHUP', this.#onSignalHangUp);
  }

  onHangUp(run: () => void): void {
    this.#onHangUp = run;
  }

  close(): void {
    process.off('SIGTERM', this.#onEnd);
    process.off('SIGINT', this.#onEnd);
    process.off('SIGHUP', this.#onSignalHangUp);
  }
}
