/** Explanations of machines: one machine for each reason to stay. */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../../src/inventory/intent.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import type { MachineExplanation } from '../../../src/shard/ports/explain.ts';
import { writtenAs } from '../../oracle/assigned-text.ts';
import { fingerprintOf } from '../../oracle/profile.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  configuring,
  cpus,
  drainFor,
  draining,
  idle,
  isIn,
  machine,
  NOW_MS,
  need,
  speculative,
  world,
  ZONE,
} from '../../oracle/rules/worlds.ts';
import type { World } from '../../oracle/world.ts';
import { viewOf } from './from-world.ts';
import type { ViewWorld } from './view-world.ts';

async function ask(shard: ViewWorld, id: string): Promise<MachineExplanation & { text: string }> {
  const explained = await shard.view.explainMachine(id);
  expect(explained).not.toBeNull();
  return { ...explained!, text: explained!.sentences.join(' ') };
}

const explain = (of: World, id = 'm-1') => ask(viewOf(of), id);
const web = need({ group: 'web' });

describe('a Configured machine', () => {
  it('is kept while a need claims it', async () => {
    const { facts, text } = await explain(
      world([configured('m-1', assignmentFor('alpha', web))], [cluster('alpha', [web])]),
    );
    expect(facts.stays).toEqual({ kind: 'claimed' });
    expect(facts.claim).toMatchObject({ clusterId: 'alpha', group: 'web', priority: 100 });
    expect(text).toContain('Configured for 0 ms, bound to alpha (provider test).');
    expect(text).toContain(
      'It counts for a need of alpha at priority 100 (“web”). It will not be reclaimed while this need exists.',
    );
  });

  describe('T4: with an assignment in digests', () => {
    const long = need({ group: 'g'.repeat(300), requirements: [isIn(ZONE, 'zone-1', 'z'.repeat(600))] });
    const fingerprint = fingerprintOf(long);
    const digests = {
      fingerprint: writtenAs('fingerprint', fingerprint),
      group: writtenAs('group', long.group),
    };
    const bound = configured('m-1', { ...assignmentFor('alpha', long), ...digests });

    it('T4: names its need in full while the need is known', async () => {
      const { facts, machine: shown } = await explain(world([bound], [cluster('alpha', [long])]));
      expect(facts.claim).toMatchObject({ fingerprint, group: long.group, priority: 100 });
      expect(shown.assignment).toMatchObject({ fingerprint, group: long.group });
    });

    it('T4: shows the digests if no cluster has such a need', async () => {
      const { facts, machine: shown } = await explain(world([bound], [cluster('alpha', [])]));
      expect(facts.claim).toBeNull();
      expect(shown.assignment).toMatchObject(digests);
    });

    it('T4: drains for a need that is gone, whose priority the digest does not tell', async () => {
      const drainFor = { cluster: 'beta', ...digests };
      const victim = draining('m-1', boundTo('alpha'), { drainFor });
      const { text } = await explain(world([victim], [cluster('alpha', []), cluster('beta', [])]));
      expect(text).toContain('a need of beta (“sha256:');
    });

    it('T4: its need is found by full text and by digest', async () => {
      const { view } = viewOf(world([bound], [cluster('alpha', [long, web])]));
      for (const name of [
        { fingerprint },
        { fingerprint: digests.fingerprint },
        { group: long.group },
        { group: digests.group },
      ]) {
        const explained = await view.explainNeeds({ clusterId: 'alpha', ...name });
        expect(explained.map((one) => one.need.group)).toEqual([long.group]);
        const page = await view.needsPage({ ...name, limit: 10 }, '');
        expect(page.needs.map((one) => one.fingerprint)).toEqual([fingerprint]);
      }
    });
  });

  it('N6: is kept until its cluster has sent a roll-up', async () => {
    const { facts, text } = await explain(
      world([configured('m-1', boundTo('alpha'))], [cluster('alpha', [], { reported: false })]),
    );
    expect(facts.stays).toEqual({ kind: 'gate' });
    expect(text).toContain('has sent no roll-up since this shard started');
  });

  it('R2: in excess has a place in the queue, with the cap per cycle', async () => {
    const fleet = Array.from({ length: 40 }, (_, index) =>
      configured(`m-${String(index).padStart(2, '0')}`, boundTo('alpha'), { price: 1 + index }),
    );
    const shard = viewOf(world(fleet, [cluster('alpha', [])]));
    const first = await ask(shard, 'm-00');
    expect(first.facts.stays).toEqual({ kind: 'reclaim_queue', excess: 40, place: 1, perInterval: 2 });
    expect(first.text).toContain('The next ordinary cycle reclaims it.');
    const last = await ask(shard, 'm-39');
    expect(last.facts.stays).toMatchObject({ place: 40 });
    expect(last.text).toContain('The shard reclaims at most 2 of alpha per cycle (5 % of its machines)');
    expect(last.text).toContain('number 40 of 40: about 3 min 20 s');
  });

  it('in back-off is left alone, and the failure is quoted', async () => {
    const { facts, text } = await explain(
      world([configured('m-1', boundTo('alpha'), { backoff: true })], [cluster('alpha', [])]),
    );
    expect(facts.stays).toEqual({ kind: 'backoff', untilMs: NOW_MS + 30_000 });
    expect(text).toContain('It failed once, with “quota exceeded”, and is in back-off for another 30 s.');
  });

  it('T10: in dispute is left alone, and the providers that list it are named', async () => {
    const shard = viewOf(world([configured('m-1', boundTo('alpha'))], [cluster('alpha', [])]));
    shard.inventory.setFlag(shard.inventory.find('m-1'), Flag.Disputed, true);
    shard.claimants.set('m-1', ['rack-b']);
    const { facts, text } = await ask(shard, 'm-1');
    expect(facts.stays).toEqual({ kind: 'disputed' });
    expect(text).toMatch(/It is in dispute: providers .* and rack-b all list this id/);
    expect(text).toContain('the shard makes no call for it');
  });

  it('is kept while no action executes, with the reason', async () => {
    const shard = viewOf(world([configured('m-1', boundTo('alpha'))], [cluster('alpha', [])]));
    shard.rails = { ...shard.rails, isPaused: true };
    expect((await ask(shard, 'm-1')).text).toContain('executes no actions: the kill switch is on');
  });
});

