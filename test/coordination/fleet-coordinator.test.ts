/** F8: what the coordinator answers, over its registry. */
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import { Coordinator, type Registry } from '../../src/coordination/coordinator.ts';
import { Instructions } from '../../src/coordination/instructions.ts';
import { reportOf } from '../../src/coordination/report.ts';
import { decode, encode } from '../../src/wire/codec.ts';
import type { CoordinatorInstruction, ShardReport } from '../../src/wire/protocol.generated.ts';
import { factsOf } from './fixture.ts';

/** A directory that never fails. */
class Kept implements Registry {
  term: number | null = 7;
  revision = 0;
  readonly registered = new Map<string, { address: string; registeredAtMs: number }>();
  readonly assigned = new Map<string, { shard: string; revision: number }>();

  shards = () => [...this.registered].map(([shard, one]) => ({ shard, ...one }));
  domains = () =>
    [...this.assigned].map(([name, one]) => {
      const [topologyKey, topologyValue] = name.split('=') as [string, string];
      return { topologyKey, topologyValue, ...one };
    });
  async register(shard: string, address: string, nowMs: number) {
    this.registered.set(shard, { address, registeredAtMs: nowMs });
  }
  async removeShard(shard: string) {
    this.registered.delete(shard);
  }
  async assignDomain(key: string, value: string, shard: string) {
    this.assigned.set(`${key}=${value}`, { shard, revision: ++this.revision });
  }
  async unassignDomain(key: string, value: string) {
    this.assigned.delete(`${key}=${value}`);
  }
}

/** A shard at the other end, with the project's own reading of instructions. */
class Shard {
  readonly instructions = new Instructions();
  readonly #coordinator: Coordinator;
  readonly #id: string;

  constructor(coordinator: Coordinator, id: string) {
    this.#coordinator = coordinator;
    this.#id = id;
  }

  get domains(): string[] {
    return this.instructions.domains.list().map((one) => `${one.topologyKey}=${one.topologyValue}`);
  }

  /** `isLost`: the answer does not arrive. Resolves with the number of instructions in it. */
  async report(isLost = false): Promise<number> {
    const acks = this.instructions.acksToSend();
    const addresses = { shardAddress: `${this.#id}:1`, providerAddress: 'p:1' };
    const init = reportOf({ ...factsOf(), shardId: this.#id }, acks, addresses, 1);
    const report = decode('ShardReport', encode('ShardReport', init)) as ShardReport;
    const reply = decode('ReportAck', encode('ReportAck', await this.#coordinator.report(report)));
    if (isLost) return reply.instructions.length;
    expect(reply.acknowledged).toBe(true);
    this.instructions.delivered(acks);
    this.instructions.seeTerm(reply.coordinatorTerm);
    for (const one of reply.instructions) this.instructions.receive(one as CoordinatorInstruction, 1);
    return reply.instructions.length;
  }
}

function rig() {
  const registry = new Kept();
  const coordinator = new Coordinator(registry, new ManualClock(5_000));
  return {
    registry,
    coordinator,
    east: new Shard(coordinator, 'east'),
    west: new Shard(coordinator, 'west'),
  };
}

describe('F8: reports to the coordinator', () => {
  it('F8: register a shard and are kept, one for each', async () => {
    const { registry, coordinator, east, west } = rig();
    await east.report();
    await west.report();
    await east.report();
    expect(registry.shards()).toMatchObject([
      { shard: 'east', address: 'east:1' },
      { shard: 'west', address: 'west:1' },
    ]);
    expect(coordinator.reports('').map(([shard]) => shard)).toEqual(['east', 'west']);
    const [[, { report, receivedAtMs }]] = coordinator.reports('west') as [
      ReturnType<Coordinator['reports']>[0],
    ];
    expect([report.cycle, report.summary?.totalMachines, receivedAtMs]).toEqual([42, 10, 5_000]);
    expect(east.instructions.highestTerm).toBe(7);
  });

  it('F8: are answered with the domains of the shard until it has acked them, also if answers are lost', async () => {
    const { registry, east, west } = rig();
    await east.report();
    await registry.assignDomain('rack', 'r1', 'east');
    await registry.assignDomain('rack', 'r2', 'west');
    expect(await east.report(true)).toBe(1);
    expect(await east.report()).toBe(1);
    expect(east.domains).toEqual(['rack=r1']);
    await east.report(); // with the ack
    expect(await east.report()).toBe(0);
    await west.report();
    expect(west.domains).toEqual(['rack=r2']);

    await registry.assignDomain('rack', 'r1', 'west');
    for (let turn = 0; turn < 3; turn++) for (const shard of [east, west]) await shard.report();
    expect([east.domains, west.domains]).toEqual([[], ['rack=r2', 'rack=r1']]);
    await registry.unassignDomain('rack', 'r2');
    for (let turn = 0; turn < 3; turn++) await west.report();
    expect([west.domains, await west.report()]).toEqual([['rack=r1'], 0]);
  });

  it('F8: of the next coordinator begin with its own term, and an assignment that a shard has is not carried out twice', async () => {
    const { registry, coordinator, east } = rig();
    await registry.assignDomain('rack', 'r1', 'east');
    for (let turn = 0; turn < 3; turn++) await east.report();
    registry.term = null;
    await expect(east.report()).rejects.toThrow('This replica is not the coordinator.');
    expect(() => coordinator.reports('')).toThrow('not the coordinator');
    registry.term = 9;
    expect(coordinator.reports('')).toEqual([]);
    for (let turn = 0; turn < 3; turn++) await east.report();
    expect(east.instructions.highestTerm).toBe(9);
    expect(east.domains).toEqual(['rack=r1']);
    expect(east.instructions.counts).toMatchObject({ accepted: 1, rejectedStale: 0, rejectedInvalid: 0 });
  });
});
