import type { MachineBatch } from '../../src/listing/decode/batch.ts';
import { MachineDecoder } from '../../src/listing/decode/decoder.ts';
import type { ListTarget, ProviderClient } from '../../src/provider/client/client.ts';

/** Lists and decodes, as the listing thread does before it compares. */
export async function listBatch(client: ProviderClient, target: ListTarget = {}): Promise<MachineBatch> {
  const outcome = await client.list(target);
  if (outcome.kind !== 'answered') throw new Error(`${outcome.kind}: ${outcome.detail}`);
  return new MachineDecoder().decodeList(outcome.bytes);
}
