/** Questions to a shard (Y4): what each changes, and what is refused (Y5). */
import { describe, expect, it } from 'vitest';
import { readWhatIfSettings } from '../../../src/cli/shard-what-if.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import type { WhatIfAnswer, WhatIfProgress, WhatIfTexts } from '../../../src/shard/ports/what-if.ts';
import { Fixture, type FixtureOptions, machines, need, S } from '../fixture.ts';
import { InPlace, NOTHING } from './in-place.ts';

const FLEET = [...machines(6, 'one', { zone: 'z1' }), ...machines(6, 'two', { zone: 'z2', price: 2 })];
const OPTIONS: FixtureOptions = {
  machines: FLEET,
  demand: { low: [need(4, { priority: 10 })], high: [need(4, { priority: 1_000 })] },
  settings: { preemptionCapFraction: 0, reclaimCapFraction: 0 },
};

async function settled(options: FixtureOptions = OPTIONS) {
  const threads = new InPlace();
  const fixture = new Fixture({ ...options, whatIfThreads: threads });
  await fixture.run(120);
  return { fixture, threads };
}

function begin({ shard }: Fixture, texts: Partial<WhatIfTexts>, signal?: AbortSignal) {
  const whole = { ...NOTHING, ...texts };
  const progress: WhatIfProgress[] = [];
  const read = (now: Parameters<typeof readWhatIfSettings>[1]) => readWhatIfSettings(whole.set, now);
  const answer = shard.whatIf.ask(whole, read, (one) => progress.push(one), signal);
  answer.catch(() => {}); // the caller awaits it
  return { answer, progress };
}

async function ask(fixture: Fixture, texts: Partial<WhatIfTexts>): Promise<WhatIfAnswer> {
  const { answer } = begin(fixture, texts);
  for (let turn = 0; turn < 5; turn++) await fixture.run(0);
  return answer;
}

const ofCluster = ({ clusters }: WhatIfAnswer, id: string) =>
  clusters.find(({ clusterId }) => clusterId === id);

describe('a question', () => {
  it('Y4: machines that are gone are replaced, and the higher priority takes what is left', async () => {
    const { fixture } = await settled();
    const answer = await ask(fixture, { without: ['zone=z1'] });
    expect(answer).toMatchObject({ isAtRest: true, machinesGone: 6, unmetBefore: 0, unmetAfter: 1 });
    expect(answer.priorities).toEqual([{ priority: 10, unmetBefore: 0, unmetAfter: 1 }]);
    expect(ofCluster(answer, 'high')).toMatchObject({ machinesBefore: 4, machinesAfter: 4, gone: 2 });
    expect(ofCluster(answer, 'low')).toMatchObject({ machinesBefore: 4, machinesAfter: 2, gone: 4 });
    expect(answer.usdPerHourBefore).toBe(10);
    expect(answer.usdPerHourAfter).toBe(12);
    expect(answer.settleMs).toBeGreaterThan(60_000);
    expect(fixture.truth()).toEqual({ Configured: 8, Speculative: 4 });
  });

  it('Y4: more demand of a high priority takes machines of a low one, and the answer says whose', async () => {
    const { fixture } = await settled();
    const answer = await ask(fixture, { demand: ['high=2.5'] });
    expect(answer.losses).toEqual([{ from: 'low', to: 'high', machines: 2 }]);
    expect(ofCluster(answer, 'high')).toMatchObject({ machinesBefore: 4, machinesAfter: 10 });
    expect(ofCluster(answer, 'low')).toMatchObject({ machinesAfter: 2 });
    expect(answer.actions).toMatchObject({ Preempt: 2, Provision: 4 });
  });

  it('Y4: added machines are created for what lacked some', async () => {
    const { fixture } = await settled();
    const answer = await ask(fixture, { demand: ['*=2'], add: ['4:offering=a/z2/reserved'] });
    expect(answer).toMatchObject({ machinesAdded: 4, unmetAfter: 0 });
    expect(answer.clusters.map(({ machinesAfter }) => machinesAfter)).toEqual([8, 8]);
  });

  it('Y4: the shard would create what is cheaper, and a roll-up file replaces the demand of a cluster', async () => {
    const { fixture, threads } = await settled();
    const rollups = [
      JSON.stringify({ cluster: 'new', needs: [{ aggregate: { cpu: '8' }, minUnit: { cpu: '4' } }] }),
    ];
    const answer = await ask(fixture, { rollups, price: ['zone=z2:x0.1'] });
    expect(answer.machinesRepriced).toBe(6);
    expect(ofCluster(answer, 'new')).toMatchObject({ machinesBefore: 0, machinesAfter: 2 });
    expect(answer.usdPerHourAfter).toBeCloseTo(6 + 4 * 0.2);
    expect(threads.rested!.inventory.tables.clusters.find('new')).toBeGreaterThan(0);
    expect(fixture.shard.inventory.tables.clusters.find('new')).toBe(0);
  });

  it('Y4: other settings hold in the copy alone', async () => {
    const { fixture } = await settled();
    const capped = await ask(fixture, { demand: ['*=2'], set: ['ceilings=usd-per-hour=10'] });
    expect(capped.usdPerHourAfter).toBe(10);
    const still = await ask(fixture, { without: ['zone=z1'], set: ['dry-run=true'] });
    expect(still.actions).toEqual({ Bootstrap: 0, Provision: 0, Reclaim: 0, Preempt: 0, Delete: 0 });
    expect(still.notes[0]).toBe(
      'The shard is in a dry run, so it would do nothing. Ask with --set dry-run=false.',
    );
    expect(fixture.shard.rails.isDryRun).toBe(false);
  });

  it('Y4: machines that nobody needs are released after their hold', async () => {
    const spot = machines(4, 'spot', { capacityType: CapacityType.Spot });
    const { fixture } = await settled({ ...OPTIONS, machines: spot, demand: { c1: [need(4)] } });
    const answer = await ask(fixture, { demand: ['c1=0'] });
    expect(answer.actions).toMatchObject({ Reclaim: 4, Delete: 4 });
    expect(answer.usdPerHourAfter).toBe(0);
    expect(answer.settleMs).toBeGreaterThan(90_000);
  });

  it('Y4: gangs keep their size, and there are more of them', async () => {
    const gang = need(2, { requirements: [{ key: 'rack', operator: 5, values: [] }] });
    const racks = ['r1', 'r2', 'r3'].flatMap((rack) => machines(2, rack, { labels: { rack } }));
    const { fixture, threads } = await settled({ ...OPTIONS, machines: racks, demand: { c1: [gang] } });
    const answer = await ask(fixture, { demand: ['c1=3'] });
    expect(answer).toMatchObject({ unmetAfter: 0 });
    expect(ofCluster(answer, 'c1')).toMatchObject({ machinesBefore: 2, machinesAfter: 6 });
    const { columns, shapes } = threads.rested!.inventory;
    const racksOf = new Map<number, Set<string>>();
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      if (columns.state[slot] !== S.Configured) continue;
      const known = racksOf.get(columns.group[slot]!) ?? new Set();
      racksOf.set(columns.group[slot]!, known.add(shapes.get(columns.shape[slot]!).labels.get('rack')!));
    }
    expect([...racksOf.values()].map((names) => names.size)).toEqual([1, 1, 1]);
  });
});

