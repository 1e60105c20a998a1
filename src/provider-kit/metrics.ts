/** Metrics of a kit provider. Names begin with flotilla_kit_; docs/writing-a-provider.md lists them. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { OperationName } from './operations.ts';
import type { Outcome } from './runner.ts';

/** From a local call to a machine that boots for half an hour. */
const OPERATION_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800] as const;

export class ProviderMetrics {
  /** An author may add metrics of their own. */
  readonly registry = new Registry();
  readonly #calls: Counter<'call' | 'code'>;
  readonly #operations: Counter<'operation' | 'outcome'>;
  readonly #seconds: Histogram<'operation'>;

  constructor(countsByState: () => Readonly<Record<string, number>>, isStateFailing: () => boolean) {
    const registers = [this.registry];
    this.#calls = new Counter({
      name: 'flotilla_kit_calls_total',
      help: 'Calls answered, by call and gRPC status code. FAILED_PRECONDITION counts calls of replaced shard processes.',
      labelNames: ['call', 'code'],
      registers,
    });
    this.#operations = new Counter({
      name: 'flotilla_kit_operations_total',
      help: 'Operations ended, by operation and outcome: done, refused, failed, timed_out.',
      labelNames: ['operation', 'outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'flotilla_kit_operation_seconds',
      help: 'Time from the start of an operation to its end, by operation.',
      labelNames: ['operation'],
      buckets: [...OPERATION_BUCKETS_SECONDS],
      registers,
    });
    new Gauge({
      name: 'flotilla_kit_machines',
      help: 'Machines by state.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(countsByState())) this.set({ state }, count);
      },
    });
    new Gauge({
      name: 'flotilla_kit_state_failing',
      help: '1 while the provider cannot store its state and therefore refuses to begin operations.',
      registers,
      collect() {
        this.set(Number(isStateFailing()));
      },
    });
  }

  answered(call: string, code: string): void {
    this.#calls.inc({ call, code });
  }

  ended(operation: OperationName, outcome: Outcome['kind'], tookMs: number): void {
    this.#operations.inc({ operation, outcome });
    this.#seconds.observe({ operation }, tookMs / 1_000);
  }

  async scrape(): Promise<{ readonly body: string; readonly contentType: string }> {
    return { body: await this.registry.metrics(), contentType: this.registry.contentType };
  }
}
