/** The lists that `flotilla top` leads through, and how each of their rows is explained. */

import { CLUSTER_LIST } from '../clusters.ts';
import { GANG_LIST } from '../gangs.ts';
import type { ApiClient, Parameters } from '../inspect/api-client.ts';
import { type ListCommand, type Page, rowsText } from '../inspect/list.ts';
import type { Output } from '../inspect/terminal.ts';
import { MACHINE_LIST } from '../machines.ts';
import { NEED_LIST } from '../needs.ts';
import { OFFERING_LIST } from '../offerings.ts';

export interface Filled {
  readonly title: string;
  /** The heading first. */
  readonly lines: readonly string[];
  /** By row: the arguments of `flotilla explain`, and its --group. */
  readonly explain: readonly { readonly words: readonly string[]; readonly group?: string }[];
}

export interface TopList {
  readonly name: string;
  /** What a filter means. */
  readonly filteredBy: string;
  read(api: ApiClient, filter: string, limit: number, output: Output): Promise<Filled>;
}

function topList<Answer extends Page, Row>(
  name: string,
  filteredBy: 'prefix' | 'cluster',
  list: ListCommand<Answer, Row>,
  asked: readonly [path: string, parameters: Parameters],
  explained: (row: Row) => Filled['explain'][number],
): TopList {
  return {
    name,
    filteredBy: filteredBy === 'prefix' ? 'the name begins with' : 'cluster',
    read: async (api, filter, limit, output) => {
      const [path, parameters] = asked;
      const filters = filter === '' ? {} : { [filteredBy]: filter };
      const answer = await api.get<Answer>(path, { ...parameters, ...filters, limit });
      const rows = list.rowsOf(answer);
      const text = rows.length === 0 ? list.none : rowsText(list, answer, rows, output).trimEnd();
      const lines = rows.length === 0 ? ['', text] : text.split('\n');
      return { title: list.title(answer, (_, plain) => plain), lines, explain: rows.map(explained) };
    },
  };
}

export const LISTS: readonly TopList[] = [
  topList('clusters', 'prefix', CLUSTER_LIST, ['clusters', {}], ({ clusterId }) => ({
    words: ['cluster', clusterId],
  })),
  topList('unmet needs', 'cluster', NEED_LIST, ['needs', { unmet: true }], (need) => ({
    words: ['need', need.clusterId, need.fingerprint],
    group: need.group,
  })),
  topList('gangs', 'prefix', GANG_LIST, ['gangs', {}], ({ clusterId, group }) => ({
    words: ['gang', `${clusterId}/${group}`],
  })),
  topList('machines', 'prefix', MACHINE_LIST, ['machines', {}], ({ id }) => ({ words: ['machine', id] })),
  topList('offerings', 'prefix', OFFERING_LIST, ['offerings', {}], ({ name }) => ({
    words: ['offering', name],
  })),
];