describe('what is refused', () => {
  for (const [texts, message] of [
    [{}, 'The question changes nothing.'],
    [{ without: ['zone=z9'] }, 'There is no zone "z9". The shard calculated nothing. There are z1, z2.'],
    [{ without: ['type=b'] }, 'There is no instance type "b". The shard calculated nothing. There are a.'],
    [
      { without: ['provider=aws'] },
      'There is no provider "aws". The shard calculated nothing. There are simulated.',
    ],
    [{ without: ['machine=m-1'] }, 'There is no machine "m-1".'],
    [{ without: ['capacity-type=cheap'] }, 'There is no capacity type "cheap".'],
    [{ without: ['offering=a/z1'] }, 'There is no offering "a/z1".'],
    [{ without: ['region=eu'] }, 'without names "region".'],
    [{ without: ['z1'] }, 'without is "z1".'],
    [{ demand: ['high'] }, 'demand is "high".'],
    [
      { demand: ['prod-*=2'] },
      'No cluster with demand matches "prod-*". The shard calculated nothing. Clusters with demand are',
    ],
    [{ add: ['zone=z1'] }, 'add is "zone=z1".'],
    [{ price: ['zone=z1:cheap'] }, 'price is "zone=z1:cheap".'],
    [{ latency: ['boot=1m'], demand: ['*=2'] }, 'latency is "boot=1m".'],
    [{ set: ['log-level=debug'] }, 'set names "log-level", which a question cannot change.'],
    [{ set: ['reclaim-cap-fraction=2'] }, 'set reclaim-cap-fraction: '],
    [{ rollups: ['{'] }, 'A roll-up file is not JSON.'],
    [{ rollups: ['{"needs":[]}'] }, 'A roll-up file has no cluster or no list of needs.'],
    [
      { rollups: ['{"cluster":"a","needs":[{"aggregate":{"cpu":4}}]}'] },
      'Need 0 of a roll-up file has a missing or wrong field.',
    ],
  ] as const satisfies readonly (readonly [Partial<WhatIfTexts>, string])[]) {
    it(`Y5: refuses ${JSON.stringify(texts)} before it begins`, async () => {
      const { fixture, threads } = await settled();
      await expect(ask(fixture, texts)).rejects.toThrow(message);
      expect(threads.closed).toBe(0);
    });
  }

  it('Y5: answers one question at a time, and tells its progress', async () => {
    const { fixture, threads } = await settled();
    let open = () => {};
    threads.gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = begin(fixture, { without: ['zone=z1'] });
    await fixture.run(5);
    await expect(ask(fixture, { demand: ['*=2'] })).rejects.toThrow(
      /^The shard answers another what-if question, for \d+ s now, and answers one at a time\./,
    );
    open();
    await first.answer;
    expect(first.progress.map(({ phase }) => phase)).toEqual(
      expect.arrayContaining(['copying', 'restoring', 'deciding', 'running']),
    );
    expect((await ask(fixture, { demand: ['*=2'] })).isAtRest).toBe(true);
  });

  it('Y5: a question whose asker goes away ends, and the next one begins', async () => {
    const { fixture, threads } = await settled();
    threads.gate = new Promise(() => {});
    const gone = new AbortController();
    const first = begin(fixture, { without: ['zone=z1'] }, gone.signal);
    await fixture.run(1);
    gone.abort();
    await expect(first.answer).rejects.toThrow('The question was given up before it was answered.');
    threads.gate = Promise.resolve();
    expect((await ask(fixture, { without: ['zone=z1'] })).isAtRest).toBe(true);
  });
});