describe('an Idle machine', () => {
  const spot = { capacityType: CapacityType.Spot };

  it('R3: is held for a while, then released', async () => {
    const shard = viewOf(world([idle('m-1', spot), idle('m-2')], []));
    shard.clock.advance(20_000);
    const held = await ask(shard, 'm-1');
    expect(held.facts.stays).toEqual({ kind: 'hold', leftMs: 40_000, holdMs: 60_000 });
    expect(held.text).toContain(
      'The shard holds it for 1 min in case a need asks for it, and releases it in 40 s.',
    );
    shard.clock.advance(60_000);
    expect((await ask(shard, 'm-1')).facts.stays).toEqual({ kind: 'hold_over' });
    const metal = await ask(shard, 'm-2');
    expect(metal.facts.stays).toEqual({ kind: 'kept_forever' });
    expect(metal.text).toContain('never releases a machine whose capacity type is bare-metal');
  });

  it('is about to be bound when a need takes it in this cycle', async () => {
    const { facts, text } = await explain(world([idle('m-1')], [cluster('alpha', [web])]));
    expect(facts.stays).toEqual({ kind: 'claimed' });
    expect(text).toContain('The shard is about to bind it.');
  });

  it('names an unmet need that it matches', async () => {
    const { facts, text } = await explain(
      world([idle('m-1')], [cluster('alpha', [web], { hasSession: false })]),
    );
    expect(facts.couldServe).toEqual([{ clusterId: 'alpha', priority: 100, group: 'web' }]);
    expect(text).toContain('It matches unmet needs of alpha (priority 100)');
  });
});

describe('a transitional machine', () => {
  it('shows its action, the step and the time', async () => {
    const shard = viewOf(world([configuring('m-1', assignmentFor('alpha', web))], [cluster('alpha', [web])]));
    shard.actions.set('m-1', {
      kind: 'Bootstrap',
      machineId: 'm-1',
      step: 'bootstrap_blob',
      sinceMs: NOW_MS - 5_000,
    });
    const { facts, text } = await ask(shard, 'm-1');
    expect(facts.stays).toEqual({ kind: 'acting' });
    expect(text).toContain('A Bootstrap began 5 s ago and waits for the operator’s bootstrap data.');
  });

  it('P6: names the need that it drains for', async () => {
    const high = need({ group: 'high', priority: 900, aggregate: cpus(8) });
    const fleet = [draining('m-1', boundTo('beta'), drainFor('alpha', high))];
    const { facts, text } = await explain(world(fleet, [cluster('alpha', [high]), cluster('beta', [])]));
    expect(facts.stays).toEqual({ kind: 'waiting_for_provider' });
    expect(text).toContain('It was preempted for a need of alpha at priority 900 (“high”).');
  });

  it('X11: explains that it is stuck', async () => {
    const shard = viewOf(world([configuring('m-1', boundTo('alpha'))], [cluster('alpha', [])]));
    shard.inventory.setFlag(shard.inventory.find('m-1'), Flag.Stuck, true);
    expect((await ask(shard, 'm-1')).text).toContain(
      'It is stuck: it has been in a transitional state for longer than 15 min.',
    );
  });
});

describe('a machine that satisfies no need', () => {
  it('shows its error if it Failed, and what ends that', async () => {
    const { facts, text } = await explain(world([machine('m-1', MachineState.Failed)], []));
    expect(facts.stays).toEqual({ kind: 'failed' });
    expect(text).toContain('with the error “broken”');
    expect(text).toContain(
      'It satisfies no need until provider test reports another state: the shard cannot repair it.',
    );
  });

  it('says that it is an offer, and whether its offering is in back-off', async () => {
    const shard = viewOf(world([speculative('m-1')], []));
    expect((await ask(shard, 'm-1')).facts.stays).toEqual({ kind: 'offer' });
    shard.offeringBackoffs.set('standard', { untilMs: NOW_MS + 60_000, failures: 3, text: 'no capacity' });
    expect((await ask(shard, 'm-1')).text).toContain(
      'Its offering (standard, zone-1, bare-metal) failed 3 times in a row, last with “no capacity”',
    );
  });

  it('has no explanation if the id is unknown', async () => {
    expect(await viewOf(world([], [])).view.explainMachine('m-9')).toBeNull();
  });
});
