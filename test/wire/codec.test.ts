import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode, toPlain } from '../../src/wire/codec.ts';

describe('encoding and decoding by name', () => {
  it('gives every field of an empty message its default', () => {
    const machine = decode('Machine', new Uint8Array());
    expect(machine.id).toBe('');
    expect(machine.host).toBeNull();
    expect(machine.labels).toEqual({});
    const request = decode('CreateRequest', new Uint8Array());
    expect(request.shardEpoch).toBe(0);
    expect(decode('MachineList', new Uint8Array()).machines).toEqual([]);
  });

  it('leaves defaults out of the bytes', () => {
    expect(encode('DrainRequest', { machineId: '', gracePeriodSeconds: 0 }).length).toBe(0);
  });

  it('reports which field of a oneof is set', () => {
    const bytes = encode('OperatorMessage', { rollup: { clusterId: 'c', needs: [] } });
    const message = decode('OperatorMessage', bytes);
    expect(message.payload).toBe('rollup');
    expect(message.hello).toBeNull();
    expect(decode('OperatorMessage', new Uint8Array()).payload).toBeUndefined();
  });

  it('carries int64 as numbers, exact in the whole range of safe integers', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (epoch, sequence) => {
        const bytes = encode('CreateRequest', { shardEpoch: epoch, sequenceNumber: sequence });
        const request = decode('CreateRequest', bytes);
        expect(request.shardEpoch).toBe(epoch);
        expect(request.sequenceNumber).toBe(sequence);
      }),
    );
  });

  it('reads int64 beyond the safe range as the nearest number', () => {
    const extremes = Buffer.from('20ffffffffffffffff7f28808080808080808080 01'.replace(' ', ''), 'hex');
    const request = decode('CreateRequest', extremes);
    expect(request.shardEpoch).toBe(2 ** 63);
    expect(request.sequenceNumber).toBe(-(2 ** 63));
  });

  it('reads nested int64 as numbers too', () => {
    const bytes = encode('ListShardsResponse', { shards: [{ registeredAtUnixNs: 5 }] });
    const [shard] = decode('ListShardsResponse', bytes).shards;
    expect(shard!.registeredAtUnixNs).toBe(5);
    expect(shard!.lastHeartbeatUnixNs).toBe(0);
  });

  it('keeps an unknown enum value', () => {
    expect(decode('Machine', encode('Machine', { state: 42 })).state).toBe(42);
  });

  it('reads repeated numbers packed and unpacked', () => {
    expect(decode('ListFilter', Buffer.from([8, 1, 10, 2, 2, 3, 8, 4])).states).toEqual([1, 2, 3, 4]);
  });

  it('refuses strings that are not UTF-8, and truncated bytes', () => {
    expect(() => decode('MachineRef', Buffer.from([10, 1, 0xff]))).toThrow();
    expect(() => decode('MachineRef', Buffer.from([10, 5, 65]))).toThrow();
    expect(() => decode('CreateRequest', Buffer.from([32, 0x80]))).toThrow();
    expect(() => decode('CreateRequest', Buffer.from([32, ...Array(10).fill(0x80), 1]))).toThrow();
  });

  it('turns a message into an ordinary object with all its fields', () => {
    const message = decode('MachineRef', new Uint8Array());
    expect(Object.keys({ ...message })).toEqual([]);
    expect(toPlain('MachineRef', message)).toEqual({ id: '' });
    const filter = toPlain('ListFilter', decode('ListFilter', encode('ListFilter', { maxResults: 3 })));
    expect(filter).toEqual({ states: [], maxResults: 3, sinceRevision: Buffer.alloc(0) });
  });

  it('accepts a Uint8Array in the middle of a larger buffer', () => {
    const bytes = encode('MachineRef', { id: 'm-1' });
    const large = new Uint8Array(bytes.length + 20).fill(0xff);
    large.set(bytes, 10);
    expect(decode('MachineRef', large.subarray(10, 10 + bytes.length)).id).toBe('m-1');
  });
});
