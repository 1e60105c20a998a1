/** T2: decisions that throw, for one need or for all. */

import { describe, expect, it } from 'vitest';
import { TenantBook } from '../../src/observe/tenant-book.ts';
import type { ShardOptions } from '../../src/shard/options.ts';
import { clustersPage } from '../../src/shard/view/clusters.ts';
import { explainNeed } from '../../src/shard/view/explain/need.ts';
import { shardSources } from '../../src/shard/view/shard-sources.ts';
import { UnmetRows } from '../../src/shard/view/unmet-rows.ts';
import { CYCLE_MS, Fixture, type FixtureOptions, machines, need, S } from './fixture.ts';

type Stage = Parameters<NonNullable<ShardOptions['probe']>>[0];

/** Throws at a stage for a cluster, for as long as `isArmed` and `left` say. */
class Fault {
  left = Number.POSITIVE_INFINITY;
  isArmed = false;
  readonly #stage: Stage;
  readonly #clusterId: string | null;

  constructor(stage: Stage, clusterId: string | null) {
    this.#stage = stage;
    this.#clusterId = clusterId;
  }

  readonly probe = (stage: Stage, clusterId: string): void => {
    if (!this.isArmed || this.left <= 0 || stage !== this.#stage) return;
    if (this.#clusterId !== null && clusterId !== this.#clusterId) return;
    this.left--;
    throw new Error('injected');
  };
}

function world(fault: Fault, options: FixtureOptions = {}): Fixture {
  return new Fixture({
    machines: machines(20, 'm', { state: S.Idle }),
    demand: { good: [need(2)], bad: [need(2)] },
    settings: { hasRollupGuard: false, preemptionCapFraction: 0, reclaimCapFraction: 0, checkEveryCycles: 1 },
    ...options,
    probe: fault.probe,
  });
}

function kinds(fixture: Fixture): string[] {
  return fixture.events.map(({ kind }) => kind);
}

describe('a throw inside a cycle', () => {
  it('T2: a throw that does not repeat costs nothing: the rebuilt engine decides the same cycle again', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    fault.left = 1;
    for (const id of ['good', 'bad']) fixture.world.setDemand(fixture.cluster(id), [need(5)]);
    await fixture.run(15);
    expect(fault.left).toBe(0);
    expect(fixture.cluster('good').nodes.size).toBe(5);
    expect(fixture.cluster('bad').nodes.size).toBe(5);
    expect(fixture.started('configure')).toHaveLength(10);
    expect(kinds(fixture)).toEqual(['decision_threw']);
    expect(fixture.events[0]).toMatchObject({ lost: '', need: expect.stringContaining('need bad/') });
    expect(fixture.shard.counters).toMatchObject({
      decisionThrows: 1,
      clustersSuspended: 0,
      decisionsFailed: 0,
    });
    // The from-scratch checks of the cycles after it found no difference.
    expect(fixture.shard.counters.checkDifferences).toBe(0);
    expect(fixture.shard.counters.checksRun).toBeGreaterThan(0);
  });

  it('T2: a cluster whose demand changes all the time costs at most two engines in five seconds', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    for (let change = 0; change < 60; change++) {
      fixture.world.setDemand(fixture.cluster('bad'), [need(5 + (change % 7))]);
      await fixture.run(0.5);
    }
    const { decisionThrows, decisionsFailed } = fixture.shard.counters;
    expect(decisionThrows).toBeGreaterThanOrEqual(4);
    expect(decisionThrows).toBeLessThanOrEqual(14); // 30 seconds
    expect(decisionsFailed).toBe(0);
    fixture.world.setDemand(fixture.cluster('good'), [need(5)]);
    await fixture.run(15);
    expect(fixture.cluster('good').nodes.size).toBe(5);
  });

  it('T2: without a known need, short cycles cost one engine a second', async () => {
    const fault = new Fault('verdicts', null);
    const settings = { hasRollupGuard: false, cycleIntervalMs: 100, checkEveryCycles: 0 };
    const fixture = world(fault, { settings });
    await fixture.run(5);
    fault.isArmed = true;
    await fixture.run(20);
    expect(fixture.shard.counters.decisionThrows).toBeGreaterThan(10);
    expect(fixture.shard.counters.decisionThrows).toBeLessThanOrEqual(22);
    fault.isArmed = false;
    fixture.world.setDemand(fixture.cluster('good'), [need(5)]);
    await fixture.run(15);
    expect(fixture.cluster('good').nodes.size).toBe(5);
  });

  it('T2: a second throw suspends the cluster of the need, and other clusters are served', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    fixture.world.setDemand(fixture.cluster('bad'), [need(5)]);
    fixture.world.setDemand(fixture.cluster('good'), [need(5)]);
    await fixture.run(60);
    expect(fixture.cluster('good').nodes.size).toBe(5);
    expect(fixture.cluster('bad').nodes.size).toBe(2);
    expect(kinds(fixture)).toEqual(['decision_threw', 'decision_threw', 'cluster_suspended']);
    expect(fixture.shard.readiness.heldBack()).toBe('');
    expect(fixture.shard.gauges().suspendedClusters).toBe(1);
    const ref = fixture.shard.inventory.tables.clusters.find('bad');
    expect(fixture.shard.suspensions.of(ref)?.reason).toMatch(
      /^the decision for need bad\/.* threw: injected$/,
    );
    expect(fixture.shard.counters.checkDifferences).toBe(0);
  });

