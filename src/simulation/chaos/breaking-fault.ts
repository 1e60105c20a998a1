/**
 * X5, X14: three needs whose bootstraps break machines, for two minutes, while the clusters of the stage get their nodes. The
 * small ones break at most four machines each, the large one its first batch.
 */
import { SimulatedOperator } from '../operators/operator.ts';
import { type BreakingProvider, breakingProvider, breakingRow } from './breaking-provider.ts';
import type { Fault } from './faults.ts';
import { pause } from './programs.ts';
import { MACHINES, type Stage } from './stage.ts';

const BREAKING_MS = 120_000;
const SMALL_FAILED_MAX = 4;
/** Machines that each need asks for, and those that it may break. */
const BROKEN = [
  { name: 'one', count: 1, failedMax: SMALL_FAILED_MAX },
  { name: 'two', count: 2, failedMax: SMALL_FAILED_MAX },
  { name: 'large', count: 24, failedMax: 24 },
] as const;

async function connect(stage: Stage, { name, count }: (typeof BROKEN)[number]): Promise<SimulatedOperator> {
  const operator = new SimulatedOperator({
    address: stage.operatorProxy.address,
    clusterId: `breaking-${name}`,
  });
  await operator.connect();
  operator.setDemand([breakingRow(name, count, true)]);
  return operator;
}

export function breakingBootstraps(): Fault {
  let provider: BreakingProvider;
  return {
    name: 'bootstraps of three needs break machines for two minutes',
    when: 'burst',
    provider: async () => {
      provider = await breakingProvider(MACHINES);
      return provider;
    },
    inject: async (stage) => {
      const operators = await Promise.all(BROKEN.map((need) => connect(stage, need)));
      await pause(BREAKING_MS);
      const failed = BROKEN.map(({ name, failedMax }) => {
        const count = provider.failedBy.get(`broken-${name}`)?.size ?? 0;
        if (count === 0 || count > failedMax)
          throw new Error(`the need ${name} broke ${count} machines, at most ${failedMax} are allowed`);
        return `${name} ${count}`;
      });
      for (const operator of operators) {
        operator.setDemand([]);
        await operator.close();
      }
      provider.repair();
      return `machines broken: ${failed.join(', ')}`;
    },
  };
}
