/** The machines as the provider lists them, requested directly and not through the proxy. */

import { MachineDecoder } from '../../listing/decode/decoder.ts';
import { machineAt } from '../../listing/decode/rows.ts';
import { MachineState } from '../../machine/state.ts';
import { ProviderClient } from '../../provider/client/client.ts';
import { FencingTokens } from '../../provider/client/fencing.ts';

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
    const answer = await client.list();
    if (answer.kind !== 'answered') throw new Error(`the provider could not be listed: ${answer.detail}`);
    const batch = new MachineDecoder().decodeList(answer.bytes);
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
