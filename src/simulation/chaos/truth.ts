/** The machines as the provider lists them, requested directly and not through the proxy. */

import { machineAt } from '../../listing/decode/rows.ts';
import { MachineState } from '../../machine/state.ts';
import { ProviderClient } from '../../provider/client/client.ts';
import { FencingTokens } from '../../provider/client/fencing.ts';
import { ProviderReader } from '../../provider/client/reader.ts';

export interface Truth {
  readonly machineCount: number;
  /** By cluster: its Configured machines. */
  readonly nodes: ReadonlyMap<string, ReadonlySet<string>>;
  /** Machines that are transitional or Failed. */
  readonly restless: number;
}

export async function truthOf(address: string): Promise<Truth> {
  const client = new ProviderClient({ name: 'truth', address }, FencingTokens.create('truth', 1));
  try {
    const outcome = await new ProviderReader(client).list();
    if (outcome.kind !== 'listed') throw new Error(`the provider could not be listed: ${outcome.detail}`);
    const { batch } = outcome;
    const nodes = new Map<string, Set<string>>();
    let restless = 0;
    for (let row = 0; row < batch.rowCount; row++) {
      const machine = machineAt(batch, row);
      const { state, cluster, id } = machine;
      if (state === MachineState.Configured) {
        const ofCluster = nodes.get(cluster) ?? new Set();
        nodes.set(cluster, ofCluster.add(id));
      } else if (state !== MachineState.Idle && state !== MachineState.Speculative) restless++;
    }
    return { machineCount: batch.rowCount, nodes, restless };
  } finally {
    client.close();
  }
}
