/** `flotilla operators`: runs simulated clusters until a signal or --duration. */
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { HELP, type OperatorsFlags, parseOperatorsFlags } from '../simulation/operators/flags.ts';
import {
  type FleetReport,
  FleetReporter,
  progressLine,
  summaryText,
} from '../simulation/operators/fleet-report.ts';
import { OperatorFleet } from '../simulation/operators/operator-fleet.ts';
import { EXIT_FAILED, EXIT_OK, exitCodeOf } from './exit.ts';

const LINGER_MS = 500;

/** Resolves with the exit code when the operators have stopped. */
export function run(argv: readonly string[]): Promise<number> {
  setLogVerbosity(logVerbosity.NONE); // gRPC would log failures that this command reports itself
  return exitCodeOf('operators', async () => {
    const flags = parseOperatorsFlags(argv);
    if (!flags.help) return operate(flags);
    process.stdout.write(HELP);
    return EXIT_OK;
  });
}

async function operate(flags: OperatorsFlags): Promise<number> {
  const fleet = new OperatorFleet(flags.fleet);
  const reporter = new FleetReporter(fleet);
  const output = new Output(flags.json);
  fleet.start();
  const ended = endOf(flags.durationMs);
  await Promise.race([allStanding(fleet, flags.giveUpMs), ended.promise]);
  const { address, clusterCount } = flags.fleet;
  const { standingCount, counters } = fleet;
  if (counters.sessionsOpened === 0) {
    ended.forget();
    await fleet.close();
    process.stderr.write(
      `flotilla operators: none of ${clusterCount} clusters got a session with ${address} ` +
        `(${counters.lastEnding || 'no answer'}). No demand was sent. Check that a shard runs at this address.\n`,
    );
    leaveSoon();
    return EXIT_FAILED;
  }
  // Programs parse the first line. It must be exactly this, and appear once all sessions are open or --give-up is over.
  output.line(`connected ${standingCount} clusters to ${address}`, {
    event: 'connected',
    clusters: standingCount,
    address,
  });
  let last: FleetReport | null = null;
  const progress = setInterval(() => {
    const report = reporter.report();
    output.line(progressLine(report, last), { event: 'progress', ...report });
    last = report;
  }, flags.reportEveryMs);
  await ended.promise;
  clearInterval(progress);
  const report = reporter.report();
  await fleet.close();
  output.line(summaryText(report).trimEnd(), { event: 'summary', ...report });
  leaveSoon();
  return EXIT_OK;
}

class Output {
  readonly #isJson: boolean;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  line(text: string, figures: object): void {
    process.stdout.write(`${this.#isJson ? JSON.stringify(figures) : text}\n`);
  }
}

/** Resolves when every session is open, or after this long. */
function allStanding(fleet: OperatorFleet, giveUpMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      fleet.onSessionChange = () => {};
      resolve();
    };
    const timer = setTimeout(finish, giveUpMs);
    // Counting 2,000 sessions at each of 2,000 changes reads four million entries: under 0.1 s in total.
    fleet.onSessionChange = () => {
      if (fleet.standingCount === fleet.settings.clusterCount) finish();
    };
  });
}

interface End {
  readonly promise: Promise<void>;
  forget(): void;
}

/** Resolves on SIGTERM, SIGINT or at the end of the duration; a second signal ends the process at once. */
function endOf(durationMs: number | null): End {
  let forget = () => {};
  const promise = new Promise<void>((resolve) => {
    const finish = () => {
      forget();
      resolve();
    };
    const timer = durationMs === null ? undefined : setTimeout(finish, durationMs);
    forget = () => {
      clearTimeout(timer);
      process.off('SIGTERM', finish);
      process.off('SIGINT', finish);
    };
    process.on('SIGTERM', finish);
    process.on('SIGINT', finish);
  });
  return { promise, forget: () => forget() };
}

/** Exits even if a connection does not close. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref();
}
