import { describe, expect, it } from 'vitest';
import { reportOf } from '../../src/coordination/report.ts';
import type { ShortfallView } from '../../src/shard/ports/view.ts';
import { decode, encode, toPlain } from '../../src/wire/codec.ts';
import { factsOf } from './fixture.ts';

function shortfall(priority: number, ageCycles: number): ShortfallView {
  return {
    fingerprint: `p=${priority}`,
    requirements: [{ key: 'gpu', operator: 1, values: ['a100', 'h100'] }],
    deficit: { cpu: 96_500, memory: 8 * 1024 * 1024, 'nvidia.com/gpu': 0 },
    priority,
    ageCycles,
    interruptionPenalty: 27,
  };
}

const ADDRESSES = { shardAddress: '10.0.0.1:7780', providerAddress: '10.0.0.7:7790,10.0.0.8:7790' };

const overTheWire = (...args: Parameters<typeof reportOf>) =>
  toPlain('ShardReport', decode('ShardReport', encode('ShardReport', reportOf(...args))));

describe('K1: the report', () => {
  it('has the shard, the time, machines by type and zone, and the addresses', () => {
    expect(overTheWire(factsOf(), [], ADDRESSES, 1_700_000_000_123)).toEqual({
      shardId: 'shard-1',
      cycle: 42,
      timestampUnixNanos: 1_700_000_000_123_000_000,
      shardEpoch: 7,
      summary: {
        totalMachines: 10,
        freeMachines: 4,
        perInstanceTypeCounts: { 'm5.large': 6, 'p4d.24xlarge': 4 },
        perZoneCounts: { 'us-1a': 10 },
        providerAddress: '10.0.0.7:7790,10.0.0.8:7790',
      },
      shortfalls: [],
      instructionAcks: [],
      shardAddress: '10.0.0.1:7780',
    });
  });

  it('has deficits as Kubernetes quantities, without the dimensions that are met', () => {
    const { shortfalls } = overTheWire(factsOf({ shortfalls: [shortfall(1_000, 3)] }), [], ADDRESSES, 0);
    expect(shortfalls).toEqual([
      {
        requirements: [{ key: 'gpu', operator: 1, values: ['a100', 'h100'] }],
        deficit: { resources: { cpu: '96500m', memory: '8Gi' } },
        priority: 1_000,
        ageCycles: 3,
        interruptionPenaltyBucket: 27,
      },
    ]);
  });

  it('P5: has the 100 highest shortfalls, by priority, then by age', () => {
    const shortfalls = Array.from({ length: 250 }, (_, index) => shortfall(index % 5, index));
    const report = overTheWire(factsOf({ shortfalls }), [], ADDRESSES, 0);
    expect(report.shortfalls).toHaveLength(100);
    const places = report.shortfalls.map(({ priority, ageCycles }) => [priority, ageCycles] as const);
    expect(places.slice(0, 3)).toEqual([
      [4, 249],
      [4, 244],
      [4, 239],
    ]);
    expect(places.slice(50, 52)).toEqual([
      [3, 248],
      [3, 243],
    ]);
    expect(places.at(-1)).toEqual([3, 3]);
  });
});
