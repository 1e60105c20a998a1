/**
 * The smallest provider on the kit: six machines whose cloud is a timer. A real provider calls its cloud or rack controller
 * in the four functions; everything else of the contract is the kit's. docs/writing-a-provider.md explains it, and
 * `flotilla conformance` checks it.
 *
 *   node dist/docs/examples/minimal-provider.js 127.0.0.1:7790 ./state
 */
import { setTimeout as work } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
// In a project of your own: from 'flotilla/provider-kit'.
import { type Cloud, type Offer, type ServedProvider, serveProvider } from '../../src/provider-kit/index.ts';

/** Four machines that can be created, and two that run already. */
const OFFERS: readonly Offer[] = [1, 2, 3, 4, 5, 6].map((number) => ({
  id: `m-${number}`,
  instanceType: 'standard-16',
  zone: 'zone-a',
  capacityType: 'on-demand',
  pricePerHourUsd: 0.8,
  resources: { cpu: '16', memory: '64Gi' },
  labels: { 'topology.kubernetes.io/rack': `r${number % 2}` },
  ...(number > 4 ? { hostRef: `host-of-m-${number}` } : {}),
}));

/** Each function resolves when the cloud has done it. `workMs` stands for the minutes that a cloud takes. */
function timerCloud(workMs: number): Cloud {
  return {
    async create({ machine, signal }) {
      await work(workMs, undefined, { signal });
      return `host-of-${machine.id}`;
    },
    async configure({ machine, cluster, bootstrapBlob, signal }) {
      // A real cloud starts the machine with the blob as its user data.
      if (bootstrapBlob.length === 0) console.error(`${machine.id} joins ${cluster} without a blob`);
      await work(workMs, undefined, { signal });
    },
    async drain({ gracePeriodSeconds, signal }) {
      await work(Math.min(workMs, gracePeriodSeconds * 1_000), undefined, { signal });
    },
    async delete({ signal }) {
      await work(workMs, undefined, { signal });
    },
  };
}

/** Without `stateDir`, nothing outlives the process: for tests alone. */
export function serveMinimalProvider(
  listen: string,
  workMs = 200,
  stateDir?: string,
): Promise<ServedProvider> {
  return serveProvider({
    name: 'minimal',
    listen,
    offers: OFFERS,
    cloud: timerCloud(workMs),
    ...(stateDir === undefined ? {} : { stateDir }),
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [listen = '127.0.0.1:7790', stateDir = './state', workMs = '200'] = process.argv.slice(2);
  const provider = await serveMinimalProvider(listen, Number(workMs), stateDir);
  console.log(`listening on ${provider.address}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void provider.close());
}
