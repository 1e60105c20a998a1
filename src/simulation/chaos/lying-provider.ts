/** A provider behind real gRPC, some of whose listings are wrong. Its other answers are correct. */
import { Random } from '../../base/random.ts';
import { MachineState } from '../../machine/state.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import { REALISTIC } from '../catalogue/catalogue.ts';
import { generateMachines } from '../provider/generate.ts';
import { type MachineListing, SimulatedProvider } from '../provider/provider.ts';
import { type ProviderCalls, serveProvider } from '../provider/server.ts';
import { everyOperation } from '../provider/settings.ts';
import { MACHINES, type ProviderHandle } from './stage.ts';

/** Each of the six kinds occurs at least twice. */
const LIE_KINDS = 6;
const LIES_MAX = 16;
const IDLE_SHARE = 0.4;

/** `old`: the first listing. */
function bent(listing: MachineListing, kind: number, old: MachineListing, random: Random): MachineListing {
  const { machines } = listing;
  const some = (share: number, change: (machine: Machine) => Machine) => ({
    ...listing,
    machines: machines.map((machine) => (random.chance(share) ? change(machine) : machine)),
  });
  switch (kind) {
    case 0:
      return { ...listing, machines: [...machines, ...machines.filter(() => random.chance(0.5))] };
    case 1:
      return { ...listing, machines: machines.filter(() => random.chance(0.5)) };
    case 2:
      return some(0.2, (machine) => ({ ...machine, pricePerHour: -1 }));
    case 3:
      return some(0.2, (machine) =>
        machine.state === MachineState.Configured
          ? { ...machine, state: MachineState.Failed, lastError: 'a lie' }
          : machine,
      );
    case 4:
      return old;
    default:
      return { ...listing, machines: [] };
  }
}

/** Some listings are wrong until each kind of lie was told. */
export function lyingProvider(): Promise<ProviderHandle> {
  const random = new Random(3);
  let lies = 0;
  let old: MachineListing | null = null;
  return providerThatLists((listing) => {
    old ??= listing;
    if (lies >= LIES_MAX || random.chance(0.5)) return listing;
    return bent(listing, lies++ % LIE_KINDS, old, random);
  });
}

/** Serves the provider twice: with changed listings for the shard, and with correct ones for the checks. */
export async function providerThatLists(
  change: (listing: MachineListing) => MachineListing,
): Promise<ProviderHandle> {
  const provider = new SimulatedProvider({
    settings: { operations: everyOperation({ latency: { meanMs: 100, p99Ms: 300 } }) },
  });
  const plan = {
    machineCount: MACHINES,
    configuredShare: 0,
    idleShare: IDLE_SHARE,
    clusterCount: 1,
    seed: 1,
  };
  for (const seed of generateMachines(REALISTIC, plan)) provider.add(seed);
  const calls: ProviderCalls = {
    create: (call) => provider.create(call),
    configure: (call) => provider.configure(call),
    drain: (call) => provider.drain(call),
    delete: (call) => provider.delete(call),
    get: (call) => provider.get(call),
    list: (call) => {
      const answer = provider.list(call);
      return answer.kind === 'ok' ? { kind: 'ok', value: change(answer.value) } : answer;
    },
  };
  const changed = await serveProvider(calls, '127.0.0.1:0');
  const honest = await serveProvider(provider, '127.0.0.1:0');
  return {
    address: changed.address,
    truthAddress: honest.address,
    close: async () => {
      await changed.close();
      await honest.close();
      provider.close();
    },
  };
}
