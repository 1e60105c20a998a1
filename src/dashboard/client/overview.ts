/** The overview: the fleet, its cost, the work of the shard and its safety rails. */
import type {
  ApiCycleSample,
  ApiHistory,
  ApiNamedCounts,
  ApiOverview,
  CapacityTypeName,
} from '../api/types.ts';
import { Chart } from './chart.ts';
import { fill, h, replaceRows } from './dom.ts';
import {
  age,
  budgetHolds,
  count,
  counted,
  duration,
  heldWords,
  pausedWords,
  percent,
  quantities,
  requirement,
  usd,
} from './format.ts';
import { card, showStatus, stateBar, stateLegend, table, tile } from './parts.ts';
import { ask, Poller } from './poll.ts';

const EVERY_MS = 2_000;
const SAMPLES_MAX = 720;
/** The phases that run on the main thread; waiting for listings is not one of them. */
const PHASES = ['snapread', 'phase1', 'phase2', 'phase3', 'emit', 'execute'] as const;
const PHASE_NAMES = ['read changes', 'assign', 'preempt', 'reclaim', 'rails', 'enqueue'] as const;
const KINDS = ['Bootstrap', 'Provision', 'Reclaim', 'Preempt', 'Delete'] as const;

export function overviewPage(page: HTMLElement): void {
  const tiles = {
    machines: tile('Machines', '/machines'),
    cost: tile('Cost per hour'),
    idle: tile('Idle cost per hour', '/machines?state=Idle'),
    unmet: tile('Unmet needs', '/needs?unmet=1'),
    cycle: tile('Last cycle'),
    queue: tile('Actions in flight', '/actions'),
  };
  const fleet = h('div', {});
  const byType = table(
    [{ name: 'Instance type' }, { name: 'Machines', class: 'number' }, { name: 'By state', class: 'wide' }],
    'Machines by instance type',
  );
  const byZone = table(
    [{ name: 'Zone' }, { name: 'Machines', class: 'number' }, { name: 'By state', class: 'wide' }],
    'Machines by zone',
  );
  const byCapacity = table(
    [
      { name: 'Purchase option' },
      { name: 'Machines', class: 'number' },
      { name: '$ per hour', class: 'number' },
      { name: 'Idle $ per hour', class: 'number' },
      { name: 'By state', class: 'wide' },
    ],
    'Machines and cost by purchase option',
  );
  const byCluster = table(
    [
      { name: 'Cluster' },
      { name: 'Machines', class: 'number' },
      { name: '$ per hour', class: 'number' },
      { name: 'Share', class: 'wide' },
    ],
    'Cost per hour by cluster',
  );
  const shortfalls = table(
    [
      { name: 'Priority', class: 'number' },
      { name: 'Missing' },
      { name: 'Requirements' },
      { name: 'Unmet for', class: 'number' },
    ],
    'Shortfalls, highest priority first',
  );
  const rails = h('dl', { class: 'rails' });
  const phases = new Chart({
    label: 'Main-thread time of each cycle, by phase',
    kind: 'stack',
    series: PHASE_NAMES.map((name, index) => ({ name, class: `series-${index + 1}` })),
    format: (value) => (value === 0 ? '0' : duration(value)),
  });
  const actions = new Chart({
    label: 'Actions enqueued in each cycle, by kind',
    kind: 'stack',
    series: KINDS.map((name) => ({ name, class: `kind-${name.toLowerCase()}` })),
    format: (value) => count(Math.round(value)),
  });
  const queue = new Chart({
    label: 'Actions queued and in flight',
    kind: 'lines',
    series: [
      { name: 'queued', class: 'series-2' },
      { name: 'in flight', class: 'series-1' },
    ],
    format: (value) => count(Math.round(value)),
  });
  const unmet = new Chart({
    label: 'Unmet needs after each cycle',
    kind: 'lines',
    series: [{ name: 'unmet needs', class: 'series-4' }],
    format: (value) => count(Math.round(value)),
  });
  fill(
    page,
    h('h1', { class: 'hidden' }, 'Overview'),
    h('div', { class: 'tiles' }, ...Object.values(tiles).map(({ element }) => element)),
    h(
      'div',
      { class: 'grid' },
      card('Fleet', { class: 'span-2' }, fleet, byCapacity.element),
      card('Safety rails', {}, rails),
      card('Cycle time by phase', { class: 'span-2' }, phases.element),
      card('Action queue', {}, queue.element),
      card('Actions per cycle', { class: 'span-2' }, actions.element),
      card('Unmet needs', {}, unmet.element),
      card('Instance types', {}, byType.element),
      card('Zones', {}, byZone.element),
      card('Most expensive clusters', {}, byCluster.element),
      card('Shortfalls', { class: 'span-3' }, shortfalls.element),
    ),
  );

  let samples: ApiCycleSample[] = [];
  new Poller(EVERY_MS, async (signal) => {
    const since = samples.at(-2)?.atMs ?? 0; // cycles of this second may still join the last sample
    const [now, past] = await Promise.all([
      ask<ApiOverview>('/api/v1/overview', signal),
      ask<ApiHistory>(`/api/v1/history?since=${since}`, signal),
    ]);
    samples = [...samples.filter(({ atMs }) => atMs <= since), ...past.samples].slice(-SAMPLES_MAX);
    showStatus(now);
    showTiles(now, samples.at(-1));
    fill(fleet, stateBar(now.byState, 'Machines by state'), stateLegend(now.byState));
    showRails(now);
    named(byType.body, now.byInstanceType, now.instanceTypes, 'type');
    named(byZone.body, now.byZone, now.zones, 'zone');
    showCapacity(now);
    showClusters(now);
    showShortfalls(now);
    const note = ({ cycle, cycles, ordinary }: ApiCycleSample) =>
      `cycle ${count(cycle)}${cycles > 1 ? ` (slowest of ${cycles})` : ordinary ? '' : ', woken'}`;
    const curve = (values: (sample: ApiCycleSample) => number[]) =>
      samples.map((sample) => ({ atMs: sample.atMs, values: values(sample), note: note(sample) }));
    phases.update(
      curve(({ phaseMs }) => PHASES.map((phase) => phaseMs[phase] ?? 0)),
      now.nowMs,
    );
    actions.update(
      curve(({ enqueued }) => KINDS.map((kind) => enqueued[kind])),
      now.nowMs,
    );
    queue.update(
      curve((sample) => [sample.queued, sample.inFlight]),
      now.nowMs,
    );
    unmet.update(
      curve((sample) => [sample.unmetNeeds]),
      now.nowMs,
    );
  }).now();

  function showTiles(now: ApiOverview, last: ApiCycleSample | undefined): void {
    tiles.machines.set(count(now.machines), `${counted(now.clusters, 'cluster')} connected`);
    tiles.cost.set(usd(now.cost.totalUsd), `${counted(now.cost.clusters, 'cluster')} with machines`);
    tiles.idle.set(usd(now.cost.idleUsd), `${percent(now.cost.idleUsd, now.cost.totalUsd)} of the cost`);
    tiles.unmet.set(
      count(now.unmetNeeds),
      `of ${count(now.needs)} needs`,
      now.unmetNeeds > 0 ? 'warn' : 'good',
    );
    tiles.cycle.set(
      last === undefined ? '–' : duration(last.durationMs),
      `cycle ${count(now.cycle)}, ${age(now.nowMs - now.lastCycleAtMs)} ago`,
    );
    tiles.queue.set(
      count(now.queue.inFlight),
      `${count(now.queue.queued)} of ${count(now.queue.queueMax)} queued`,
      `${count(now.queue.waiting)} waiting`,
    );
  }

  function showRails({
    rails: set,
    queue: gauges,
    budgets,
    offerings,
    isReady,
    notReadyReason,
    replica,
    epoch,
    startedAtMs,
    nowMs,
  }: ApiOverview): void {
    const line = (name: string, value: string, level = '') => [
      h('dt', {}, name),
      h('dd', { 'data-level': level }, value),
    ];
    fill(
      rails,
      ...line('Ready', isReady ? 'yes' : `no: ${notReadyReason}`, isReady ? 'good' : 'bad'),
      ...(replica === null
        ? []
        : line('Replica', `${replica.name}, ${replica.text}`, replica.role === 'adrift' ? 'warn' : '')),
      ...line('Kill switch', set.killSwitch ? 'on' : 'off', set.killSwitch ? 'warn' : ''),
      ...line('Dry run', set.dryRun ? 'on' : 'off', set.dryRun ? 'warn' : ''),
      ...line('Fenced', set.fenced ? 'yes' : 'no', set.fenced ? 'bad' : ''),
      ...line(
        'Reclaimed per cycle',
        set.reclaimFraction === 0 ? 'no limit' : `at most ${percent(set.reclaimFraction, 1)} of a cluster`,
      ),
      ...line(
        'Preempted per interval',
        set.preemptionFraction === 0
          ? 'no limit'
          : `at most ${percent(set.preemptionFraction, 1)} of a cluster`,
      ),
      ...line(
        'Actions per cycle',
        set.actionsPerCycleMax === 0 ? 'no limit' : `at most ${count(set.actionsPerCycleMax)}`,
      ),
      ...line(
        'Idle until release',
        `${duration(set.holdOnDemandMs)} on-demand, ${duration(set.holdSpotMs)} spot`,
      ),
      ...line(
        'Controls in force',
        pausedWords(gauges.pauses) || 'nothing',
        pausedWords(gauges.pauses) === '' ? '' : 'warn',
      ),
      ...gauges.heldListings.flatMap((held) => line('Held listing', heldWords(held), 'bad')),
      ...budgets.flatMap((budget) =>
        line(
          `Disruption budget ${budget.name}`,
          [
            budget.max === null ? '' : `${count(budget.used)} of ${count(budget.max)} used`,
            `${count(budget.draining)} draining`,
            budgetHolds(budget, nowMs),
          ]
            .filter((text) => text !== '')
            .join(', '),
          budget.holds === '' ? '' : 'warn',
        ),
      ),
      ...line(
        'Suspended clusters',
        count(gauges.suspendedClusters),
        gauges.suspendedClusters > 0 ? 'bad' : '',
      ),
      ...line('Stuck machines', count(gauges.stuckMachines), gauges.stuckMachines > 0 ? 'warn' : ''),
      ...line(
        'In back-off',
        `${counted(gauges.machinesInBackoff, 'machine')}, ${counted(gauges.offeringsInBackoff, 'offering')}, ${counted(gauges.needsInBackoff, 'need')}`,
        gauges.machinesInBackoff + gauges.offeringsInBackoff + gauges.needsInBackoff > 0 ? 'warn' : '',
      ),
      ...line(
        'Burned in the last hour',
        `${counted(gauges.burnedMachines, 'machine')}, ${counted(gauges.clustersOverBurnBudget, 'cluster')} over budget`,
        gauges.clustersOverBurnBudget > 0 ? 'bad' : gauges.burnedMachines > 0 ? 'warn' : '',
      ),
      ...(gauges.sharedFaults === 0
        ? []
        : line('Failing for many needs', counted(gauges.sharedFaults, 'offering or provider'), 'bad')),
      ...offerings.flatMap(({ provider, instanceType, zone, capacityType, untilMs, failures }) =>
        line(
          `${provider}: ${instanceType}, ${zone}, ${capacityType}`,
          `${counted(failures, 'create')} failed; in back-off for ${age(untilMs - nowMs)} more`,
          'warn',
        ),
      ),
      ...line('Reads waiting', count(gauges.readsWaiting)),
      ...line('Epoch', `${count(epoch)}, up ${age(nowMs - startedAtMs)}`),
    );
  }

  function named(
    body: HTMLElement,
    rows: readonly ApiNamedCounts[],
    all: number,
    filter: 'type' | 'zone',
  ): void {
    const most = Math.max(1, ...rows.map(({ machines }) => machines));
    replaceRows(
      body,
      rows,
      ({ name }) => name,
      ({ name, machines, byState }) =>
        h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            h('a', { href: `/machines?${filter}=${encodeURIComponent(name)}` }, name || '(none)'),
          ),
          h('td', { class: 'number' }, count(machines)),
          h('td', {}, stateBar(byState, name, machines / most)),
        ),
      (row) => JSON.stringify([row, most]),
    );
    if (all > rows.length)
      body.append(
        h('tr', { class: 'more' }, h('td', { colspan: 3 }, `and ${count(all - rows.length)} more`)),
      );
  }

  function showCapacity({ byCapacityType, cost }: ApiOverview): void {
    const rows = (Object.keys(byCapacityType) as CapacityTypeName[]).map((name) => ({
      name,
      byState: byCapacityType[name],
      machines: Object.values(byCapacityType[name]).reduce((sum, one) => sum + one, 0),
      usd: cost.byCapacityType[name],
      idleUsd: cost.idleByCapacityType[name],
    }));
    const found = rows.filter(({ machines }) => machines > 0);
    const most = Math.max(1, ...found.map(({ machines }) => machines));
    replaceRows(
      byCapacity.body,
      found,
      ({ name }) => name,
      (row) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, h('a', { href: `/machines?capacity=${row.name}` }, row.name)),
          h('td', { class: 'number' }, count(row.machines)),
          h('td', { class: 'number' }, usd(row.usd)),
          h('td', { class: 'number' }, usd(row.idleUsd)),
          h('td', {}, stateBar(row.byState, row.name, row.machines / most)),
        ),
    );
  }

  function showClusters({ cost }: ApiOverview): void {
    const most = Math.max(1, ...cost.byCluster.map((one) => one.usd));
    replaceRows(
      byCluster.body,
      cost.byCluster.slice(0, 12),
      ({ clusterId }) => clusterId,
      (row) => {
        const bar = h('span', { class: 'series-1' });
        bar.style.width = `${(100 * row.usd) / most}%`;
        return h(
          'tr',
          {},
          h(
            'th',
            { scope: 'row' },
            h('a', { href: `/clusters/${encodeURIComponent(row.clusterId)}` }, row.clusterId),
          ),
          h('td', { class: 'number' }, count(row.machines)),
          h('td', { class: 'number' }, usd(row.usd)),
          h('td', {}, h('div', { class: 'bar', 'aria-hidden': 'true' }, bar)),
        );
      },
    );
  }

  function showShortfalls({ shortfalls: rows }: ApiOverview): void {
    if (rows.length === 0) {
      replaceRows(shortfalls.body, ['none'], String, () =>
        h('tr', {}, h('td', { colspan: 4, class: 'empty' }, 'No shortfalls.')),
      );
      return;
    }
    replaceRows(
      shortfalls.body,
      rows,
      ({ fingerprint }) => fingerprint,
      (row) =>
        h(
          'tr',
          {},
          h('td', { class: 'number' }, count(row.priority)),
          h('td', {}, quantities(row.missing)),
          h('td', {}, row.requirements.map(requirement).join(', ') || 'any machine'),
          h('td', { class: 'number' }, age(row.forMs)),
        ),
    );
  }
}