  it('T2: explanations and the list of clusters show why a cluster is suspended', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    fixture.world.setDemand(fixture.cluster('bad'), [need(5)]);
    await fixture.run(15);
    const { shard } = fixture;
    const sources = shardSources({
      shard,
      clock: { nowMs: () => fixture.world.time.nowMs() },
      scheduler: { after: () => ({ cancel: () => {} }), yield: async () => {} },
      providerNames: ['p'],
      sessions: () => [],
      refusals: new TenantBook({ nowMs: () => fixture.world.time.nowMs() }),
      rollupLimits: { rollupRowsMax: 131_072, rowBytesMax: 65_536 },
    });
    const explained = await explainNeed(sources, shard.inventory.tables.clusters.find('bad'), 0);
    expect(explained.facts.bars).toMatchObject([{ kind: 'suspended' }]);
    expect(explained.sentences.join(' ')).toMatch(
      /Cluster bad is suspended: the decision for need bad\/.* threw: injected\./,
    );
    const query = { prefix: '', unmetOnly: false, disconnectedOnly: false, after: '', limit: 10 };
    const { clusters } = clustersPage(sources, new UnmetRows(sources), query);
    expect(clusters.map(({ clusterId, suspension }) => [clusterId, suspension === null])).toEqual([
      ['bad', false],
      ['good', true],
    ]);
  });

  it('T2: a suspended cluster loses no machine, neither as excess nor as a victim', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault, {
      machines: machines(6, 'm', { state: S.Idle }),
      demand: { bad: [need(3, { priority: 10 }), need(3, { priority: 20, group: 'two' })], good: [] },
    });
    await fixture.run(15);
    fault.isArmed = true;
    // Three machines are excess, and a need for another type throws.
    const demand = [need(3, { priority: 10 }), need(1, { type: 'b', priority: 5 })];
    fixture.world.setDemand(fixture.cluster('bad'), demand);
    fixture.world.setDemand(fixture.cluster('good'), [need(6, { priority: 1_000_000 })]);
    await fixture.run(100);
    expect(fixture.asked('drain')).toEqual([]);
    expect(fixture.cluster('bad').nodes.size).toBe(6);
    // The suspension ends after ten minutes, and the fault is gone.
    fault.isArmed = false;
    await fixture.run(600);
    expect(kinds(fixture)).toContain('suspension_ended');
    expect(fixture.cluster('good').nodes.size).toBe(6);
  });

  it('T2: a suspension ends when the demand changes', async () => {
    const fault = new Fault('acquire', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    fixture.world.setDemand(fixture.cluster('bad'), [need(5)]);
    await fixture.run(15);
    expect(fixture.shard.suspensions.count).toBe(1);
    fault.isArmed = false;
    fixture.world.setDemand(fixture.cluster('bad'), [need(6)]);
    await fixture.run(15);
    expect(fixture.shard.suspensions.count).toBe(0);
    expect(fixture.cluster('bad').nodes.size).toBe(6);
  });

  it('T2: a decision that throws three times makes the shard unready, without actions, until an ordinary cycle succeeds', async () => {
    // Credit works on suspended clusters too, so suspending the cluster does not help.
    const fault = new Fault('credit', 'bad');
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    fixture.world.setDemand(fixture.cluster('bad'), [need(5)]);
    fixture.world.setDemand(fixture.cluster('good'), [need(5)]);
    const before = fixture.started('configure').length;
    await fixture.run(3);
    expect(fixture.shard.readiness.heldBack()).toMatch(
      /^the decision threw 3 times in one cycle: injected; the shard emits no action/,
    );
    const throws = fixture.shard.counters.decisionThrows;
    expect(throws).toBe(3);
    // A woken cycle does not try again.
    fixture.world.setDemand(fixture.cluster('good'), [need(6)]);
    await fixture.run(0.5);
    expect(fixture.shard.counters.decisionThrows).toBe(throws);
    await fixture.run(CYCLE_MS / 1000);
    expect(fixture.shard.counters.decisionThrows).toBe(2 * throws);
    expect(fixture.started('configure')).toHaveLength(before);
    fault.isArmed = false;
    await fixture.run(CYCLE_MS / 1000);
    expect(fixture.shard.readiness.heldBack()).toBe('');
    expect(fixture.cluster('good').nodes.size).toBe(6);
    expect(fixture.shard.counters.checkDifferences).toBe(0);
  });

  it('T2: two throws without a known need make the shard unready', async () => {
    const fault = new Fault('sync', null);
    const fixture = world(fault);
    await fixture.run(15);
    fault.isArmed = true;
    await fixture.run(CYCLE_MS / 1000);
    expect(fixture.shard.counters).toMatchObject({
      decisionThrows: 2,
      clustersSuspended: 0,
      decisionsFailed: 1,
    });
    expect(kinds(fixture)).toEqual(['decision_threw', 'decision_threw', 'decision_failed']);
    expect(fixture.shard.readiness.heldBack()).toContain('threw 2 times');
    // Readers of the shard get answers meanwhile.
    const ref = fixture.shard.inventory.tables.clusters.find('good');
    expect(fixture.shard.engine.verdict(ref, 0)).toMatchObject({ satisfied: false, claimed: 0 });
    fault.isArmed = false;
    await fixture.run(CYCLE_MS / 1000);
    expect(fixture.shard.readiness.heldBack()).toBe('');
    expect(fixture.shard.engine.verdict(ref, 0)).toMatchObject({ satisfied: true, claimed: 2 });
  });

  it('T2, P6: the rebuilt engine knows which machines drain for which need', async () => {
    const fault = new Fault('credit', null);
    const fixture = world(fault, {
      machines: machines(10, 'm', { state: S.Idle }),
      demand: { bad: [need(10, { priority: 100 })], good: [] },
      provider: { operations: { drain: { latency: { meanMs: 290_000, p99Ms: 300_000 } } } },
    });
    await fixture.run(15);
    fixture.world.setDemand(fixture.cluster('good'), [need(3, { priority: 100_100 })]);
    await fixture.run(15);
    expect(fixture.asked('drain')).toHaveLength(3);
    fault.isArmed = true;
    fault.left = 1;
    fixture.world.setDemand(fixture.cluster('bad'), [need(9, { priority: 100 })]);
    await fixture.run(60);
    expect(fault.left).toBe(0);
    expect(fixture.asked('drain')).toHaveLength(3);
  });
});
