/** `/api/v1/gangs`: needs whose machines must share a domain, and those of one name in full. */
import type { ShardReader } from '../../shard/ports/reader.ts';
import { needExplanation } from './explanations.ts';
import type { ApiGangInFull, ApiGangs } from './gang-types.ts';
import { ApiRefusal, type Query } from './query.ts';
import { need } from './render.ts';

export async function gangs(view: ShardReader, query: Query, rowsUsual: number): Promise<ApiGangs> {
  const asked = {
    clusterId: query.text('cluster'),
    group: query.text('group'),
    fingerprint: query.text('fingerprint'),
    namePrefix: query.text('prefix'),
    unmetOnly: query.flag('unmet'),
    gangs: query.flag('spanning') ? 'spanning' : 'all',
    limit: query.limit(rowsUsual),
  } as const;
  const after = query.text('after');
  query.end();
  const counts = await view.gangCounts(asked.clusterId);
  const page = await view.needsPage(asked, after);
  return {
    cycle: page.cycle,
    computedAtMs: page.computedAtMs,
    ...counts,
    gangs: page.needs.map((one) => need(one, view.rails().cycleIntervalMs)),
    next: page.next,
  };
}

/** `name` is CLUSTER/GROUP. A cluster's id may have slashes, so every slash may be the one between them. */
export async function gang(view: ShardReader, query: Query, name: string): Promise<ApiGangInFull> {
  const fingerprint = query.optionalText('fingerprint');
  query.end();
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
    const [clusterId, group] = [name.slice(0, at), name.slice(at + 1)];
    const profile = fingerprint === undefined ? {} : { fingerprint };
    const found = await view.explainNeeds({ clusterId, group, gangs: 'all', ...profile });
    if (found.length === 0) continue;
    const { cycleIntervalMs } = view.rails();
    const { cycle } = found[0]!;
    return { cycle, clusterId, group, gangs: found.map((one) => needExplanation(one, cycleIntervalMs)) };
  }
  throw new ApiRefusal(
    404,
    'no_such_gang',
    `There is no gang ${JSON.stringify(name.slice(0, 200))}.`,
    'A gang is named CLUSTER/GROUP, and no cluster asks for one of this name now.',
    'Search with gangs?cluster=…, or ask for its history with events?cluster=…&group=….',
  );
}
