/** The shard that answers, with its replicas: whether anything keeps it from its work, what it has, and its own history. */
import type { ApiShard, ApiShardInFull, ApiShards } from '../api/shard-types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, usd } from './format.ts';
import { listPage, textFilter } from './list.ts';
import { field, labelled, stateBar } from './parts.ts';
import { supplyPage } from './supply.ts';

const EVERY_MS = 4_000;
const COLUMNS = [
  { name: 'Shard' },
  { name: 'Role' },
  { name: 'Epoch', class: 'number' },
  { name: 'Cycle', class: 'number' },
  { name: 'Machines', class: 'number' },
  { name: 'By state', class: 'wide' },
  { name: 'Unmet needs', class: 'number' },
  { name: 'Clusters', class: 'number' },
  { name: '$ per hour', class: 'number' },
  { name: 'Troubles' },
] as const;
const KINDS = 'shard_started,shard_stopped,fenced,takeover,control,events_lost';

export function shardHref(id: string): string {
  return `/shards/${encodeURIComponent(id)}`;
}

export function shardsPage(page: HTMLElement): void {
  const prefix = textFilter('prefix', 'starts with …');
  listPage<ApiShards>(page, {
    title: 'Shards',
    path: '/shards',
    caption: 'Shards by id',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [field('Id', prefix)],
    asked: () => ({ prefix: prefix.value.trim() }),
    isWhole: true,
    summary: () =>
      'A process knows its own shard and the replicas of it. flotilla shards URL… and flotilla fleet shards list several.',
    show: (body, { shards }) => {
      if (shards.length === 0) return 'No shard matches the filters.';
      replaceRows(
        body,
        shards,
        ({ shardId }) => shardId,
        (one) => labelled(makeRow(one), COLUMNS),
      );
      return null;
    },
  });
}

function roleOf({ role, replica }: ApiShard): string {
  return role === 'single' ? 'without replicas' : `${role} (${replica})`;
}

function makeRow(of: ApiShard): HTMLElement {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: shardHref(of.shardId) }, of.shardId)),
    h('td', {}, roleOf(of)),
    h('td', { class: 'number' }, count(of.epoch)),
    h('td', { class: 'number' }, count(of.cycle)),
    h('td', { class: 'number' }, h('a', { href: '/machines' }, count(of.machines))),
    h('td', {}, of.machines === 0 ? '' : stateBar(of.byState, of.shardId)),
    h('td', { class: 'number' }, h('a', { href: '/needs?unmet=1' }, count(of.unmetNeeds))),
    h('td', { class: 'number' }, h('a', { href: '/clusters' }, count(of.clusters))),
    h('td', { class: 'number' }, usd(of.usdPerHour)),
    h('td', { class: of.troubles.length > 0 ? 'missing' : '' }, of.troubles.join(' ') || 'none'),
  );
}

export function shardPage(page: HTMLElement, id: string): void {
  supplyPage<ApiShardInFull>(page, {
    name: id,
    what: 'shard',
    section: ['/shards', 'Shards'],
    path: `/api/v1/shards/${encodeURIComponent(id)}`,
    events: `kind=${KINDS}`,
    sentences: ({ sentences }) => sentences,
    byState: ({ shard }) => shard.byState,
    facts: ({ shard: of, nowMs }) => [
      ['Role', roleOf(of)],
      ['Machines', h('a', { href: '/machines' }, count(of.machines))],
      ['Clusters', h('a', { href: '/clusters' }, count(of.clusters))],
      ['Providers', h('a', { href: '/providers' }, count(of.providers))],
      ['Needs', h('a', { href: '/needs' }, count(of.needs))],
      ['Unmet needs', h('a', { href: '/needs?unmet=1' }, count(of.unmetNeeds))],
      ['Cost per hour', usd(of.usdPerHour)],
      ['Epoch', count(of.epoch)],
      ['Up', age(nowMs - of.startedAtMs)],
      ['Version', of.version],
      ...of.replicas.map(
        ({ name, role, isReady, address }) =>
          [`Replica ${name}`, `${role}, ${isReady ? 'ready' : 'not ready'} ${address}`] as const,
      ),
    ],
  });
}
