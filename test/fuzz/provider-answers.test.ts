import { expect, it } from 'vitest';
import { ShardError } from '../../src/base/errors.ts';
import { MachineDecoder } from '../../src/listing/decode/decoder.ts';
import { machineAt } from '../../src/listing/decode/rows.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { encode } from '../../src/wire/codec.ts';
import { bytesOf } from '../../src/wire/outgoing-message.ts';
import { machine, S } from '../shard/fixture.ts';
import { CASES_MIN, fuzz, GROWN_BYTES_MAX } from './fuzzer.ts';

const METADATA = {
  'bigfleet.lucy.sh/assigned-priority': '100',
  'bigfleet.lucy.sh/assigned-interruption-penalty-dollars': '+Inf',
  'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars': '8.388608e+06',
  'bigfleet.lucy.sh/assigned-need-fingerprint': 'p=100|ipb=1|rpb=1|reqs=|spr=',
  'bigfleet.lucy.sh/assigned-group': 'g',
};

function provider(): SimulatedProvider {
  const made = new SimulatedProvider();
  made.add(machine('m-1'));
  made.add(machine('m-2', { state: S.Idle, labels: { 'kubernetes.io/hostname': 'h-2', rack: 'r1' } }));
  made.add(machine('m-3', { state: S.Configured, cluster: 'c1', shardMetadata: METADATA }));
  made.add(machine('m-4', { state: S.Failed, lastError: 'broken' }));
  return made;
}

function answersOf(made: SimulatedProvider): { list: Uint8Array; get: Uint8Array; ack: Uint8Array } {
  const list = made.encodeList({});
  const get = made.get({ id: 'm-3' });
  if (list.kind !== 'ok' || get.kind !== 'ok') throw new Error('it answers');
  return {
    list: bytesOf(list.value),
    get: encode('Machine', get.value),
    ack: encode('TransitionAck', { operationId: 'op-1', machine: get.value }),
  };
}

it('a damaged listing, read or ack gives rows, counted rejections or a typed error, and the next answer is read', async () => {
  const { list, get, ack } = answersOf(provider());
  const decoder = new MachineDecoder();
  const good = () => {
    const batch = decoder.decodeList(list);
    return JSON.stringify(Array.from({ length: batch.rowCount }, (_, row) => machineAt(batch, row)));
  };
  const expected = good();
  const report = await fuzz([list, get, ack], (bytes, random) => {
    try {
      const how = random.below(3);
      if (how === 0) decoder.decodeList(bytes);
      else if (how === 1) decoder.decodeMachine(bytes, 'm-3');
      else decoder.decodeAck(bytes, 'm-3');
      const { batch } = decoder;
      for (let row = 0; row < batch.rowCount; row++) machineAt(batch, row);
      return batch.rowCount > 0 ? 'rows' : 'none';
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      return error.code;
    } finally {
      if (random.chance(0.05)) expect(good()).toBe(expected);
    }
  });
  expect(good()).toBe(expected);
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(Object.keys(report.outcomes).length).toBeGreaterThan(2);
  expect(report.grownBytes).toBeLessThan(GROWN_BYTES_MAX);
});
